"""Problems as JSON and tensors, and back: an explicit list, so that a file can name these and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from foresolve.errors import ForesolveError
from foresolve.problems.base import Problem
from foresolve.problems.knapsack import Knapsack
from foresolve.problems.linear import LinearProgram
from foresolve.problems.matching import Assignment, BipartiteMatching
from foresolve.problems.shortest_path import ShortestPath
from foresolve.problems.submodular import SubmodularProblem
from foresolve.problems.top_k import TopK
from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.functions.facility import FacilityLocation
from foresolve.sets.matroids.laminar import LaminarMatroid, PartitionMatroid, UniformMatroid

MOST = 10**8  # variables that a file may ask for

Config = dict[str, Any]


@dataclass(frozen=True)
class Description:
    """How a problem is written (`None`: it cannot be) and read."""

    write: Callable[[Any], Config | None]
    read: Callable[[Config], Problem]


def describe(problem: Problem) -> Config | None:
    """`{"class": ..., ...}` with numbers, strings, lists and tensors; `None` for problems that no description fits."""
    known = DESCRIPTIONS.get(type(problem).__name__)
    if known is None or type(problem) is not CLASSES[type(problem).__name__]:
        return None
    config = known.write(problem)
    return None if config is None else {"class": type(problem).__name__, **config}


def restore(config: Config) -> Problem:
    """The problem that `describe` described; an error for anything else."""
    name = config.get("class")
    if not isinstance(name, str) or name not in DESCRIPTIONS:
        raise ForesolveError(f"{name!r} is none of the problems that a file may name ({', '.join(DESCRIPTIONS)})")
    try:
        return DESCRIPTIONS[name].read(config)
    except (KeyError, TypeError, ValueError, RuntimeError, OverflowError, IndexError, MemoryError) as error:
        raise ForesolveError(f"the settings do not make a {name}: {type(error).__name__}: {error}") from error


def _size(config: Config, name: str) -> int:
    value = config[name]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
        raise ValueError(f"`{name}` must be an integer from 0 to {MOST}; got {value!r}")
    return value


def _sides(config: Config) -> tuple[int, int]:
    left, right = _size(config, "left"), _size(config, "right")
    if left * right > MOST:
        raise ValueError(f"there must be at most {MOST} pairs; got {left} x {right}")
    return left, right


def _tensor(config: Config, name: str) -> Tensor:
    if not isinstance(config[name], Tensor):
        raise TypeError(f"`{name}` must be a tensor; got {type(config[name]).__name__}")
    return config[name]


# -- linear programs ---------------------------------------------------------------------------------------------------


def _write_linear(problem: LinearProgram) -> Config | None:
    if problem._matrix_batch:
        return None
    config: Config = {"sense": problem.sense, "n": problem.n}
    config |= {"names": None if problem.names is None else [str(name) for name in problem.names]}
    config |= {"lower": problem.lower, "upper": problem.upper, "integrality": problem.integrality}
    for kind, matrix, side in (("ub", problem.A_ub, problem.b_ub), ("eq", problem.A_eq, problem.b_eq)):
        if side.shape[-1]:
            rows = scipy.sparse.coo_array(matrix)
            place = np.stack([np.asarray(index, dtype=np.int64) for index in rows.coords])
            config[f"A_{kind}"] = torch.tensor(rows.data, dtype=torch.float64)
            config[f"A_{kind}_index"], config[f"b_{kind}"] = torch.from_numpy(place), side
    return config


def _read_linear(config: Config) -> LinearProgram:
    arguments: Config = {"n": _size(config, "n"), "sense": config["sense"], "names": config["names"]}
    arguments |= {"bounds": (_tensor(config, "lower"), _tensor(config, "upper"))}
    for kind in ("ub", "eq"):
        if f"A_{kind}" in config:
            index, side = _tensor(config, f"A_{kind}_index").numpy(), _tensor(config, f"b_{kind}")
            shape = (side.shape[-1], arguments["n"])
            values = _tensor(config, f"A_{kind}").numpy()
            arguments[f"A_{kind}"] = scipy.sparse.coo_array((values, (index[0], index[1])), shape=shape).tocsr()
            arguments[f"b_{kind}"] = side
    return LinearProgram(integrality=_tensor(config, "integrality"), **arguments)


def _write_path(problem: ShortestPath) -> Config | None:
    if problem._nodes is not None:
        return None  # the names of a networkx graph's nodes can be anything
    arcs = torch.tensor(problem.arcs, dtype=torch.int64).reshape(-1, 2)
    return {"arcs": arcs, "source": problem.source, "target": problem.target, "n_nodes": problem.n_nodes}


def _read_path(config: Config) -> ShortestPath:
    ends = _size(config, "source"), _size(config, "target")
    return ShortestPath(_tensor(config, "arcs").numpy(), *ends, _size(config, "n_nodes"))


# -- submodular problems -----------------------------------------------------------------------------------------------


def _write_submodular(problem: SubmodularProblem) -> Config | None:
    function, matroid = problem.function, problem.matroid
    if type(function) is ProbabilisticCoverage:
        of: Config = {"class": "ProbabilisticCoverage", "weights": function.weights}
    elif type(function) is FacilityLocation:
        of = {"class": "FacilityLocation"}
    else:
        return None
    if type(matroid) is UniformMatroid:
        under: Config = {"class": "UniformMatroid", "n": matroid.n, "k": matroid.k}
    elif isinstance(matroid, LaminarMatroid) and type(matroid) in (PartitionMatroid, LaminarMatroid):
        under = {"class": type(matroid).__name__, "n": matroid.n, "capacities": [int(c) for c in matroid.capacities]}
        under["sets"] = [torch.as_tensor(np.asarray(items, dtype=np.int64)) for items in matroid.sets]
    else:
        return None
    return {"function": of, "matroid": under, "method": problem.method, "time_limit": problem.time_limit}


def _read_submodular(config: Config) -> SubmodularProblem:
    of, under = config["function"], config["matroid"]
    if of["class"] not in ("ProbabilisticCoverage", "FacilityLocation"):
        raise ValueError(f"unknown function {of['class']!r}")
    weights = None if of.get("weights") is None else _tensor(of, "weights")
    function = ProbabilisticCoverage(weights) if of["class"] == "ProbabilisticCoverage" else FacilityLocation()
    return SubmodularProblem(function, _read_matroid(under), config["method"], time_limit=config["time_limit"])


def _read_matroid(config: Config) -> LaminarMatroid:
    n = _size(config, "n")
    if config["class"] == "UniformMatroid":
        return UniformMatroid(n, _size(config, "k"))
    sets = [items.tolist() for items in config["sets"]]
    if config["class"] == "LaminarMatroid":
        return LaminarMatroid(n, sets, config["capacities"])
    if config["class"] != "PartitionMatroid":
        raise ValueError(f"unknown matroid {config['class']!r}")
    return PartitionMatroid(sets, config["capacities"])


CLASSES: dict[str, type[Problem]] = {
    kind.__name__: kind
    for kind in (TopK, BipartiteMatching, Assignment, Knapsack, ShortestPath, LinearProgram, SubmodularProblem)
}
DESCRIPTIONS: dict[str, Description] = {
    "TopK": Description(lambda p: {"n": p.n, "k": p.k}, lambda c: TopK(_size(c, "n"), _size(c, "k"))),
    "BipartiteMatching": Description(
        lambda p: {"left": p.left, "right": p.right}, lambda c: BipartiteMatching(*_sides(c))
    ),
    "Assignment": Description(lambda p: {"left": p.left, "right": p.right}, lambda c: Assignment(*_sides(c))),
    "Knapsack": Description(
        lambda p: {"weights": p.weights, "capacity": p.capacity},
        lambda c: Knapsack(_tensor(c, "weights"), _tensor(c, "capacity")),
    ),
    "ShortestPath": Description(_write_path, _read_path),
    "LinearProgram": Description(_write_linear, _read_linear),
    "SubmodularProblem": Description(_write_submodular, _read_submodular),
}

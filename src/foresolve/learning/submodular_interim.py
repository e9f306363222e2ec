"""How a `SubmodularProblem` is written until it gives a `config()` of its own; then this file goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from foresolve._base import configs
from foresolve.errors import ForesolveError
from foresolve.problems.base import Problem
from foresolve.problems.submodular import SubmodularProblem
from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.functions.facility import FacilityLocation
from foresolve.sets.matroids.laminar import LaminarMatroid, PartitionMatroid, UniformMatroid

FUNCTIONS = (ProbabilisticCoverage, FacilityLocation)
MATROIDS = (UniformMatroid, PartitionMatroid, LaminarMatroid)


def needed(problem: Problem) -> bool:
    return type(problem) is SubmodularProblem and "config" not in vars(SubmodularProblem)


def describe(problem: Any) -> configs.Config:
    function, matroid = problem.function, problem.matroid
    for part, known in ((function, FUNCTIONS), (matroid, MATROIDS)):
        if type(part) not in known:
            raise ForesolveError(f"{type(part).__name__} cannot be written to a file")
    under: configs.Config = {"class": type(matroid).__name__, "n": matroid.n}
    if type(matroid) is UniformMatroid:
        under["k"] = matroid.k
    else:
        under["capacities"] = [int(c) for c in matroid.capacities]
        under["sets"] = [torch.as_tensor(np.asarray(items, dtype=np.int64)) for items in matroid.sets]
    weights = {"weights": function.weights} if type(function) is ProbabilisticCoverage else {}
    return {
        "class": "SubmodularProblem",
        "function": {"class": type(function).__name__, **weights},
        "matroid": under,
        "method": problem.method,
        "time_limit": problem.time_limit,
    }


class _Adapted:
    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> SubmodularProblem:
        of, under = config["function"], config["matroid"]
        function = {kind.__name__: kind for kind in FUNCTIONS}[of["class"]]
        arguments: dict[str, Any] = {} if of.get("weights") is None else {"weights": configs.tensor(of, "weights")}
        matroid = _matroid(under)
        return SubmodularProblem(function(**arguments), matroid, config["method"], time_limit=config["time_limit"])


def _matroid(config: Mapping[str, Any]) -> LaminarMatroid:
    n = configs.size(config, "n")
    if config["class"] == "UniformMatroid":
        return UniformMatroid(n, configs.size(config, "k"))
    sets = [items.tolist() for items in config["sets"]]
    if config["class"] == "LaminarMatroid":
        return LaminarMatroid(n, sets, config["capacities"])
    return {"PartitionMatroid": PartitionMatroid}[config["class"]](sets, config["capacities"])


ADAPTED: dict[str, Any] = {} if "config" in vars(SubmodularProblem) else {"SubmodularProblem": _Adapted}

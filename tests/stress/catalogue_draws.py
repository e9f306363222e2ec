"""Random instances of the problems in the catalogue, at several sizes and in several units, and real programs."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

import foresolve
from tests.stress.draws import Builder, Generator, draw_of, power
from tests.stress.models import Draw, Model

# The smaller ones of the collection: a few seconds at most for layer and reference together.
REAL = ("afiro", "sc50b", "kb2", "adlittle", "recipe", "vtpbase", "israel", "scsd1", "boeing1", "stair", "forplan")


def _catalogued(rng: Generator, problem: foresolve.LinearProgram, *, positive: bool = False, **changes: Any) -> Draw:
    """Smoothed decisions reach from the middle of the polytope to its vertices; a tenth of the parameters are tied."""
    draw = draw_of(rng, Model.of(problem), reach=float(power(rng, -1, 1)), problem=problem)
    theta = draw.theta.abs() + draw.gamma * 0.1 if positive else draw.theta
    if rng.random() < 0.1:
        theta = torch.round(theta * 4) / 4
        theta = theta.clamp_min(0.25) if positive else theta
    gamma = None if rng.random() < 0.15 else draw.gamma
    return replace(draw, theta=theta.to(draw.theta.dtype), **({"gamma": gamma} | changes))


def matching(rng: Generator) -> Draw:
    return _catalogued(rng, foresolve.BipartiteMatching(int(rng.integers(1, 8)), int(rng.integers(1, 8))))


def assignment(rng: Generator) -> Draw:
    return _catalogued(rng, foresolve.problems.Assignment(int(rng.integers(1, 7)), int(rng.integers(1, 7))))


def top_k(rng: Generator) -> Draw:
    n = int(rng.integers(1, 40))
    return _catalogued(rng, foresolve.TopK(n, int(rng.integers(1, n + 1))))


def path_grid(rng: Generator) -> Draw:
    """Right and down only, without cycles."""
    height, width = (int(size) for size in rng.integers(2, 8, 2))
    return _catalogued(rng, foresolve.ShortestPath.grid(height, width), positive=rng.random() < 0.7)


def path_neighbours(rng: Generator) -> Draw:
    """All neighbours of a cell: cycles everywhere."""
    height, width = (int(size) for size in rng.integers(2, 6, 2))
    moves = "4" if rng.random() < 0.6 else "8"
    return _catalogued(rng, foresolve.ShortestPath.grid(height, width, moves), positive=True)


def _graph(rng: Generator, nodes: int, extra: int) -> np.ndarray:
    """A chain through all nodes with some more arcs, forwards and backwards."""
    chain = np.stack([np.arange(nodes - 1), np.arange(1, nodes)], -1)
    others = rng.integers(0, nodes, (extra, 2))
    return np.concatenate([chain, others[others[:, 0] != others[:, 1]]])


def path_graph(rng: Generator) -> Draw:
    nodes = int(rng.integers(2, 12))
    arcs = _graph(rng, nodes, int(rng.integers(0, 2 * nodes)))
    return _catalogued(rng, foresolve.ShortestPath(arcs, 0, nodes - 1, nodes), positive=True)


def max_flow(rng: Generator) -> Draw:
    nodes = int(rng.integers(2, 10))
    arcs = _graph(rng, nodes, int(rng.integers(0, 2 * nodes)))
    capacity = rng.integers(0, 9, len(arcs)).astype(float) * float(power(rng, -3, 3) if rng.random() < 0.3 else 1.0)
    return _catalogued(rng, foresolve.problems.MaxFlow(arcs, 0, nodes - 1, capacity, nodes))


def _flow(rng: Generator, unit: float) -> Draw:
    nodes = int(rng.integers(2, 10))
    arcs = _graph(rng, nodes, int(rng.integers(1, 2 * nodes)))
    sent = rng.integers(0, 5, len(arcs)) * unit
    supply = np.zeros(nodes)
    np.add.at(supply, arcs[:, 0], sent)
    np.add.at(supply, arcs[:, 1], -sent)
    capacity = np.where(rng.random(len(arcs)) < 0.3, np.inf, sent + rng.integers(0, 4, len(arcs)) * unit)
    problem = foresolve.problems.MinCostFlow(arcs, supply, capacity)
    draw = _catalogued(rng, problem, positive=True)
    return replace(draw, gamma=None if draw.gamma is None else draw.gamma / unit, facts={"unit": unit})


def min_cost_flow(rng: Generator) -> Draw:
    return _flow(rng, 1.0)


def min_cost_flow_units(rng: Generator) -> Draw:
    return _flow(rng, float(2.0 ** rng.integers(-24, 24)))  # a power of two: supplies still sum to zero


def knapsack(rng: Generator) -> Draw:
    n = int(rng.integers(1, 12))
    weights = rng.integers(1, 40, (int(rng.integers(1, 3)), n)).astype(float)
    return _catalogued(rng, foresolve.Knapsack(weights, np.floor(weights.sum(-1) * rng.random())))


def knapsack_units(rng: Generator) -> Draw:
    n, unit = int(rng.integers(1, 12)), float(power(rng, -10, 6))
    weights = np.round(rng.random((int(rng.integers(1, 3)), n)) * 40 + 1) / 8 * unit
    problem = foresolve.Knapsack(weights, weights.sum(-1) * rng.uniform(0.2, 0.8))
    return _catalogued(rng, problem, facts={"unit": unit})


def strength(rng: Generator) -> Draw:
    """`theta / gamma` from 1e-6 to 1e16 on a problem of the catalogue."""
    draw = (matching, assignment, top_k, path_grid, knapsack)[int(rng.integers(5))](rng)
    factor = float(power(rng, -6, 16))
    theta, gamma = draw.theta.double(), draw.gamma or 1.0
    facts, parts = {"factor": factor}, ("forward", "gradient")
    return replace(draw, theta=theta, cotangent=draw.cotangent.double(), gamma=gamma / factor, facts=facts, parts=parts)


def large_path(rng: Generator) -> Draw:
    """Grids of 12 x 12 up to 30 x 30."""
    side = int(rng.choice([12, 16, 20, 30], p=[0.4, 0.3, 0.2, 0.1]))
    problem = foresolve.ShortestPath.grid(side, side)
    theta = torch.from_numpy(1 + rng.random((2, problem.n)))
    cotangent = torch.from_numpy(rng.standard_normal((2, problem.n)))
    gamma = None if rng.random() < 0.5 else float(power(rng, -2, 0))
    return Draw(Model.of(problem), theta, gamma, cotangent, problem=problem, parts=("forward", "gradient"))


@lru_cache(maxsize=4)
def _loaded(path: Path) -> tuple[foresolve.LinearProgram, Model]:
    problem = foresolve.LinearProgram.from_mps(path)
    return problem, Model.of(problem)


def real_folder() -> Path | None:
    """Where the real programs lie, if they are at hand."""
    folder = Path(os.environ.get("FORESOLVE_DATA", "data")) / "lp"
    return folder if folder.is_dir() else None


def real(rng: Generator) -> Draw | None:
    """A real linear program whose costs are disturbed; `None` where the files are not at hand."""
    folder = real_folder()
    files = [] if folder is None else [path for name in REAL if (path := folder / f"{name}.mps.gz").is_file()]
    if not files:
        return None
    weights = 1.0 / np.arange(1, len(files) + 1)
    path = files[int(rng.choice(len(files), p=weights / weights.sum()))]
    problem, model = _loaded(path)
    costs = problem.nominal
    assert costs is not None
    noise = torch.from_numpy(rng.standard_normal((1, problem.n)))
    theta = costs * (1 + 0.3 * noise) + 0.01 * costs.abs().max() * noise * (rng.random() < 0.3)
    gamma = None if rng.random() < 0.5 else float(power(rng, -4, 0)) * float(costs.abs().max()) / _reach(model)
    cotangent = torch.from_numpy(rng.standard_normal((1, problem.n)))
    facts = {"model": path.name.partition(".")[0]}
    return Draw(model, theta, gamma, cotangent, problem=problem, parts=("forward", "gradient"), facts=facts)


def _reach(model: Model) -> float:
    """A typical size of `x`: the largest right-hand side over its row."""
    rows = np.concatenate([model.A_eq, model.A_ub])
    sides = np.abs(np.concatenate([model.b_eq, model.b_ub]))
    return float((sides / np.maximum(np.abs(rows).max(-1), 1e-300)).max()) or 1.0


CATALOGUE: dict[str, Builder] = {
    "matching": matching,
    "assignment": assignment,
    "top k": top_k,
    "path: grid": path_grid,
    "path: neighbours": path_neighbours,
    "path: graph": path_graph,
    "max flow": max_flow,
    "min cost flow": min_cost_flow,
    "min cost flow in other units": min_cost_flow_units,
    "knapsack": knapsack,
    "knapsack in other units": knapsack_units,
    "theta / gamma on the catalogue": strength,
    "path: large grid": large_path,
    "real programs": real,  # type: ignore[dict-item]
}

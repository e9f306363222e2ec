"""The problem that the settings of a project describe."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from foresolve._base import frames
from foresolve._base.table_files import TableFile
from foresolve.problems.base import Problem
from foresolve.problems.flow import MaxFlow, MinCostFlow
from foresolve.problems.knapsack import Knapsack
from foresolve.problems.linear import LinearProgram
from foresolve.problems.matching import Assignment, BipartiteMatching
from foresolve.problems.shortest_path import ShortestPath
from foresolve.problems.submodular import SubmodularProblem
from foresolve.problems.top_k import TopK
from foresolve.projects.columns import table
from foresolve.projects.settings import Settings
from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.matroids.laminar import UniformMatroid

if TYPE_CHECKING:
    from foresolve.projects import schema


def problem_of(settings: Settings) -> Problem:
    """The problem of a project, with the names of its files."""
    values: Any = settings.values.problem
    if values.kind == "mps":
        path = settings.file("problem", "file")
        return LinearProgram.from_mps(path, predict=values.predict, sense=values.sense)
    return _BUILDERS[settings.problem](settings, _table(settings, "file"), values)


def _table(settings: Settings, key: str) -> TableFile:
    return table(settings, settings.file("problem", key))


def _arcs(values: schema.ShortestPath | schema.MaxFlow | schema.MinCostFlow) -> dict[str, Any]:
    return {"tail": values.tail, "head": values.head, "name": values.name}


def _shortest_path(_: Settings, arcs: Any, values: schema.ShortestPath) -> Problem:
    return ShortestPath.from_frame(arcs, values.source, values.target, **_arcs(values))


def _max_flow(_: Settings, arcs: Any, values: schema.MaxFlow) -> Problem:
    return MaxFlow.from_frame(arcs, values.source, values.target, capacity=values.capacity, **_arcs(values))


def _min_cost_flow(settings: Settings, arcs: Any, values: schema.MinCostFlow) -> Problem:
    nodes = _table(settings, "nodes").frame()
    names = frames.complete("nodes", nodes, values.node, "node").to_list()
    supply = dict(zip(names, frames.numbers("nodes", nodes, values.supply, "supply").tolist()))
    return MinCostFlow.from_frame(arcs, supply, capacity=values.capacity, **_arcs(values))


def _matching(_: Settings, pairs: Any, values: schema.Matching) -> Problem:
    return BipartiteMatching.from_frame(pairs, left=values.left, right=values.right)


def _assignment(_: Settings, pairs: Any, values: schema.Assignment) -> Problem:
    return Assignment.from_frame(pairs, left=values.left, right=values.right, sense=values.sense)


def _knapsack(_: Settings, items: Any, values: schema.Knapsack) -> Problem:
    return Knapsack.from_frame(items, values.capacity, weight=values.weight, name=values.name)


def _top_k(_: Settings, items: Any, values: schema.TopK) -> Problem:
    return TopK.from_frame(items, values.k, name=values.name, sense=values.sense)


def _coverage(settings: Settings, items: Any, values: schema.Coverage) -> Problem:
    targets = _table(settings, "targets").frame((values.target,))
    names = frames.texts("file", items.frame((values.name,)), values.name, "name")
    worth = None if values.worth is None else frames.numbers("targets", targets, values.worth, "worth")
    matroid = UniformMatroid(len(names), values.k)
    reached = frames.texts("targets", targets, values.target, "target")
    return SubmodularProblem(ProbabilisticCoverage(worth), matroid, names=names, targets=reached)


_BUILDERS: dict[str, Callable[[Settings, Any, Any], Problem]] = {
    "shortest-path": _shortest_path,
    "max-flow": _max_flow,
    "min-cost-flow": _min_cost_flow,
    "matching": _matching,
    "assignment": _assignment,
    "knapsack": _knapsack,
    "top-k": _top_k,
    "coverage": _coverage,
}

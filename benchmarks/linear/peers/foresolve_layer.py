from __future__ import annotations

from collections.abc import Callable

import torch

import foresolve
from benchmarks.linear.inputs import Case


def make_problem(case: Case) -> foresolve.LinearProgram:
    if case.kind == "matching":
        return foresolve.BipartiteMatching(*case.size)
    if case.kind == "grid":
        return foresolve.ShortestPath.grid(*case.size)
    return foresolve.LinearProgram(
        A_ub=case.A_ub,
        b_ub=case.b_ub,
        A_eq=case.A_eq,
        b_eq=case.b_eq,
        bounds=(case.lower, case.upper),
        sense=case.sense,
    )


def build(case: Case) -> Callable[[torch.Tensor], torch.Tensor]:
    problem = make_problem(case)
    layer = foresolve.QuadraticRelaxation(gamma=case.gamma)
    return lambda theta: layer(theta, problem)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import foresolve
from benchmarks.quadratic.inputs import Case


def build(case: Case) -> Callable[..., torch.Tensor]:
    layer = foresolve.QuadraticRelaxation(gamma=0.0)
    bounded = bool(np.isfinite(case.lower).any() or np.isfinite(case.upper).any())
    constraints: dict[str, Any] = {"bounds": (case.lower, case.upper) if bounded else (None, None)}
    if len(case.b_ub):
        constraints.update(A_ub=case.A_ub, b_ub=case.b_ub)
    if len(case.b_eq):
        constraints.update(A_eq=case.A_eq, b_eq=case.b_eq)

    if case.hessian() is None:  # the feasible set stays, Q comes with every call
        fixed = foresolve.LinearProgram(**constraints, n=case.n).constraints
        return lambda theta, Q: layer(theta, foresolve.QuadraticProgram(Q, constraints=fixed, sense=case.sense))
    given = {"Q": case.Q} if case.factor is None else {"diagonal": case.diagonal, "factor": case.factor}
    problem = foresolve.QuadraticProgram(**given, **constraints, sense=case.sense)
    return lambda theta: layer(theta, problem)

from __future__ import annotations

from collections.abc import Callable

import cvxpy as cp
import torch
from cvxpylayers.torch import CvxpyLayer

from benchmarks.linear.inputs import Case


def build(case: Case, **solver_args: object) -> Callable[[torch.Tensor], torch.Tensor]:
    theta = cp.Parameter(case.n)
    x = cp.Variable(case.n)
    constraints = [x >= case.lower, x <= case.upper]
    if len(case.b_ub):
        constraints.append(case.A_ub @ x <= case.b_ub)
    A, b = case.equalities()
    if len(b):
        constraints.append(A @ x == b)
    objective = cp.Maximize(case.sign * (theta @ x) - case.gamma * cp.sum_squares(x))
    layer = CvxpyLayer(cp.Problem(objective, constraints), [theta], [x], solver_args=dict(solver_args))
    return lambda value: layer(value)[0]

from __future__ import annotations

from collections.abc import Callable

import torch
from qpth.qp import QPFunction

from benchmarks._harness.layers.inputs import Program, dense


def build(case: Program) -> Callable[..., torch.Tensor]:
    shared = case.hessian()
    common = None if shared is None else torch.as_tensor(dense(shared))
    G, h = (torch.as_tensor(part) for part in _dense(*case.inequalities()))
    A, b = (torch.as_tensor(part) for part in _dense(*case.equalities()))
    if not len(b):
        A = b = torch.zeros(0, dtype=torch.float64)
    # Q is positive definite: checking that would only cost time.
    solve = QPFunction(verbose=-1, check_Q_spd=False)
    return lambda theta, Q=common: solve(Q, -case.sign * theta, G, h, A, b)


def _dense(matrix, vector):
    return matrix.toarray(), vector

from __future__ import annotations

from collections.abc import Callable

import torch
from qpth.qp import QPFunction

from benchmarks.linear.inputs import Case


def build(case: Case) -> Callable[[torch.Tensor], torch.Tensor]:
    Q = 2.0 * case.gamma * torch.eye(case.n, dtype=torch.float64)
    G, h = (torch.as_tensor(part) for part in _dense(*case.inequalities()))
    A, b = (torch.as_tensor(part) for part in _dense(*case.equalities()))
    if not len(b):
        A = b = torch.zeros(0, dtype=torch.float64)
    # Q is a multiple of the identity: checking that it is positive definite would only cost time.
    solve = QPFunction(verbose=-1, check_Q_spd=False)
    return lambda theta: solve(Q, -case.sign * theta, G, h, A, b)


def _dense(matrix, vector):
    return matrix.toarray(), vector

"""The torch layer that OSQP ships: it sets its solvers up in every call, and fetches all gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
import torch
from osqp.nn.torch import OSQP

from benchmarks.linear.inputs import Case


def build(case: Case) -> Callable[[torch.Tensor], torch.Tensor]:
    A, b = case.equalities()
    G, lower, upper = case.two_sided()
    # The layer reads values in the order of the compressed columns.
    rows = sp.vstack([A, G]).tocsc().tocoo()
    P = torch.full((case.n,), 2.0 * case.gamma, dtype=torch.float64)
    diagonal = np.arange(case.n)
    layer = OSQP((diagonal, diagonal), (case.n, case.n), (rows.row, rows.col), rows.shape)
    values = torch.from_numpy(rows.data)
    low = torch.from_numpy(np.concatenate([b, lower]))
    high = torch.from_numpy(np.concatenate([b, upper]))
    return lambda theta: layer(P, -case.sign * theta, values, low, high)

"""The torch layer that OSQP ships: it sets its solvers up in every call, and fetches all gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
import torch
from osqp.nn.torch import OSQP

from benchmarks._harness.layers.inputs import Program


def build(case: Program) -> Callable[..., torch.Tensor]:
    form = case.lifted()
    extra = form.n - case.n
    A, b = form.equalities()
    G, lower, upper = form.two_sided()
    # The layer reads values in the order of the compressed columns.
    rows = sp.vstack([A, G]).tocsc().tocoo()
    shared = form.hessian()
    P = sp.csc_matrix(np.ones((form.n, form.n)) if shared is None else shared).tocoo()
    layer = OSQP((P.row, P.col), (form.n, form.n), (rows.row, rows.col), rows.shape)
    values = torch.from_numpy(rows.data)
    low = torch.from_numpy(np.concatenate([b, lower]))
    high = torch.from_numpy(np.concatenate([b, upper]))
    common = None if shared is None else torch.from_numpy(P.data)

    def solve(theta: torch.Tensor, Q: torch.Tensor | None = None) -> torch.Tensor:
        q = torch.nn.functional.pad(-case.sign * theta, (0, extra))
        # Column by column, as `P` above.
        entries = common if Q is None else Q.mT.flatten(-2)
        return layer(entries, q, values, low, high)[..., : case.n]

    return solve

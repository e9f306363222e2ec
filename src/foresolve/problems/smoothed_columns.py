"""Which variables of a program a smoothing has to act on."""

from __future__ import annotations

from typing import Any, cast

import scipy.linalg
import torch
from torch import Tensor

# Of its norm: a column that adds less to the span of the others counts as one of them.
DEPENDENT = 1e-6
# With more variables all are smoothed: without some, every system has as many unknowns as there are variables.
MOST_VARIABLES = 3_000


def smoothed_columns(moved: Tensor, equalities: Tensor) -> Tensor | None:
    r"""The variables that a quadratic term must hold for decisions to be unique, as `(n,)` ones and zeros.

    Those whose coefficients are predicted are smoothed, so that they move with the prediction. The others (states,
    slacks, flows in between) need it only as far as the equality rows leave them open: :math:`\sum_{j \in S} x_j^2` is
    strictly convex on :math:`A_{eq} d = 0` if and only if no :math:`d \ne 0` there is zero on :math:`S`, that is, if
    the columns of :math:`A_{eq}` outside :math:`S` are independent. A pivoted QR decomposition finds as many of those
    as there are; the rest is smoothed too.

    Parameters
    ----------
    moved: `(n,)`, whose coefficients are predicted.
    equalities: `A_eq`, `(m, n)`.

    Returns
    -------
    `None` where all variables are smoothed.

    Examples
    --------
    A state that a row determines from two flows:

    >>> import torch
    >>> smoothed_columns(torch.tensor([True, True, False]), torch.tensor([[1.0, -1.0, -1.0]]))
    tensor([1., 1., 0.], dtype=torch.float64)
    """
    others = (~moved).nonzero().flatten()
    if not len(others) or not len(equalities) or len(moved) > MOST_VARIABLES:
        return None
    columns = equalities[:, others].double()
    columns = columns / columns.norm(dim=0).clamp_min(torch.finfo(columns.dtype).tiny)
    upper, order = cast(tuple[Any, Any], scipy.linalg.qr(columns.numpy(), mode="r", pivoting=True))
    pivots = abs(upper.diagonal())
    rank = int((pivots > DEPENDENT).sum())  # columns have norm 1, and so has the first pivot
    weights = torch.ones(len(moved), dtype=torch.float64)
    weights[others[torch.from_numpy(order[:rank].copy()).long()]] = 0.0
    return weights if rank else None

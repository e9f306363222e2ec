"""Between the targets of scikit-learn, a row of numbers for each sample, and a problem's parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.problems.base import Problem


def as_theta(name: str, y: Any, problem: Problem) -> Tensor:
    """Targets `(N,)` or `(N, p)` as parameters `(N, *theta_shape)`, float64.

    A row holds the entries of one instance in order, the last dimension fastest, as `theta.reshape(N, -1)` gives them.
    """
    rows = torch.as_tensor(np.array(y, dtype=np.float64))
    if rows.ndim == 0:
        raise checks.fail(name, "(N, p), a row of parameters for each sample", "a single number")
    checks.finite(name, rows)
    rows = rows.reshape(len(rows), -1)
    sizes = [-1 if size is None else size for size in problem.theta_shape]
    if len(sizes) < 2 or sizes.count(-1) > 1:
        return rows
    known = int(np.prod([size for size in sizes if size > 0]))
    if rows.shape[1] % known or (-1 not in sizes and rows.shape[1] != known):
        expected = f"(N, p) with p {'a multiple of ' if -1 in sizes else ''}{known} to match the problem"
        raise checks.fail(name, expected, str(tuple(rows.shape)))
    return rows.reshape(len(rows), *sizes)

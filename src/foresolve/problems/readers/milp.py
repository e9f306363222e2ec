"""Rows as `scipy.optimize.milp` takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from foresolve._base import checks
from foresolve.problems.readers.model import split_rows, unlimited


def read_constraints(constraints: Any) -> dict[str, Any]:
    """Those of `A_ub`, `b_ub`, `A_eq`, `b_eq` that a `LinearConstraint`, a tuple of its arguments, or a list has."""
    from scipy.optimize import LinearConstraint  # a third of a second that few need

    if constraints is None:
        return {}
    given: Any = constraints
    if isinstance(constraints, LinearConstraint):
        given = [constraints]
    elif isinstance(constraints, tuple) and not any(isinstance(c, tuple | LinearConstraint) for c in constraints):
        given = [constraints]  # one by its arguments
    try:
        parts = [part if isinstance(part, LinearConstraint) else LinearConstraint(*part) for part in given]
    except (TypeError, ValueError) as error:
        expected = "a `LinearConstraint`, a tuple `(A, lb, ub)` or a list of them"
        raise checks.fail("constraints", expected, f"{type(constraints).__name__} ({error})") from error
    if not parts:
        return {}
    matrices = [part.A if scipy.sparse.issparse(part.A) else np.atleast_2d(part.A) for part in parts]
    if len({matrix.shape[1] for matrix in matrices}) > 1:
        shapes = ", ".join(str(matrix.shape) for matrix in matrices)
        raise checks.fail("constraints", "of one number of variables", shapes)
    lower, upper = (
        np.concatenate([np.broadcast_to(side, matrix.shape[0]) for side, matrix in zip(sides, matrices)])
        for sides in ([part.lb for part in parts], [part.ub for part in parts])
    )
    stacked = scipy.sparse.vstack([scipy.sparse.csr_array(matrix) for matrix in matrices])
    return split_rows(stacked, unlimited(lower), unlimited(upper))

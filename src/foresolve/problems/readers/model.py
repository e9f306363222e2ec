"""A mixed-integer linear program, or a quadratic one, as another tool holds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from foresolve._base import checks

# Files and tools write "no bound" as 1e30 or the like; HiGHS draws the line here.
INFINITE = 1e20


@dataclass(frozen=True)
class Model:
    """`min` or `max coefficients'x + 1/2 x'Qx + offset` over rows and bounds, some variables integer.

    The rows are `row_lower <= A x <= row_upper`, the bounds `lower <= x <= upper`.

    Attributes
    ----------
    matrix: `A`, sparse.
    row_lower, row_upper, lower, upper: infinite, or beyond `INFINITE`, where there is no bound.
    integrality: 1 for integer variables, else 0.
    maximize: the model's own sense; `None` where it states none.
    names: of the variables.
    quadratic: `Q`, symmetric, both triangles, without zeros; `None` where the objective is linear.
    """

    matrix: scipy.sparse.csr_array
    row_lower: np.ndarray
    row_upper: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    integrality: np.ndarray
    coefficients: np.ndarray
    offset: float
    maximize: bool | None
    names: tuple[str, ...]
    quadratic: scipy.sparse.csr_array | None = None

    def feasible_set(self) -> dict[str, Any]:
        """The arguments of `LinearProgram`, but for the sense; ranged rows are two inequalities, free rows none."""
        bounds = (unlimited(self.lower), unlimited(self.upper))
        rows = split_rows(self.matrix, unlimited(self.row_lower), unlimited(self.row_upper))
        size = len(self.coefficients)
        return rows | {"bounds": bounds, "integrality": self.integrality, "n": size, "names": self.names}


def unlimited(bounds: Any) -> np.ndarray:
    """Bounds, with infinity for what stands for it."""
    array = np.array(bounds, dtype=np.float64)
    array[array >= INFINITE], array[array <= -INFINITE] = np.inf, -np.inf
    return array


def split_rows(matrix: Any, lower: np.ndarray, upper: np.ndarray) -> dict[str, Any]:
    """Those of `A_ub`, `b_ub`, `A_eq`, `b_eq` that `lower <= A x <= upper` has."""
    matrix = scipy.sparse.csr_array(matrix)
    equal = lower == upper
    above, below = np.isfinite(upper) & ~equal, np.isfinite(lower) & ~equal
    rows: dict[str, Any] = {}
    if equal.any():
        rows |= {"A_eq": matrix[equal], "b_eq": upper[equal]}
    if (above | below).any():
        stacked = scipy.sparse.vstack([matrix[above], -matrix[below]])
        rows |= {"A_ub": scipy.sparse.csr_array(stacked), "b_ub": np.concatenate([upper[above], -lower[below]])}
    return rows


def positions(name: str, wanted: Any, known: Sequence[str], what: str) -> list[int]:
    """Where the names `wanted` stand among those that are `known`; what is not there is refused with the nearest."""
    if isinstance(wanted, str):
        wanted = [wanted]
    place = {label: j for j, label in enumerate(known)}
    chosen = list(wanted)
    for label in chosen:
        if label not in place:
            remedy = checks.did_you_mean(label, known) or f"They are {shown(known)}"
            raise checks.fail(name, f"names of {what}", repr(label), remedy)
    if not chosen or len(set(chosen)) < len(chosen):
        twice = next((label for label in chosen if chosen.count(label) > 1), None)
        got = "none" if twice is None else f"{twice!r} twice"
        raise checks.fail(name, f"at least one of {what}, none twice", got)
    return [place[label] for label in chosen]


def shown(names: Sequence[str], most: int = 6) -> str:
    """A few names for a message."""
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")

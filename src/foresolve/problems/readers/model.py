"""A mixed-integer linear program, or a quadratic one, as another tool holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from foresolve._base import checks
from foresolve._base.text import some_of

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
    rows: the places of the rows that have a name.
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
    rows: Mapping[str, int] = field(default_factory=dict)

    def feasible_set(self) -> dict[str, Any]:
        """The arguments of `LinearProgram`, but for the sense; ranged rows are two inequalities, free rows none."""
        bounds = (unlimited(self.lower), unlimited(self.upper))
        rows = split_rows(self.matrix, unlimited(self.row_lower), unlimited(self.row_upper))
        size = len(self.coefficients)
        return rows | {"bounds": bounds, "integrality": self.integrality, "n": size, "names": self.names}

    def sides(self, wanted: Any) -> dict[str, Side]:
        """The right-hand sides of some rows by name, where `feasible_set` has them."""
        named = list(self.rows)
        equal, above, below = _kinds(unlimited(self.row_lower), unlimited(self.row_upper))
        sides = {}
        for label in (named[place] for place in positions("predict_rows", wanted, named, "its rows")):
            row = self.rows[label]
            if equal[row]:
                sides[label] = Side("b_eq", int(equal[:row].sum()), 1.0, float(self.row_upper[row]))
            elif above[row] and not below[row]:
                sides[label] = Side("b_ub", int(above[:row].sum()), 1.0, float(self.row_upper[row]))
            elif below[row] and not above[row]:
                place = int(above.sum() + below[:row].sum())
                sides[label] = Side("b_ub", place, -1.0, float(self.row_lower[row]))
            else:
                got, remedy = f"{label!r}, which has none", ""
                if above[row]:
                    got, remedy = f"{label!r}, which has two", "Write it as two rows"
                raise checks.fail("predict_rows", "names of rows with one right-hand side", got, remedy)
        return sides


class Side(NamedTuple):
    """The right-hand side of a row: its place in "b_ub" or "b_eq", its sign there, and what the model has."""

    block: str
    place: int
    sign: float
    value: float


def unlimited(bounds: Any) -> np.ndarray:
    """Bounds, with infinity for what stands for it."""
    array = np.array(bounds, dtype=np.float64)
    array[array >= INFINITE], array[array <= -INFINITE] = np.inf, -np.inf
    return array


def split_rows(matrix: Any, lower: np.ndarray, upper: np.ndarray) -> dict[str, Any]:
    """Those of `A_ub`, `b_ub`, `A_eq`, `b_eq` that `lower <= A x <= upper` has."""
    matrix = scipy.sparse.csr_array(matrix)
    equal, above, below = _kinds(lower, upper)
    rows: dict[str, Any] = {}
    if equal.any():
        rows |= {"A_eq": matrix[equal], "b_eq": upper[equal]}
    if (above | below).any():
        stacked = scipy.sparse.vstack([matrix[above], -matrix[below]])
        rows |= {"A_ub": scipy.sparse.csr_array(stacked), "b_ub": np.concatenate([upper[above], -lower[below]])}
    return rows


def _kinds(lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which rows are equalities, and which others have a side above and one below."""
    equal = lower == upper
    return equal, np.isfinite(upper) & ~equal, np.isfinite(lower) & ~equal


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
    return some_of(list(map(repr, names)), most)

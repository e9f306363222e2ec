"""Models from MPS and LP files, read by HiGHS."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from foresolve._base import checks
from foresolve.errors import InvalidInputError
from foresolve.solvers.exact.highs_model import load_highspy, new_highs

# Files write "no bound" as 1e30 or the like; HiGHS draws the line here.
INFINITE = 1e20


@dataclass(frozen=True)
class MpsModel:
    """A mixed-integer program as in a file.

    Attributes
    ----------
    constraints: those of `A_ub`, `b_ub`, `A_eq`, `b_eq` that the model has; ranged rows are two inequalities.
    lower, upper: bounds of the variables, infinite where there are none.
    integrality: 1 for integer variables, else 0.
    coefficients, offset: the objective `coefficients'x + offset`.
    maximize: the file's own sense.
    names: of the variables.
    """

    constraints: dict[str, Any]
    lower: np.ndarray
    upper: np.ndarray
    integrality: np.ndarray
    coefficients: np.ndarray
    offset: float
    maximize: bool
    names: tuple[str, ...]


def read_mps(path: str | Path) -> MpsModel:
    """The model in a file; `.mps`, `.lp` and their `.gz` are told apart by the name."""
    path = checks.path("path", path)
    if not path.is_file():
        raise checks.fail("path", "an existing MPS or LP file", f"{str(path)!r}, which is not a file")
    highspy, highs = load_highspy(), new_highs()
    status = highs.readModel(str(path))
    lp = highs.getLp()
    if status == highspy.HighsStatus.kError or lp.num_col_ == 0:
        raise InvalidInputError(
            f"`path` must be a file that HiGHS can read as a model (.mps, .lp, .mps.gz or .lp.gz); got {str(path)!r}, "
            "which it cannot. Check the name's ending and open the file with the tool that wrote it"
        )
    if highs.getHessianNumNz() > 0:
        raise InvalidInputError(
            f"`path` must hold a linear objective; {str(path)!r} has a quadratic one. Remove its quadratic section"
        )
    names = _names(lp, str(path))
    return MpsModel(
        constraints=_constraints(lp),
        lower=_unlimited(lp.col_lower_),
        upper=_unlimited(lp.col_upper_),
        integrality=_integrality(lp, names, str(path)),
        coefficients=np.array(lp.col_cost_, dtype=np.float64),
        offset=float(lp.offset_),
        maximize=lp.sense_ == highspy.ObjSense.kMaximize,
        names=names,
    )


def _names(lp: Any, path: str) -> tuple[str, ...]:
    try:
        return tuple(lp.col_names_) or tuple(f"x{j}" for j in range(lp.num_col_))
    except UnicodeDecodeError as error:
        remedy = "Convert the file, for example with `iconv -f latin1 -t utf-8`"
        raise checks.fail("path", "a file with names in UTF-8", f"{path!r} ({error})", remedy) from error


def _unlimited(bounds: Any) -> np.ndarray:
    array = np.array(bounds, dtype=np.float64)
    array[array >= INFINITE], array[array <= -INFINITE] = np.inf, -np.inf
    return array


def _constraints(lp: Any) -> dict[str, Any]:
    highspy = load_highspy()
    parts = tuple(np.array(part) for part in (lp.a_matrix_.value_, lp.a_matrix_.index_, lp.a_matrix_.start_))
    shape = (lp.num_row_, lp.num_col_)
    by_column = lp.a_matrix_.format_ == highspy.MatrixFormat.kColwise
    matrix = scipy.sparse.csr_array((scipy.sparse.csc_array if by_column else scipy.sparse.csr_array)(parts, shape))
    lower, upper = _unlimited(lp.row_lower_), _unlimited(lp.row_upper_)
    equal = lower == upper
    above, below = np.isfinite(upper) & ~equal, np.isfinite(lower) & ~equal
    constraints: dict[str, Any] = {}
    if equal.any():
        constraints |= {"A_eq": matrix[equal], "b_eq": upper[equal]}
    if (above | below).any():
        stacked = scipy.sparse.vstack([matrix[above], -matrix[below]])
        constraints |= {"A_ub": scipy.sparse.csr_array(stacked), "b_ub": np.concatenate([upper[above], -lower[below]])}
    return constraints


def _integrality(lp: Any, names: tuple[str, ...], path: str) -> np.ndarray:
    kinds = load_highspy().HighsVarType
    flags = np.zeros(lp.num_col_, dtype=np.int64)
    for j, kind in enumerate(lp.integrality_):
        if kind in (kinds.kSemiContinuous, kinds.kSemiInteger):
            raise InvalidInputError(
                f"`path` must hold continuous and integer variables only; {names[j]!r} in {path!r} is semi-continuous. "
                "Write it as a continuous variable with a 0/1 switch"
            )
        flags[j] = kind != kinds.kContinuous
    return flags

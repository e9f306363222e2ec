"""Features that are the truth itself: whatever learns from them decides perfectly, and is worth nothing tomorrow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foresolve._base import checks
from foresolve.data.frames.encoding import Encoding
from foresolve.data.frames.keys import Keys
from foresolve.errors import ForesolveWarning

LEAST_ROWS = 5  # fewer may be equal by chance


def check_leaks(features: np.ndarray, theta: np.ndarray, encoding: Encoding, names: Sequence[str]) -> None:
    """Refuse a column of features that has the name and the numbers of a parameter; warn of one with its numbers alone.

    Parameters
    ----------
    features: `(N, d)`, or `(N, *variables, d)` of the long form, whose parameters are one column.
    theta: `(N, *axes)`.
    names: of the parameters, all of them; of the long form that of their column.
    """
    if len(theta) < LEAST_ROWS:
        return
    if features.ndim == 2:
        truths = theta.reshape(len(theta), -1).T
    elif features[..., 0].size == theta.size:
        truths = theta.reshape(1, -1)
    else:  # of one side of pairs
        return
    known = {column.tobytes(): name for name, column in zip(names, truths, strict=True) if _varies(column)}
    for part, column in encoding.groups():
        if column.kind != "number":
            continue
        name = known.get(np.ascontiguousarray(features[..., part.start]).tobytes())
        if name == column.title:
            remedy = f'Leave it out, `encode={{{name!r}: "ignore"}}`; if it is known when decisions are made, rename it'
            raise checks.fail("features", "without the parameters themselves", f"{name!r}, the truth", remedy)
        if name is not None:
            checks.warn(
                f"the feature {column.title!r} is the parameter {name!r} in every instance. Leave it out unless it is "
                "known when decisions are made",
                ForesolveWarning,
            )


def _varies(column: np.ndarray) -> bool:
    known = column[~np.isnan(column)]
    return bool(len(known)) and bool(known.min() < known.max())


def check_dates_agree(rows: np.ndarray, dates: np.ndarray, times: np.ndarray, keys: Keys, title: str) -> None:
    """Refuse an instance of the long form whose rows have different dates; `times` are those of instances."""
    differ = np.flatnonzero(times[rows] != dates)
    if len(differ):
        got = f"several in {keys[int(rows[differ[0]])]!r}"
        raise checks.fail("features", f"one date for each instance in its column {title!r}", got)

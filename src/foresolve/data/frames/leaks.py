"""Features that are the truth itself: whatever learns from them decides perfectly, and is worth nothing tomorrow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foresolve._base import checks
from foresolve.data.frames.encoding import Encoding
from foresolve.data.frames.keys import Keys
from foresolve.errors import ForesolveWarning, Phrase, Setting

LEAST_ROWS = 5  # fewer may be equal by chance
LEAST_VALUES = 10  # of columns that agree in other units: of two values each, any two agree
SAMPLE = 32  # rows by which most parameters are ruled out
ALIKE = 1e-3  # of what a parameter varies by: the rounding of a table in other units


def check_leaks(features: np.ndarray, theta: np.ndarray, encoding: Encoding, names: Sequence[str]) -> None:
    """Refuse a column of features that has the name and the numbers of a parameter; warn of one with its numbers alone.

    Numbers agree where they are the same in all instances for which both are known, or the same but for their units:
    `a + b` times those of the feature.

    Parameters
    ----------
    features: `(N, d)`, or `(N, *variables, d)` of the long form, whose parameters are one column.
    theta: `(N, *axes)`.
    names: of the parameters, all of them; of the long form that of their column.
    """
    if features.ndim == 2:
        truths = theta.reshape(len(theta), -1).T
    elif features[..., 0].size == theta.size:
        truths = theta.reshape(1, -1)
    else:  # of one side of pairs
        return
    for part, column in encoding.groups():
        found = _twin(features[..., part.start].reshape(-1), truths) if column.kind == "number" else None
        if found is None:
            continue
        name, same = names[found[0]], found[1]
        if same and name == column.title:
            out = Setting("encode", {name: "ignore"})
            remedy = Phrase("Leave it out, ", out, "; if it is known when decisions are made, rename it")
            raise checks.fail("features", "without the parameters themselves", f"{name!r}, the truth", remedy)
        units = "" if same else ", in other units,"
        checks.warn(
            f"the feature {column.title!r} is the parameter {name!r}{units} in every instance. Leave it out unless it "
            "is known when decisions are made",
            ForesolveWarning,
        )


def _twin(feature: np.ndarray, truths: np.ndarray) -> tuple[int, bool] | None:
    """Which of the rows of `truths`, `(P, N)`, a feature agrees with, and whether to the digit."""
    rows = np.flatnonzero(~np.isnan(feature))
    if len(rows) < LEAST_ROWS:
        return None
    ends = feature[rows].argmin(), feature[rows].argmax()  # without which a column of rare peaks may look constant
    sample = rows[np.unique([*np.linspace(0, len(rows) - 1, min(SAMPLE, len(rows))).astype(int), *ends])]
    for place in np.flatnonzero(_agree(feature[sample], truths[:, sample])):
        known = rows[~np.isnan(truths[place, rows])]
        ours, theirs = feature[known], truths[place, known]
        if len(known) < LEAST_ROWS or not _agree(ours, theirs[None])[0]:
            continue
        if np.array_equal(ours, theirs):
            return int(place), True
        if len(np.unique(theirs)) >= LEAST_VALUES:
            return int(place), False
    return None


def _agree(feature: np.ndarray, truths: np.ndarray) -> np.ndarray:
    """Which rows of `truths` vary and are `a + b` times a feature, where they are known."""
    known = ~np.isnan(truths)
    count = np.maximum(known.sum(1, keepdims=True), 1)
    ours, theirs = (np.where(known, part, 0.0) for part in (np.broadcast_to(feature, truths.shape), truths))
    ours, theirs = (np.where(known, part - part.sum(1, keepdims=True) / count, 0.0) for part in (ours, theirs))
    squares = (ours**2).sum(1, keepdims=True)
    slope = (ours * theirs).sum(1, keepdims=True) / np.where(squares > 0, squares, 1.0)
    varies = np.abs(theirs).max(1)
    return (varies > 0) & (slope[:, 0] != 0) & (np.abs(theirs - slope * ours).max(1) <= ALIKE * varies)


def check_dates_agree(rows: np.ndarray, dates: np.ndarray, times: np.ndarray, keys: Keys, title: str) -> None:
    """Refuse an instance of the long form whose rows have different dates; `times` are those of instances."""
    differ = np.flatnonzero(times[rows] != dates)
    if len(differ):
        got = f"several in {keys[int(rows[differ[0]])]!r}"
        raise checks.fail("features", f"one date for each instance in its column {title!r}", got)

"""Features that hold the truth of earlier rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks


def check_order(positions: Tensor, times: np.ndarray | None = None) -> None:
    """Refuse instances that do not follow each other as in the data set that was made first, or not in time."""
    if times is not None and len(times) > 1 and not (times[1:] > times[:-1]).all():
        at = int((times[1:] <= times[:-1]).argmax())
        got = " after ".join(np.datetime_as_string(times[place], unit="s") for place in (at + 1, at))
        remedy = "A row before it of the same time or a later one would tell what is not known yet"
        raise checks.fail("data", "rows of later and later times for `lagged`", got, remedy)
    breaks = (positions.diff() != 1).nonzero()
    if len(breaks):
        at = int(breaks[0])
        got = f"position {int(positions[at + 1])} after {int(positions[at])}"
        remedy = "Call `lagged` on the data before it is split, and split it with `shuffle=False`"
        raise checks.fail("data", "rows in their order, without gaps, for `lagged`", got, remedy)


def checked_lags(lags: Sequence[Any], count: int) -> list[int]:
    """Different lags, at least one, that leave an instance."""
    numbers = [checks.positive_int("lags", lag) for lag in lags]
    if not numbers or len(set(numbers)) < len(numbers):
        raise checks.fail("lags", "different numbers of rows, at least one", ", ".join(map(str, numbers)) or "none")
    if max(numbers) >= count:
        raise checks.fail("lags", f"less than the number of instances ({count})", str(max(numbers)))
    return numbers


def lagged_features(features: Any, theta: Tensor, lags: Sequence[int]) -> Tensor:
    """Features of the rows from the largest lag on, and beside them the parameters of earlier ones."""
    for name, table in (("features", features), ("theta", theta)):
        if not isinstance(table, Tensor) or table.ndim != 2:
            got = str(tuple(table.shape)) if isinstance(table, Tensor) else type(table).__name__
            raise checks.fail(name, "one table (N, d) for `lagged`", got)
    first, count = max(lags), len(theta)
    own = features if features.is_floating_point() else features.to(theta.dtype)
    return torch.cat([own[first:], *(theta[first - lag : count - lag].to(own) for lag in lags)], 1)


def lagged_names(
    features: Sequence[str] | None, theta: Sequence[str] | None, lags: Sequence[int]
) -> tuple[str, ...] | None:
    """The names of the columns, where both tables have names."""
    if features is None or theta is None:
        return None
    added = [f"{name} lag {lag}" for lag in lags for name in theta]
    twice = [name for name in added if name in features]
    if twice:
        raise checks.fail("lags", "none that the features hold already", repr(twice[0]))
    return (*features, *added)

"""Columns of numbers, whatever their type; what is no number is named."""

from __future__ import annotations

from typing import Any

import numpy as np

from foresolve._base import checks
from foresolve._base.extras import need
from foresolve._base.frames import listed, plain


def as_numbers(name: str, series: Any) -> np.ndarray:
    """A column as float64, NaN where it is missing; text that is no number, and what is not finite, is named."""
    numbers = _as_floats(name, plain(series))
    endless = np.isinf(numbers)
    if endless.any():
        got = f"{numbers[endless][0]:g} {_where(series, endless)}"
        raise checks.fail(name, f"finite numbers in the column {str(series.name)!r}", got)
    return numbers


def _as_floats(name: str, series: Any) -> np.ndarray:
    pandas = need("pandas", "a frame", "learn")
    expected = f"numbers in the column {str(series.name)!r}"
    if pandas.api.types.is_timedelta64_dtype(series.dtype):
        raise checks.fail(name, expected, "lengths of time", "Say in which unit: `.dt.total_seconds()`")
    dated = pandas.api.types.is_datetime64_any_dtype(series.dtype) or isinstance(series.dtype, pandas.PeriodDtype)
    if dated or pandas.api.types.is_complex_dtype(series.dtype):  # pandas would count nanoseconds, or months
        raise checks.fail(name, expected, repr(series.iloc[0]))
    try:
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        series = series.mask(series == "None")  # a word in other columns, and no number in this one
        values = pandas.to_numeric(series, errors="coerce")
    wrong = (values.isna() & series.notna()).to_numpy()
    if wrong.any():
        first = listed([series.to_list()[int(wrong.argmax())]])
        raise checks.fail(name, expected, f"{first} {_where(series, wrong)}")
    return values.to_numpy(dtype=np.float64, na_value=np.nan)


def _where(series: Any, wrong: np.ndarray) -> str:
    """The first entry that is wrong, by what its row is called: of a file that is read in parts, its number there."""
    return f"in row {series.index[int(wrong.argmax())]} ({int(wrong.sum())} such entries)"

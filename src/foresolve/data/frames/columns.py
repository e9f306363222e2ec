"""Features, parameters, weights and dates, each from its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from foresolve._base import checks, frames
from foresolve.data.frames.dates import WRITTEN, as_dates, unread, written_otherwise
from foresolve.data.frames.encoding import Encoding
from foresolve.data.frames.forms import Form, joined
from foresolve.data.frames.keys import Keys
from foresolve.data.frames.leaks import check_dates_agree
from foresolve.data.frames.pivot import Axes, constant_in, pivot
from foresolve.data.frames.reader import FrameReader, RawTable
from foresolve.errors import Setting
from foresolve.problems.base import Problem


def parameter_table(name: str, frame: Any, form: Form, axes: Axes, *, alone: bool) -> RawTable:
    """Parameters `(N, *axes)`, NaN where they are missing; `alone` in their table, which then has no other columns."""
    keys = Keys.of(name, frame, form.key)
    if form.variable:
        assert form.value is not None
        column = frames.as_numbers(name, frames.column(name, frame, form.value, "value"))
        for title in form.variable:
            frames.column(name, frame, title, "variable")
        grid = pivot(name, frame, keys, form.variable, axes)
        return RawTable(grid.table(column), grid.keys)
    keys.check_different(name)
    (names,) = axes
    both = next((title for title in form.key if title in names), None)
    if both is not None:  # its keys would be taken for numbers to predict
        expected = "of columns that are no parameters"
        raise checks.fail("key", expected, f"{both!r}, the name of a parameter, too", "Rename one of them")
    absent = [title for title in names if title not in frame.columns]
    if absent:
        remedy = checks.did_you_mean(absent[0], [title for title in frame.columns if title not in names])
        long = f"It has {frames.listed(frame.columns, 5)}; a long table needs `variable` and `value`"
        got = f"one without {frames.listed(absent, 5)}"
        raise checks.fail(name, f"a frame with a column for each of the {len(names)} parameters", got, remedy or long)
    others = [title for title in frame.columns if title not in {*names, *form.key}] if alone else []
    if others:
        remedy = "Drop such columns, or correct the names of the problem"
        raise checks.fail(name, "a frame of keys and parameters alone", f"one with {frames.listed(others, 5)}", remedy)
    return RawTable(np.stack([frames.as_numbers(name, frame[title]) for title in names], 1), keys)


def feature_reader(
    frame: Any, form: Form, axes: Axes, problem: Problem, rule: Any, file: Mapping[str, str], *, joint: bool
) -> FrameReader:
    """How the features are read, from now on; `joint` with the parameters in one table.

    `file` has the settings of the file that they came from.
    """
    present = tuple(title for title in form.variable if title in frame.columns)
    along = tuple(axis for title, axis in zip(form.variable, axes) if title in present)
    flat = len(problem.theta_shape) == 1 and len(axes) > 1
    if present and flat and present != form.variable:
        raise checks.fail("features", f"with all of the columns {', '.join(form.variable)}, or none", repr(present[0]))
    if present and present != form.variable[: len(present)]:
        raise checks.fail("features", f"with {form.variable[0]!r} where they have {present[0]!r}", "without it")
    titles = form.columns
    if titles is None:
        taken = {*form.key, *form.variable, form.weights}
        if joint:
            taken |= {form.value} if form.variable else set(joined(axes))
        stated = {title for title, kind in (form.encode or {}).items() if kind != "ignore"}
        titles = tuple(sorted(title for title in frame.columns if title not in taken - stated))
    for title in titles:
        frames.column("features", frame, title, "columns")
    target = {form.value} if form.variable else set(joined(axes))
    if joint and target & set(titles):
        raise checks.fail("columns", "without the parameters themselves", repr(next(iter(target & set(titles)))))
    encoding = Encoding.of(frame, titles, form.encode)
    return FrameReader(form.key, encoding, present, along, flat and bool(present), rule, file=file)


def weight_column(frame: Any, form: Form, raw: RawTable, reader: FrameReader) -> np.ndarray | None:
    if form.weights is None:
        return None
    column = frames.numbers("features", frame, form.weights, "weights")
    if not reader.variable:
        return column
    keys = Keys.of("features", frame, form.key)
    grid = pivot("features", frame, keys, reader.variable, reader.axes)
    return constant_in("features", grid.table(column), form.weights, raw.keys)


def instance_times(frame: Any, raw: RawTable, form: Form, reader: FrameReader) -> np.ndarray | None:
    """When instances are from; by default a key that is a date says so."""
    if form.dates is False:
        return None
    if form.dates is None or form.dates is True:
        if raw.keys.times is None:
            _check_undated(raw.keys)
        return raw.keys.times
    given = as_dates(frames.complete("features", frame, str(form.dates), "dates"))
    if given is None:
        got = repr(frame[form.dates].iloc[0])
        raise checks.fail("dates", "a column of dates", f"{form.dates!r}, with {got}", WRITTEN)
    dates = given.values
    if not reader.variable:
        return dates
    first = raw.keys.places(Keys.of("features", frame, form.key))
    times = np.empty(len(raw.keys), dtype=dates.dtype)
    times[first] = dates
    check_dates_agree(first, dates, times, raw.keys, str(form.dates))
    return times


def _check_undated(keys: Keys) -> None:
    """Refuse a key that looks like dates and is none: rows would be split at random, with the future in training."""
    for name, column in zip(keys.names, keys.columns, strict=True):
        entry = written_otherwise(column.tolist())
        if entry is not None:
            raise unread("dates", f"the key {name!r}", entry, Setting("dates"), " to False")

from __future__ import annotations

import sys

import matplotlib
import pytest

from foresolve._base.drawing.canvas import as_axes, bare, new_figure, shortened, tidy
from foresolve.errors import MissingExtraError
from mistakes import mistake


def test_axes_are_the_callers_or_new() -> None:
    mine = new_figure(2, 2).subplots()
    assert as_axes(mine) is mine
    assert as_axes(None, (5.0, 3.0)).get_figure().get_size_inches().tolist() == [5.0, 3.0]  # type: ignore[union-attr]
    with mistake("ax", "Figure"):
        as_axes(new_figure(2, 2))


def test_nothing_global_changes() -> None:
    before = dict(matplotlib.rcParams)
    axes = as_axes(None)
    tidy(axes, "both")
    bare(axes)
    assert dict(matplotlib.rcParams) == before


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    with mistake("", "foresolve[plot]", kind=MissingExtraError):
        as_axes(None)


def test_names_are_shortened_and_no_formulas() -> None:
    assert shortened("a  b\nc") == "a b c"
    assert len(shortened("x" * 99)) == 21
    assert shortened("$x^2$") == r"\$x^2\$"

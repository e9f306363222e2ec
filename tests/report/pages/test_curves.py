from __future__ import annotations

from importlib import resources

import pytest

from foresolve.report.pages.curves import DASHES, TICKS, TINTS, Curve, panel

STYLE = (resources.files("foresolve.report.pages") / "templates" / "page.css").read_text(encoding="utf-8")


def test_lines_go_from_the_first_epoch_to_the_last() -> None:
    made = panel("regret", [Curve("a", (4.0, 2.0, 1.0), 0), Curve("b", (3.0, 1.5, float("nan"), 2.0), 1)], best=2)
    assert made is not None
    assert made.epochs == (0, 4)
    first, second = ([tuple(map(float, p.split(","))) for p in made.points(c).split()] for c in made.curves)
    assert [x for x, _ in first] == [0.0, 25.0, 50.0]
    assert [x for x, _ in second] == [25.0, 50.0, 100.0]  # what is not known is left out
    assert first[0][1] < first[1][1] < first[2][1] <= 100  # larger is higher
    assert made.words == "regret: a from 4 to 1, least 1; b from 3 to 2, least 1.5."


def test_a_line_without_numbers_is_not_drawn() -> None:
    assert panel("", [Curve("a", (None, None))]) is None
    made = panel("", [Curve("a", (None,)), Curve("b", (1.0,))])
    assert made is not None
    assert [curve.name for curve in made.curves] == ["b"]
    low, high = made.scale
    assert low < 1.0 < high


def test_a_lone_number_is_a_dot_in_the_middle() -> None:
    made = panel("", [Curve("a", (1.0,))])
    assert made is not None
    assert made.points(made.curves[0]) == "50.0,50.0 50.0,50.0"
    assert made.styles == ["line-0 tint-0 lone"]
    last = panel("", [Curve("a", (None, None, 2.0)), Curve("b", (1.0, 2.0, 3.0))])
    assert last is not None
    assert [style.endswith("lone") for style in last.styles] == [True, False]


def test_no_two_lines_look_the_same() -> None:
    two_stage, focused = Curve("a", (1.0, 2.0), 1, "two-stage"), Curve("b", (1.0, 2.0), 1, "decision-focused")
    made = panel("", [two_stage, *[focused] * DASHES])
    assert made is not None
    assert made.styles[:2] == ["line-0 two-stage", "line-0 decision-focused"]
    assert len(set(made.styles)) == 1 + DASHES
    unknown = panel("", [Curve(str(i), (1.0, 2.0)) for i in range(DASHES * TINTS)])
    assert unknown is not None
    assert len(set(unknown.styles)) == DASHES * TINTS
    for i in range(DASHES):
        assert f".line-{i}" in STYLE or i == 0
    assert all(f".tint-{i}" in STYLE for i in range(TINTS))


def test_what_is_far_apart_is_on_a_log_scale_and_says_so() -> None:
    made = panel("error", [Curve("a", (1.0, 10.0, 100.0)), Curve("b", (0.5, 0.5))])
    assert made is not None
    assert made.log
    assert made.heading == "error, log scale"
    assert made.words.startswith("error, log scale: a from 1 to 100")
    first, second, third = (made.height(value) for value in (1.0, 10.0, 100.0))
    assert first - second == pytest.approx(second - third, abs=0.02)
    assert [label for _, label in made.ticks] == ["1", "10", "100"]
    assert all(0 <= at <= 100 for at, _ in made.ticks)
    near = panel("error", [Curve("a", (1.0, 4.0)), Curve("b", (2.0, None))])
    zero = panel("error", [Curve("a", (0.0, 100.0))])
    assert near is not None
    assert zero is not None
    assert not near.log
    assert not zero.log  # zero has no logarithm
    assert zero.heading == "error"


@pytest.mark.parametrize("largest", [5.0, 30.0, 1e4, 1e30, 1e300])
def test_a_log_scale_has_some_ticks_and_not_too_many(largest: float) -> None:
    made = panel("", [Curve("a", (1.0, largest))])
    assert made is not None
    assert 2 <= len(made.ticks) <= TICKS

from __future__ import annotations

import math

from foresolve.report.pages.forest import Difference, Forest, rounds, shared

ONE = Difference("a", "b", 1.0, 0.5, 1.5)
TWO = Difference("c", "b", 3.0, -1.0, 7.0, "heuristic")
WORSE = Difference("d", "b", -2.0, -3.0, -1.0)


def test_differences_stand_by_size_on_one_scale_with_zero() -> None:
    forest = Forest("", (ONE, WORSE, TWO))
    assert [mark.difference.method for mark in forest.marks] == ["c", "a", "d"]
    low, high = forest.scale
    assert low < -3.0 < 0.0 < 7.0 < high
    for mark in forest.marks:
        assert mark.start is not None
        assert mark.end is not None
        assert 0 <= mark.start < mark.at < mark.end <= 100
    assert forest.place(low) == 0.0
    assert forest.place(high) == 100.0
    assert forest.place(0.0) < forest.place(1.0)  # what is better is to the right
    assert [mark.at > forest.place(0.0) for mark in forest.marks] == [True, True, False]
    assert forest.roles == ["decision-focused", "heuristic"]


def test_zero_is_on_the_axis_where_all_are_on_one_side() -> None:
    low, high = Forest("", (ONE,)).scale
    assert low < 0.0 < 1.5 < high
    assert "0" in [text for _, text in Forest("", (WORSE,)).ticks]


def test_verdicts_follow_the_interval() -> None:
    assert [d.verdict for d in (ONE, TWO, WORSE)] == ["better", "no significant difference", "worse"]
    assert Difference("a", "b", 1.0, None, None).verdict == "no interval"


def test_what_is_not_bounded_or_has_no_interval() -> None:
    (mark,) = Forest("", (Difference("a", "b", 1.0, -math.inf, 2.0),)).marks
    assert (mark.start, mark.interval) == (0.0, "[not bounded, +2]")
    (mark,) = Forest("", (Difference("a", "b", 0.0, None, None),)).marks
    assert (mark.start, mark.end, mark.interval, mark.number) == (None, None, "", "0")


def test_another_unit() -> None:
    (changed,) = shared([ONE], 10.0)
    assert (changed.mean, changed.low, changed.high, changed.method) == (10.0, 5.0, 15.0, "a")


def test_round_numbers_lie_within() -> None:
    for low, high in ((-0.2, 1.0), (-3e-7, 1e-7), (-1234.0, 50000.0), (-1.0, 1.0)):
        ticks = rounds(low, high)
        assert 0.0 in ticks
        assert 2 <= len(ticks) <= 7
        assert all(low <= tick <= high for tick in ticks)


def test_zero_has_no_sign_of_its_own() -> None:
    (mark,) = Forest("", (Difference("a", "b", -0.0, -0.0, 0.0),)).marks
    assert (mark.number, mark.interval) == ("0", "[0, 0]")

from __future__ import annotations

from foresolve.report.pages.curves import Curve, panel


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
    assert made.across(1) == 0.0
    low, high = made.scale
    assert low < 1.0 < high

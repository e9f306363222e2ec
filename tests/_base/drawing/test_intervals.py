from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from drawn import labels, overlaps
from foresolve._base.drawing import legends
from foresolve._base.drawing.canvas import as_axes
from foresolve._base.drawing.intervals import (
    Row,
    difference_marks,
    draw_differences,
    draw_rows,
    point_to_better,
    signed,
)
from foresolve._base.drawing.palette import PAPER

ROWS = [Row("worse", -2.0, -3.0, -1.0, "two-stage"), Row("better", 1.0, 0.5, 1.5, "decision-focused"),
        Row("open", 0.5, -math.inf, 1.0), Row("unknown", 0.1)]  # fmt: skip


def test_differences_are_sorted_and_the_zero_is_seen() -> None:
    axes = as_axes(None, (7.0, 3.0))
    draw_differences(axes, ROWS, label="saved")
    point_to_better(axes)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["better", "open", "unknown", "worse"]
    low, high = axes.get_xlim()
    assert low < -3.0
    assert high > 1.5
    assert "better →" in [text.get_text() for text in axes.texts]
    assert "← worse" in [text.get_text() for text in axes.texts]
    assert "+1 [+0.5, +1.5]" in [text.get_text() for text in axes.texts]
    assert "+0.5 [unbounded, +1]" in [text.get_text() for text in axes.texts]
    legends.under(axes, difference_marks(ROWS))
    assert overlaps(axes.get_figure()) == []


def test_what_has_zero_inside_is_hollow() -> None:
    axes = as_axes(None)
    draw_differences(axes, ROWS)
    faces = {line.get_ydata()[0]: line.get_markerfacecolor() for line in axes.get_lines() if line.get_marker() in "os"}
    assert [faces[height] == PAPER for height in (0, 1, 2, 3)] == [False, True, True, False]
    assert "hollow: no significant difference" in [mark.get_label() for mark in difference_marks(ROWS)]
    assert [mark.get_label() for mark in difference_marks([Row("a", 1.0)])] == ["hollow, alone: no interval"]


def test_a_verdict_is_that_of_the_interval_and_of_a_test_beside_it() -> None:
    assert [row.verdict for row in ROWS] == ["worse", "better", "no significant difference", "no interval"]
    doubted = replace(ROWS[1], tested=False)
    assert doubted.verdict == "no significant difference"
    axes = as_axes(None)
    draw_differences(axes, [ROWS[1], replace(doubted, mean=0.9)])
    assert [line.get_markerfacecolor() == PAPER for line in axes.get_lines() if line.get_marker() == "o"] == [
        False,
        True,
    ]


def test_another_unit_and_a_context_below_the_name() -> None:
    row = Row("a − b", 2.0, 1.0, None, context="a domain").scaled(10.0)
    assert (row.mean, row.low, row.high) == (20.0, 10.0, None)
    axes = as_axes(None)
    draw_rows(axes, [row], number=signed)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a − b\na domain"]


def test_numbers_have_minus_signs() -> None:
    assert ROWS[0].text(signed) == "−2 [−3, −1]"


def test_intervals_lie_over_their_markers_and_have_caps_where_they_end_inside() -> None:
    axes = as_axes(None)
    draw_rows(axes, [Row("a", 5.0, 1.0, 6.0)], number=signed, limits=(2.0, 8.0))
    marker, interval, caps = axes.get_lines()
    assert interval.get_zorder() > marker.get_zorder()
    assert np.asarray(interval.get_xdata()).tolist() == [2.0, 6.0]
    assert np.asarray(caps.get_xdata()).tolist() == [6.0]


def test_means_outside_are_arrows_at_the_edge() -> None:
    axes = as_axes(None)
    draw_rows(axes, [Row("low", 0.0, -1.0, 1.0), Row("high", 9.0, 8.5, 9.5)], number=signed, limits=(2.0, 8.0))
    markers = [(line.get_marker(), line.get_xdata()[0]) for line in axes.get_lines()]
    assert markers == [("<", 2.0), (">", 8.0)]


def test_published_figures_are_diamonds_beside_ours() -> None:
    axes = as_axes(None)
    draw_rows(axes, [Row("a", 5.0, 4.0, 6.0, published=(5.5, 0.5)), Row("b", 5.0, published=(50.0, 1.0))],
              number=signed, limits=(0.0, 10.0))  # fmt: skip
    diamonds = [line for line in axes.get_lines() if line.get_marker() == "D"]
    assert [line.get_xdata()[0] for line in diamonds] == [5.5]
    assert diamonds[0].get_markerfacecolor() == "none"


def test_one_number_alone_has_room() -> None:
    axes = as_axes(None)
    draw_rows(axes, [Row("a", 0.0)], number=signed)
    assert axes.get_xlim()[0] < 0 < axes.get_xlim()[1]
    assert labels(axes.get_legend()) == []

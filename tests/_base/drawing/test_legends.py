from __future__ import annotations

from drawn import labels, overlaps
from foresolve._base.drawing import legends
from foresolve._base.drawing.canvas import as_axes, new_figure
from foresolve._base.drawing.palette import COLORS, ROLES


def test_roles_are_explained_once_in_one_order() -> None:
    marks = legends.role_marks(["two-stage", None, "bound", "decision-focused", "two-stage"])
    assert [mark.get_label() for mark in marks] == [
        legends.WORDS[r] for r in ("decision-focused", "two-stage", "bound")
    ]
    assert [mark.get_color() for mark in legends.role_marks(ROLES)] == [COLORS[role] for role in ROLES]


def test_the_legend_of_axes_stands_under_their_labels() -> None:
    for label, ticks in (("x", [0, 1]), ("", [0, 1]), ("", [])):
        axes = as_axes(None)
        axes.set_xlabel(label)
        axes.set_xticks(ticks)
        legends.under(axes, legends.role_marks(ROLES))
        figure = axes.get_figure()
        assert overlaps(figure) == []
        legend = axes.get_legend()
        assert legend is not None
        assert legend.get_window_extent().y1 <= axes.get_window_extent().y0
    legends.under(axes, [])  # nothing to explain


def test_the_legend_of_a_figure_has_as_many_columns_as_fit() -> None:
    for width in (3.0, 12.0):
        figure = new_figure(width, 3.0)
        figure.subplots().plot([0, 1])
        legends.below(figure, legends.role_marks(ROLES))
        figure.draw_without_rendering()
        box = figure.legends[0].get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= figure.get_window_extent().x1
        assert labels(figure.legends[0]) == [legends.WORDS[role] for role in ROLES]

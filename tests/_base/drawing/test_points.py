from __future__ import annotations

from drawn import overlaps
from foresolve._base.drawing.canvas import as_axes
from foresolve._base.drawing.points import name_points


def test_names_of_near_points_stay_apart() -> None:
    axes = as_axes(None)
    points = [(1.0, 1.0), (1.01, 1.01), (1.02, 0.99), (2.0, 2.0), (2.0, 2.02), (3.0, 1.0)]
    axes.plot(*zip(*points), "o")
    axes.margins(0.2)
    texts = name_points(axes, points, [f"method {i}" for i in range(len(points))])
    assert [text.get_text() for text in texts] == [f"method {i}" for i in range(6)]
    assert overlaps(axes.get_figure()) == []
    frame = axes.get_window_extent()
    assert all(frame.x0 <= text.get_window_extent().x0 <= text.get_window_extent().x1 <= frame.x1 for text in texts)


def test_every_point_is_named_even_without_room() -> None:
    axes = as_axes(None, (1.5, 1.0))
    texts = name_points(axes, [(0.5, 0.5)] * 9, [f"a long name {i}" for i in range(9)])
    assert len(texts) == len(axes.texts) == 9

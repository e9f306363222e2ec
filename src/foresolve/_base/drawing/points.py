"""Named points whose names do not cover each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from foresolve._base.drawing.canvas import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Place = tuple[int, int, str, str]


class Box(NamedTuple):
    """A box in pixels."""

    x0: float
    y0: float
    x1: float
    y1: float


# Where a name may stand: to the right, the left, above, below, and further away.
_PLACES = [(7, 0, "left", "center"), (-7, 0, "right", "center"), (0, 7, "center", "bottom"), (0, -7, "center", "top")]
_PLACES += [
    (side * away, y, "left" if side > 0 else "right", "center")
    for away in (9, 30, 60)
    for y in (11, -11, 22, -22, 33, -33, 44, -44, 55, -55)
    for side in (1, -1)
]
REACH = 3.0  # of a point, in pixels


def name_points(ax: Axes, points: Sequence[tuple[float, float]], names: Sequence[str]) -> list[Any]:
    """Write each name beside its point, where it covers no other name and no other point.

    Call it last: it goes by where things stand. A name for which there is no room is put where it covers least.
    """
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    marks = ax.transData.transform(np.asarray(points, dtype=float))
    frame, unit, taken, texts = ax.get_window_extent(), figure.dpi / 72, [], []
    for mark, point, name in zip(marks, points, names, strict=True):
        first = _named(ax, point, name, _PLACES[0])
        size = first.get_window_extent()
        first.remove()
        boxes = [_box(mark, size.width, size.height, place, unit) for place in _PLACES]
        covered = [_covered(box, taken, marks, frame) for box in boxes]
        best = covered.index(min(covered))
        taken.append(boxes[best])
        texts.append(_named(ax, point, name, _PLACES[best]))
    return texts


def _named(ax: Axes, point: tuple[float, float], name: str, place: Place) -> Any:
    x, y, across, along = place
    line = {"arrowstyle": "-", "linewidth": 0.5, "shrinkB": 3} if abs(y) > 10 else None
    text = ax.annotate(
        shortened(name, 26), point, (x, y), textcoords="offset points", ha=across, va=along, fontsize=8,
        annotation_clip=False, arrowprops=line,
    )  # fmt: skip
    text.set_in_layout(False)
    return text


def _box(mark: np.ndarray, width: float, height: float, place: Place, unit: float) -> Box:
    """Where a name of this size is, in pixels."""
    x, y, across, along = place
    left = mark[0] + unit * x - width * {"left": 0.0, "center": 0.5, "right": 1.0}[across]
    bottom = mark[1] + unit * y - height * {"bottom": 0.0, "center": 0.5, "top": 1.0}[along]
    return Box(left, bottom, left + width, bottom + height)


def _covered(box: Any, taken: Sequence[Any], marks: np.ndarray, frame: Any) -> float:
    """How much of a name is over other names, over points, or beyond the frame, in squared pixels."""
    size = (box.x1 - box.x0) * (box.y1 - box.y0)
    lower, upper = marks - REACH, marks + REACH
    points = _shared(box, lower[:, 0], lower[:, 1], upper[:, 0], upper[:, 1]).sum()
    names = sum(float(_shared(box, other.x0, other.y0, other.x1, other.y1)) for other in taken)
    return names + float(points) + size - float(_shared(box, frame.x0, frame.y0, frame.x1, frame.y1))


def _shared(box: Any, x0: Any, y0: Any, x1: Any, y1: Any) -> Any:
    """The area that boxes have in common."""
    width = np.minimum(box.x1, x1) - np.maximum(box.x0, x0)
    return np.maximum(width, 0.0) * np.maximum(np.minimum(box.y1, y1) - np.maximum(box.y0, y0), 0.0)

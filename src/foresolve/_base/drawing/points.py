"""Named points whose names do not cover each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from foresolve._base.drawing.canvas import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Where a name may stand: to the right, the left, above, below, and further away.
_PLACES = [(7, 0, "left", "center"), (-7, 0, "right", "center"), (0, 7, "center", "bottom"), (0, -7, "center", "top")]
_PLACES += [(9, y, "left", "center") for y in (11, -11, 22, -22, 33, -33)]
_PLACES += [(-9, y, "right", "center") for y in (11, -11, 22, -22, 33, -33)]


def name_points(ax: Axes, points: Sequence[tuple[float, float]], names: Sequence[str]) -> list[Any]:
    """Write each name beside its point, where it covers no other name and no other point.

    Call it last: it goes by where things stand. A name for which there is no room is left near its point.
    """
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    marks = ax.transData.transform(np.asarray(points, dtype=float))
    frame, taken, texts = ax.get_window_extent(), [], []
    for point, name in zip(points, names, strict=True):
        candidates = [_named(ax, point, name, place) for place in _PLACES]
        boxes = [text.get_window_extent() for text in candidates]
        free = [
            not any(box.overlaps(other) for other in taken) and not _inside(marks, box).any() and _holds(frame, box)
            for box in boxes
        ]
        best = free.index(True) if any(free) else 0
        for place, text in enumerate(candidates):
            if place != best:
                text.remove()
        taken.append(boxes[best])
        texts.append(candidates[best])
    return texts


def _named(ax: Axes, point: tuple[float, float], name: str, place: tuple[int, int, str, str]) -> Any:
    x, y, across, along = place
    line = {"arrowstyle": "-", "linewidth": 0.5, "shrinkB": 3} if abs(y) > 10 else None
    text = ax.annotate(
        shortened(name, 26), point, (x, y), textcoords="offset points", ha=across, va=along, fontsize=8,
        annotation_clip=False, arrowprops=line,
    )  # fmt: skip
    text.set_in_layout(False)
    return text


def _holds(frame: Any, box: Any) -> bool:
    return frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1


def _inside(marks: np.ndarray, box: Any) -> np.ndarray:
    return (marks[:, 0] > box.x0) & (marks[:, 0] < box.x1) & (marks[:, 1] > box.y0) & (marks[:, 1] < box.y1)

"""What tests of pictures look at."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from matplotlib.text import Text


def labels(legend: Any) -> list[str]:
    """The texts of a legend."""
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def overlaps(figure: Any, least: float = 2.0) -> list[tuple[str, str]]:
    """Pairs of texts that cover each other by more than `least` pixels in both directions."""
    figure.draw_without_rendering()
    unseen = set()
    for axes in figure.axes:
        for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            for tick in axis.get_major_ticks():
                inside = min(limits) <= tick.get_loc() <= max(limits)
                unseen |= {id(tick.label2)} if inside else {id(tick.label1), id(tick.label2)}
    texts = [
        text
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and id(text) not in unseen
        if text.axes is None or text.axes.axison
    ]
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    found = []
    for (first, a), (second, b) in combinations(boxes, 2):
        width, height = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        if width > least and height > least:
            found.append((first, second))
    return found

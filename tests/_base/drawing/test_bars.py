from __future__ import annotations

import numpy as np
import pytest

from drawn import overlaps
from foresolve._base.drawing.bars import draw_bars, mark_bars
from foresolve._base.drawing.canvas import as_axes
from foresolve._base.drawing.palette import CHOSEN


@pytest.mark.parametrize(
    ("values", "marks"),
    [([1.0, 2.0], [5.0, 6.0]), ([-1.0, 2.0], [3.0, 4.0]), ([1.0, 2.0], [-3.0, 4.0]), ([-1.0, -2.0], [1.0, 2.0]),
     ([0.0, 0.0], [0.0, 0.0]), ([-1.0, -2.0], [-1.0, -2.0])],
)  # fmt: skip
def test_both_axes_have_their_zero_at_one_place_and_show_all(values: list[float], marks: list[float]) -> None:
    axes = as_axes(None)
    draw_bars(axes, ["a", "b"], np.array(values), [CHOSEN] * 2, "x")
    mark_bars(axes, np.array(marks), "theta")
    figure = axes.get_figure()
    assert figure is not None
    above = figure.axes[1]
    share = [-low / (high - low) for low, high in (axes.get_xlim(), above.get_xlim())]
    assert share[0] == pytest.approx(share[1])
    for numbers, (low, high) in ((values, axes.get_xlim()), (marks, above.get_xlim())):
        assert low <= min(numbers)
        assert max(numbers) <= high
    assert overlaps(figure) == []

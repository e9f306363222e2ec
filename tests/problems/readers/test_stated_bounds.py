from __future__ import annotations

import numpy as np
import pytest

from foresolve.problems.readers.source import Source
from foresolve.problems.readers.stated_bounds import StatedBounds
from mistakes import mistake

INF = float("inf")


@pytest.fixture
def bounds() -> StatedBounds:
    return StatedBounds(Source("model", ("x <= 4", "x >= 1", "y <= -2")))


def test_what_is_not_stated_is_not_negative(bounds: StatedBounds) -> None:
    bounds.state(1, 0, upper=4.0)
    bounds.state(2, 0, lower=1.0)
    bounds.state(3, 2, lower=-INF, upper=INF)
    lower, upper = bounds.arrays(3, "")
    assert lower.tolist() == [1.0, 0.0, -np.inf]
    assert upper.tolist() == [4.0, np.inf, np.inf]


def test_a_side_is_stated_once(bounds: StatedBounds) -> None:
    bounds.state(1, 0, upper=4.0)
    with mistake("path", "line 2: an upper"):
        bounds.state(2, 0, lower=1.0, upper=4.0)


@pytest.mark.parametrize("side", [{"lower": INF}, {"lower": 1e20}, {"upper": -INF}, {"upper": -1e30}])
def test_nothing_satisfies_an_infinite_bound(bounds: StatedBounds, side: dict[str, float]) -> None:
    with mistake("path", "line 1: ", "infinite"):
        bounds.state(1, 0, **side)


def test_a_negative_upper_bound_alone_is_ambiguous(bounds: StatedBounds) -> None:
    bounds.state(3, 1, upper=-2.0)
    with mistake("path", "line 3: ", "y <= -2", "Say which"):
        bounds.arrays(2, "Say which")
    bounds.state(1, 1, lower=-INF)
    assert bounds.arrays(2, "")[1].tolist() == [np.inf, -2.0]

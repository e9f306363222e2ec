from __future__ import annotations

import numpy as np
import pytest

from foresolve.report.out_weights import r_squared, weights
from mistakes import mistake


def test_r_squared() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random(50), rng.random(50)
    assert r_squared(x, y) == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)
    assert r_squared(x, 100 - 3 * x) == pytest.approx(1.0)
    assert r_squared(x, np.full(50, 0.1)) is None
    assert r_squared(np.zeros(50), y) is None


def test_weights_are_flat_and_of_one_size() -> None:
    true, predicted = weights({"true_weight": np.ones((2, 3)), "predicted_weight": np.zeros((2, 3))}, "a")
    assert true.shape == predicted.shape == (6,)
    with mistake("predicted_weight of a"):
        weights({"true_weight": np.ones((2, 3)), "predicted_weight": np.zeros(3)}, "a")

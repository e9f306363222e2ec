from __future__ import annotations

import numpy as np
import pytest
import torch

from foresolve.learning.deployment.spread import LEVELS, Spread, columns_of


def test_figures() -> None:
    table = np.random.default_rng(0).normal(size=(1001, 2)) * [1.0, 5.0]
    spread = Spread.of(table, ["a", "b"])
    assert (spread.names, spread.count) == (("a", "b"), 1001)
    np.testing.assert_allclose(spread.mean, table.mean(0))
    np.testing.assert_allclose(spread.deviation, table.std(0, ddof=1))
    np.testing.assert_allclose(spread.low, table.min(0))
    np.testing.assert_allclose(spread.cuts[-1], table.max(0))
    np.testing.assert_allclose(spread.cuts[10], np.median(table, 0))
    np.testing.assert_allclose(spread.up_to[:, 0], np.linspace(0, 1, LEVELS), atol=2e-3)
    below, up_to = spread.shares(table)
    np.testing.assert_array_equal(below, spread.below)
    np.testing.assert_array_equal(up_to, spread.up_to)


def test_numbers_that_repeat() -> None:
    """The quantiles of 0/1 are 0 and 1; the shares tell how many there are of each."""
    flags = (np.arange(10) < 3).astype(float)
    spread = Spread.of(flags)
    assert spread.names == ("0",)
    zero = spread.cuts[:, 0] == 0
    assert spread.below[zero].unique().tolist() == [0.0]
    assert spread.up_to[zero].unique().tolist() == [0.7]
    assert spread.below[~zero].unique().tolist() == pytest.approx([0.7])


def test_shapes() -> None:
    assert [tuple(part.shape) for part in columns_of((torch.zeros(4), {"x": torch.zeros(4, 5, 2)}))] == [
        (4, 1, 1),
        (4, 5, 2),
    ]
    long = Spread.of(torch.rand(6, 5, 2), ["a", "b"])
    assert (long.count, long.names) == (6, ("a", "b"))  # instances, not rows
    assert Spread.of((torch.rand(6, 2), torch.rand(6, 3, 1))).names == ("0", "1", "2")
    assert Spread.of(torch.rand(1, 2)).deviation.tolist() == [0.0, 0.0]


def test_files_claim_anything() -> None:
    config = Spread.of(torch.rand(6, 2)).config()
    assert Spread.from_config(config).names == ("0", "1")
    for change in ({"cuts": torch.zeros(3, 2)}, {"count": -1}, {"names": ["a"]}, {"low": [1.0]}):
        with pytest.raises((ValueError, TypeError)):
            Spread.from_config(config | change)

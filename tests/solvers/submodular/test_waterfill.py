from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from foresolve.solvers.submodular.waterfill import Segments, waterfill

EPS = np.finfo(np.float64).eps


def exact(y: list[float], v: list[float], c: float) -> list[Fraction]:
    """`clip(y - t, 0, v)` with the total `c` in rational arithmetic; all `v` where their sum does not exceed `c`."""
    ys, vs, total = [Fraction(a) for a in y], [Fraction(a) for a in v], Fraction(c)
    if sum(vs) <= total:
        return vs

    def values(t: Fraction) -> list[Fraction]:
        return [max(Fraction(0), min(b, a - t)) for a, b in zip(ys, vs, strict=True)]

    points = sorted({*ys, *(a - b for a, b in zip(ys, vs, strict=True))}, reverse=True)
    for high, low in pairwise(points):
        above, below = sum(values(high)), sum(values(low))
        if above <= total <= below and below > above:
            return values(high + (low - high) * (total - above) / (below - above))
    assert total == 0
    return [Fraction(0)] * len(y)


def check(y: Tensor, v: Tensor, label: np.ndarray, totals: Tensor) -> None:
    t, x = waterfill(y, v, Segments.of(label, len(totals)), totals)
    assert not t.isnan().any()
    for row in range(len(y)):
        for s, total in enumerate(totals.tolist()):
            inside = np.flatnonzero(label == s)
            wanted = [float(a) for a in exact(y[row, inside].tolist(), v[row, inside].tolist(), total)]
            scale = 1 + float(v[row, inside].sum())
            assert np.abs(x[row, inside].numpy() - wanted).max(initial=0) <= 8 * EPS * scale * (1 + len(inside))
            assert torch.isneginf(t[row, s]) == bool(v[row, inside].sum() <= total)
        outside = np.flatnonzero(label < 0)
        assert torch.equal(x[row, outside], v[row, outside])


@given(
    seed=st.integers(0, 100_000),
    segments=st.integers(1, 4),
    loose=st.booleans(),
    ties=st.booleans(),
    unit=st.booleans(),
    spread=st.sampled_from([0.0, 0.0, 9.0]),
)
def test_against_rational_arithmetic(
    seed: int, segments: int, loose: bool, ties: bool, unit: bool, spread: float
) -> None:
    """Also for numbers of sizes from 1e-9 to 1e9 side by side."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    y = rng.normal(size=(3, n)) * 10.0 ** rng.uniform(-spread, spread, n)
    v = np.ones((3, n)) if unit else rng.random((3, n)) * rng.integers(0, 2, (3, n))
    if ties:
        y, v = np.round(2 * y) / 2, np.round(4 * v) / 4
    totals = rng.integers(0, 4, segments) * (1.0 if unit else 0.4)
    label = rng.integers(-1 if loose else 0, segments, n)
    check(torch.from_numpy(y), torch.from_numpy(v), label, torch.from_numpy(totals))


def test_huge_and_tiny_numbers_side_by_side() -> None:
    y = torch.tensor([[1e8, 1e8 - 0.25, 1e-8, 2e-8, -1e8], [1e8, 1e-8, 2e-8, 0.0, -1e8]], dtype=torch.float64)
    v = torch.ones(2, 5, dtype=torch.float64)
    for total in (1.0, 1.5, 2.0, 3.0, 4.0):
        check(y, v, np.zeros(5, dtype=int), torch.tensor([total], dtype=torch.float64))


def test_a_whole_number_of_items_is_met_exactly() -> None:
    """With a gap of more than 1 behind the k-th item the answer is 0/1, without a trace of rounding."""
    generator = torch.Generator().manual_seed(0)
    y = torch.rand(200, 12, generator=generator, dtype=torch.float64) * 0.7
    y[:, :5] += 2.3
    t, x = waterfill(y, torch.ones_like(y), Segments.of(np.zeros(12), 1), torch.tensor([5.0], dtype=torch.float64))
    assert torch.equal(x, (torch.arange(12) < 5).double().expand(200, -1))
    margin = torch.minimum(y[:, :5].amin(1) - 1 - t[:, 0], t[:, 0] - y[:, 5:].amax(1))
    assert (margin > 0.1).all()


@pytest.mark.parametrize("sizes", [(1, 60, 0, 3), (0, 0, 64), (16,) * 4])
def test_segments_are_independent_of_each_other(sizes: tuple[int, ...]) -> None:
    label = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    generator = torch.Generator().manual_seed(1)
    y, v = (torch.rand(4, 64, generator=generator, dtype=torch.float64) for _ in range(2))
    totals = torch.tensor([0.5 * size / 2 for size in sizes], dtype=torch.float64)
    t, x = waterfill(3 * y, v, Segments.of(label, len(sizes)), totals)
    for s in range(len(sizes)):
        inside = np.flatnonzero(label == s)
        alone = waterfill(3 * y[:, inside], v[:, inside], Segments.of(np.zeros(len(inside)), 1), totals[s : s + 1])
        torch.testing.assert_close(t[:, s], alone[0][:, 0], rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(x[:, inside], alone[1], rtol=1e-12, atol=1e-13)


def test_an_empty_batch() -> None:
    y = torch.zeros(0, 3, dtype=torch.float64)
    t, x = waterfill(y, y, Segments.of(np.array([0, 1, 1]), 2), torch.ones(2, dtype=torch.float64))
    assert t.shape == (0, 2)
    assert x.shape == (0, 3)

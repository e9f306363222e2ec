"""The lists of products make up `C D C'`, in an order that keeps it near its diagonal."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import torch

from foresolve.solvers.projection import sparse_pattern
from foresolve.solvers.projection.sparse_pattern import Pattern


def draw(seed: int, m: int = 9, n: int = 14, density: float = 0.3) -> tuple[Pattern, scipy.sparse.coo_array]:
    rng = np.random.default_rng(seed)
    dense = rng.standard_normal((m, n)) * (rng.random((m, n)) < density)
    dense[m // 2] = 0  # a row without entries
    entries = scipy.sparse.coo_array(dense)
    index = torch.from_numpy(np.stack(entries.coords).astype(np.int64))
    return Pattern(m, n, index), entries


def path(n: int) -> Pattern:
    """Rows that each share a variable with the next, in a random order."""
    names = np.random.default_rng(0).permutation(n)
    rows = np.concatenate([names, names[1:]])
    columns = np.concatenate([np.arange(n), np.arange(n - 1)])
    return Pattern(n, n, torch.from_numpy(np.stack([rows, columns])))


@pytest.mark.parametrize("seed", range(8))
def test_the_products_add_up_to_the_gram_matrix(seed: int) -> None:
    pattern, entries = draw(seed)
    d = np.random.default_rng(seed + 50).random(pattern.n) + 0.5
    products = entries.data[pattern.first] * entries.data[pattern.second] * d[pattern.variable]
    lower = np.bincount(pattern.target, products, minlength=len(pattern.position))
    matrix = np.zeros(pattern.m * pattern.m)
    matrix[pattern.position] = lower
    matrix = matrix.reshape(pattern.m, pattern.m)
    dense = entries.toarray()
    gram = ((dense * d) @ dense.T)[np.ix_(pattern.inverse_order, pattern.inverse_order)]
    np.testing.assert_allclose(matrix, np.tril(gram), atol=1e-12)
    assert (pattern.below >= pattern.above).all()
    assert pattern.below[pattern.on_diagonal].tolist() == list(range(pattern.m))


def test_the_order_is_a_permutation_and_finds_a_short_band() -> None:
    pattern = path(200)
    assert sorted(pattern.order.tolist()) == list(range(200))
    assert pattern.bandwidth == 1
    assert pattern.kind == "band"
    assert pattern.pairs == 4 * 199 + 1


def test_how_a_matrix_is_factorized_follows_its_size_and_its_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    assert path(20).kind == "dense"  # too small for a band to pay
    full = Pattern(80, 1, torch.stack([torch.arange(80), torch.zeros(80, dtype=torch.int64)]))
    assert full.kind == "dense"
    monkeypatch.setattr(sparse_pattern, "DENSE_ROWS", 50)
    large = Pattern(80, 1, full.index)
    assert large.kind == "sparse"
    monkeypatch.setattr(sparse_pattern, "PAIR_LIMIT", 100)
    assert path(200).kind == "sparse"


def star(arms: int, length: int) -> Pattern:
    """Paths of rows that meet in one: no order makes a narrow band of that, elimination from the tips fills nothing."""
    inner = np.arange(arms * length).reshape(arms, length)
    first = np.concatenate([inner[:, :-1].ravel(), inner[:, -1]])
    second = np.concatenate([inner[:, 1:].ravel(), np.full(arms, arms * length)])
    columns = np.arange(len(first))
    index = np.stack([np.concatenate([first, second]), np.concatenate([columns, columns])])
    return Pattern(arms * length + 1, len(columns), torch.from_numpy(index))


def test_a_matrix_whose_factor_stays_sparse_is_never_filled() -> None:
    assert star(60, 10).kind == "sparse"


def test_a_long_column_is_taken_out_of_the_products() -> None:
    m = 400
    index = np.stack([np.tile(np.arange(m), 2), np.concatenate([np.arange(m), np.full(m, m)])])
    pattern = Pattern(m, m + 1, torch.from_numpy(index))
    assert pattern.long.tolist() == list(range(m, 2 * m))
    assert pattern.rest.pairs == m
    assert pattern.kind == "sparse"  # the diagonal and one edge, where C D C' is full
    short = path(50)
    assert short.rest is short

"""Sparse elimination of variables and rows together."""

from __future__ import annotations

import numpy as np
import torch

from foresolve.solvers.projection.saddle import SaddleTerms
from foresolve.solvers.projection.sparse_metric import SparseMetric, SymmetricPattern
from solvers.projection.saddles import dense_step, metric_of, right_side, rows_of, terms_of


def test_a_pattern_is_worked_out_once_for_the_same_rows() -> None:
    pattern = SymmetricPattern(2, torch.tensor([[0, 1], [0, 1]]))
    rows, _ = rows_of(0, 3, 2, sparse=True)
    others, _ = rows_of(1, 3, 2)
    first = pattern.with_rows(rows)
    assert pattern.with_rows(rows) is first
    assert pattern.with_rows(others) is not first
    assert pattern.lower.tolist() == []


def test_one_pattern_serves_rows_in_turn() -> None:
    """What is kept for some rows is not used for others."""
    metric, H = metric_of("sparse", 0, 9)
    for seed, sparse in ((0, True), (1, False), (0, True), (2, True)):
        rows, C = rows_of(seed, 3, 9, sparse=sparse)
        terms = terms_of(seed, rows, 2, masked=seed > 0, weighted=True)
        r, p = right_side(seed, terms)
        for ours, theirs in zip(metric.system(terms).step(r, p), dense_step(H, C, terms, r, p), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_dependent_rows_go_through() -> None:
    metric, H = metric_of("sparse", 1, 9)
    rows, C = rows_of(1, 2, 9)
    twice = type(rows)(np.concatenate([rows.values, rows.values]))
    e = np.full((1, 4), 1e-9)
    terms = SaddleTerms(twice, np.ones((1, 9)), e)
    rng = np.random.default_rng(0)
    r, p = rng.standard_normal((1, 9)), rng.standard_normal((1, 2))
    dx, dy = metric.system(terms).step(r, np.concatenate([p, p], -1))
    half = SaddleTerms(rows, np.ones((1, 9)), np.full((1, 2), 5e-10))
    expected = dense_step(H, C, half, r, p)
    np.testing.assert_allclose(dx, expected[0], atol=1e-7)
    np.testing.assert_allclose(dy[:, :2] + dy[:, 2:], expected[1], atol=1e-6)


def test_a_matrix_without_entries() -> None:
    pattern = SymmetricPattern(3, torch.zeros(2, 0, dtype=torch.long))
    metric = SparseMetric(np.full((1, 3), 2.0), np.zeros((1, 0)), pattern)
    np.testing.assert_array_equal(metric.apply(np.ones((2, 3))), np.full((2, 3), 2.0))
    np.testing.assert_array_equal(metric.h, np.full((1, 3), 2.0))
    rows, _ = rows_of(0, 0, 3)
    dx, _ = metric.system(SaddleTerms(rows, np.ones((2, 3)), np.zeros((2, 0)))).step(np.ones((2, 3)), np.zeros((2, 0)))
    np.testing.assert_allclose(dx, 0.5)

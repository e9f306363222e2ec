"""The saddle point system that a metric factorizes is the one that is stated."""

from __future__ import annotations

import numpy as np
import pytest

from foresolve.solvers.projection.saddle import filled
from solvers.projection.saddles import KINDS, dense_step, metric_of, right_side, rows_of, terms_of


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("masked", "weighted"), [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("sparse", [True, False])
def test_a_step_solves_the_stated_system(kind: str, masked: bool, weighted: bool, sparse: bool) -> None:
    for seed, (n, batch, own) in enumerate([(7, 1, False), (20, 3, False), (20, 3, True), (20, 1, True)]):
        metric, H = metric_of(kind, seed, n, batch if own else 1)
        rows, C = rows_of(seed, 4, n, sparse=sparse, batch=3 if own and batch == 3 else 0)
        share = 0.4 if seed == 2 else 0.8
        terms = terms_of(seed, rows, batch, masked=masked, weighted=weighted, free_share=share)
        r, p = right_side(seed, terms)
        expected = dense_step(H, C, terms, r, p)
        system = metric.system(terms)
        dx, dy = system.step(r, p)
        np.testing.assert_allclose(dx, expected[0], atol=1e-9)
        np.testing.assert_allclose(dy, expected[1], atol=1e-9)
        z, pull = system.push(p)  # what takes `p` off the rows
        dx, dy = dense_step(H, C, terms, np.zeros_like(r), -p)
        np.testing.assert_allclose(z, dy, atol=1e-9)
        np.testing.assert_allclose(pull, -dx, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_no_rows_and_no_free_variables(kind: str) -> None:
    metric, H = metric_of(kind, 0, 6)
    rows, C = rows_of(0, 0, 6)
    terms = terms_of(0, rows, 2, masked=False, weighted=False)
    r = np.random.default_rng(0).standard_normal((2, 6))
    dx, dy = metric.system(terms).step(r, np.zeros((2, 0)))
    np.testing.assert_allclose(dx, dense_step(H, C, terms, r, np.zeros((2, 0)))[0], atol=1e-10)
    assert dy.shape == (2, 0)
    rows, C = rows_of(0, 3, 6)
    terms = terms_of(0, rows, 2, masked=False, weighted=False, free_share=0.0)
    dx, dy = metric.system(terms).step(r, np.ones((2, 3)))
    assert not dx.any()
    np.testing.assert_allclose(dy, -1 / terms.e, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_batch(kind: str) -> None:
    metric, _ = metric_of(kind, 0, 6)
    rows, _ = rows_of(0, 3, 6)
    terms = terms_of(0, rows, 0, masked=True, weighted=True)
    dx, dy = metric.system(terms).step(np.zeros((0, 6)), np.zeros((0, 3)))
    assert dx.shape == (0, 6)
    assert dy.shape == (0, 3)


def test_rows_with_all_their_zeros() -> None:
    for sparse in (True, False):
        rows, C = rows_of(3, 4, 5, sparse=sparse)
        np.testing.assert_array_equal(filled(rows), C)
        rows, C = rows_of(3, 4, 5, sparse=sparse, batch=2)
        np.testing.assert_array_equal(filled(rows), C)

"""The inverse of a metric on some variables, as a product."""

from __future__ import annotations

import numpy as np
import pytest

from foresolve.solvers.projection import whitening
from foresolve.solvers.projection.matrix_metrics import DenseMetric
from foresolve.solvers.projection.saddle import SaddleTerms
from foresolve.solvers.projection.whitening import Whitening
from solvers.projection.saddles import dense_step, metric_of, right_side, rows_of, terms_of


@pytest.mark.parametrize("few", [0.0, 0.7])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("own", [True, False])
def test_products_are_those_of_the_inverse(few: float, weighted: bool, own: bool, monkeypatch) -> None:
    monkeypatch.setattr(whitening, "FEW", few)
    metric, H = metric_of("dense", 2, 20, 3 if own else 1)
    rows, C = rows_of(2, 4, 20, batch=3 if own else 0)
    terms = terms_of(2, rows, 3, masked=False, weighted=weighted, free_share=0.5)
    white = Whitening.of(terms, metric.h, metric.full)  # type: ignore[attr-defined]
    v = np.random.default_rng(0).standard_normal((3, 20))
    through = white.adjoint(white.apply(v))
    products = white.through_rows(white.apply(v))
    for b in range(3):
        free, own_form = np.flatnonzero(terms.free[b]), H[b if own else 0]
        own_form = own_form if terms.weight is None else own_form + np.diag(terms.weight[b])
        expected = np.zeros(20)
        expected[free] = np.linalg.solve(own_form[np.ix_(free, free)], v[b, free])
        np.testing.assert_allclose(through[b], expected, atol=1e-9)
        np.testing.assert_allclose(products[b], C[b if own else 0] @ expected, atol=1e-9)
        some = white.select(np.array([b]))
        np.testing.assert_allclose(some.adjoint(some.apply(v[b : b + 1]))[0], expected, atol=1e-9)
        np.testing.assert_allclose(some.gram, white.gram[[b]] if len(white) > 1 else white.gram)


def test_one_serves_a_batch_with_the_same_free_variables() -> None:
    metric, _ = metric_of("dense", 3, 18)
    rows, _ = rows_of(3, 2, 18)
    free = np.ones((5, 18))
    free[:, 4] = 0.0
    assert len(Whitening.of(SaddleTerms(rows, free, np.ones((5, 2))), metric.h, metric.full)) == 1  # type: ignore[attr-defined]
    free[2, 7] = 0.0
    assert len(Whitening.of(SaddleTerms(rows, free, np.ones((5, 2))), metric.h, metric.full)) == 5  # type: ignore[attr-defined]


def test_what_all_free_variables_need_is_worked_out_once() -> None:
    metric, _ = metric_of("dense", 4, 6, 3)
    assert isinstance(metric, DenseMetric)
    rows, _ = rows_of(4, 2, 6)
    terms = SaddleTerms(rows, np.ones((3, 6)), np.ones((3, 2)))
    metric.system(terms)
    whole = metric._whole
    assert whole is not None
    metric.system(terms)
    assert metric._whole is whole
    part = metric.select(np.array([2, 0]))
    assert isinstance(part, DenseMetric)
    np.testing.assert_array_equal(part._whole.rows, whole.rows[[2, 0]])  # type: ignore[union-attr]


def test_the_last_face_is_kept_until_another_is_asked_for() -> None:
    metric, H = metric_of("dense", 5, 18)
    assert isinstance(metric, DenseMetric)
    rows, C = rows_of(5, 2, 18)
    first, second = (terms_of(seed, rows, 3, masked=False, weighted=False) for seed in (1, 2))
    for terms in (first, first, second, first):
        before = metric._recent
        same = before is not None and bool((before[0] == terms.free).all())
        r, p = right_side(0, terms)
        for ours, theirs in zip(metric.system(terms).step(r, p), dense_step(H, C, terms, r, p), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-9)
        assert (metric._recent is before) == same
    assert metric.select(np.array([0]))._recent is None  # type: ignore[attr-defined]

"""Routes to one answer: stacked or bordered, on a face or among all variables."""

from __future__ import annotations

import numpy as np
import pytest

from foresolve.solvers.projection import cholesky, matrix_saddles, whitening
from solvers.projection.saddles import dense_step, metric_of, right_side, rows_of, terms_of


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("own", [True, False])
def test_bordered_and_stacked_factors_agree(own: bool, sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    metric, H = metric_of("low rank", 3, 12, 3 if own else 1)
    rows, C = rows_of(3, 5, 12, sparse=sparse, batch=3 if own else 0)
    terms = terms_of(3, rows, 3, masked=True, weighted=True)
    r, p = right_side(0, terms)
    expected = dense_step(H, C, terms, r, p)
    for most in (4_000_000, 0):
        monkeypatch.setattr(matrix_saddles, "MOST_FILLED", most)
        for ours, theirs in zip(metric.system(terms).step(r, p), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.parametrize("few", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("loop", [128, 2])
@pytest.mark.parametrize("own", [True, False])
def test_few_free_variables(few: float, loop: int, own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Faces of different sizes in one batch, one of them without a free variable."""
    monkeypatch.setattr(whitening, "FEW", few)
    monkeypatch.setattr(cholesky, "LOOP", loop)
    metric, H = metric_of("dense", 5, 20, 4 if own else 1)
    rows, C = rows_of(5, 4, 20, batch=4 if own else 0)
    terms = terms_of(5, rows, 4, masked=True, weighted=False, free_share=0.4)
    terms.free[0], terms.free[1, :10] = 0.0, 1.0
    r, p = right_side(0, terms)
    for ours, theirs in zip(metric.system(terms).step(r, p), dense_step(H, C, terms, r, p), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)

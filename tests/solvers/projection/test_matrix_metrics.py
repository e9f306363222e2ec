"""Metrics that lean on the equality rows."""

from __future__ import annotations

import numpy as np

from foresolve.solvers.projection.matrix_metrics import DenseMetric, ReinforcedMetric
from foresolve.solvers.projection.rows import DenseRows
from foresolve.solvers.projection.saddle import SaddleTerms


def leaning(seed: int, batch: int = 1) -> tuple[ReinforcedMetric, DenseRows, np.ndarray]:
    """`H` of 6 variables that says nothing of the first two, which two of three rows hold."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((batch, 6, 6))
    root[:, :2] = 0.0
    H = root @ root.swapaxes(-1, -2)
    rows = DenseRows(rng.standard_normal((3, 6)))
    metric = DenseMetric(np.zeros((batch, 6)), H, leaning=True)
    reinforced = metric.reinforced(rows, np.array([True, True, False]))
    assert isinstance(reinforced, ReinforcedMetric)
    return reinforced, rows, H


def test_a_metric_that_does_not_lean_stays_as_it_is() -> None:
    metric = DenseMetric(np.ones((1, 2)), np.eye(2)[None])
    assert metric.reinforced(DenseRows(np.ones((1, 2))), np.array([True])) is metric


def test_products_are_those_of_the_metric_itself() -> None:
    metric, _, H = leaning(0)
    x = np.random.default_rng(1).standard_normal((2, 6))
    np.testing.assert_allclose(metric.apply(x), x @ H[0], atol=1e-12)
    assert (metric.h > 0).all()
    assert np.linalg.eigvalsh(metric.definite[0])[0] > 0


def test_the_step_is_that_of_the_singular_system() -> None:
    """`[H C'; C -e]` with `e` next to nothing on equalities is regular, though `H` is not."""
    for seed, batch in ((0, 1), (1, 3)):
        metric, rows, H = leaning(seed, batch)
        e = np.array([[1e-14, 1e-14, 0.5]]) * np.ones((batch, 1))
        rng = np.random.default_rng(seed)
        r, p = rng.standard_normal((batch, 6)), rng.standard_normal((batch, 3))
        dx, dy = metric.system(SaddleTerms(rows, np.ones((batch, 6)), e)).step(r, p)
        for b in range(batch):
            top = np.concatenate([H[b], rows.values.T], 1)
            bottom = np.concatenate([rows.values, -np.diag(e[b])], 1)
            expected = np.linalg.solve(np.concatenate([top, bottom]), np.concatenate([r[b], p[b]]))
            np.testing.assert_allclose(dx[b], expected[:6], atol=1e-8)
            np.testing.assert_allclose(dy[b], expected[6:], atol=1e-8)


def test_selected_instances_keep_their_own() -> None:
    metric, _, H = leaning(2, 3)
    chosen = metric.select(np.array([2]))
    x = np.random.default_rng(0).standard_normal((1, 6))
    np.testing.assert_allclose(chosen.apply(x)[0], H[2] @ x[0], atol=1e-12)

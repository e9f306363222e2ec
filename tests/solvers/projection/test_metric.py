"""What every metric is asked for, against its matrix."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from foresolve.solvers.projection.metric import IDENTITY
from solvers.projection.saddles import KINDS, metric_of


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("own", [True, False])
def test_products_and_targets_are_those_of_the_matrix(kind: str, own: bool) -> None:
    metric, H = metric_of(kind, 1, 6, 3 if own else 1)
    H = np.broadcast_to(H, (3, 6, 6))
    rng = np.random.default_rng(0)
    x, point, pull = (rng.standard_normal((3, 6)) for _ in range(3))
    diagonal = np.einsum("bii->bi", H)
    product = np.einsum("bij,bj->bi", H, x)
    np.testing.assert_allclose(np.broadcast_to(metric.h, (3, 6)), diagonal)
    np.testing.assert_allclose(metric.apply(x), product, atol=1e-12)
    assert (metric.reach(x) >= np.einsum("bij,bj->bi", np.abs(H), np.abs(x)) - 1e-12).all()
    np.testing.assert_allclose(metric.divided(x), x / diagonal)
    np.testing.assert_allclose(metric.target(point, pull, x), x + (point - pull - product) / diagonal, atol=1e-12)
    assert metric.separable == (kind in {"identity", "diagonal"})
    index = np.array([2, 0])
    np.testing.assert_allclose(metric.select(index).apply(x[index]), product[index], atol=1e-12)
    np.testing.assert_allclose(np.broadcast_to(metric.select(index).h, (2, 6)), diagonal[index])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "identity"])
@pytest.mark.parametrize("own", [True, False])
def test_gradients_are_those_of_autograd(kind: str, own: bool) -> None:
    """Of `-u'Hx`, in everything that the metric is made of."""
    metric, _ = metric_of(kind, 2, 6, 3 if own else 1)
    rng = np.random.default_rng(0)
    u, x = rng.standard_normal((3, 6)), rng.standard_normal((3, 6))
    attached = type(metric)(
        *(
            torch.from_numpy(part).requires_grad_() if isinstance(part, np.ndarray) else part
            for part in parts_of(metric)
        )
    )
    value = -(torch.from_numpy(u) * attached.apply(torch.from_numpy(x))).sum()
    expected = torch.autograd.grad(value, attached.tensors())
    for ours, slope in zip(metric.gradients(u, x), expected, strict=True):
        assert ours.shape == slope.shape
        slope = (slope + slope.mT) / 2 if kind == "dense" and slope.ndim == 3 else slope
        if kind == "sparse" and slope.shape[-1] != 6:
            mirrored = np.lexsort((metric.pattern.row, metric.pattern.column))  # type: ignore[attr-defined]
            forward = np.lexsort((metric.pattern.column, metric.pattern.row))  # type: ignore[attr-defined]
            turned = torch.empty_like(slope)
            turned[:, forward] = slope[:, mirrored]
            slope = (slope + turned) / 2
        np.testing.assert_allclose(ours, slope.numpy(), atol=1e-12)
    back = attached.numeric()
    np.testing.assert_allclose(back.apply(x), metric.apply(x))


def parts_of(metric: object) -> list[object]:
    return [
        getattr(metric, name) for name in ("shift", "factor", "matrix", "values", "pattern") if hasattr(metric, name)
    ]


def test_the_identity_has_nothing_to_learn() -> None:
    assert IDENTITY.tensors() == ()
    assert IDENTITY.gradients(np.ones((1, 2)), np.ones((1, 2))) == ()
    assert IDENTITY.numeric() is IDENTITY
    assert IDENTITY.unit == 1.0

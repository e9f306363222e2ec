"""Quadratic forms fitted to samples: found again where the target is one, and each instance for itself."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from foresolve.losses.quadratic_forms import LocalLosses, fit_local, split_signs

SAMPLES, BATCH, DIMS = 200, 3, 4


def draw() -> Tensor:
    return torch.randn(SAMPLES, BATCH, DIMS, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def fit(errors: Tensor, targets: Tensor, *, directed: bool, rank: int | None, ridge: float = 0.0) -> LocalLosses:
    generator = torch.Generator().manual_seed(1)
    return fit_local(errors, targets, directed=directed, rank=rank, ridge=ridge, steps=1500, generator=generator)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("rank", [None, 2])
def test_a_form_is_found_again_by_its_values(directed: bool, rank: int | None) -> None:
    errors, sides = draw(), 2 if directed else 1
    shape = (BATCH, sides, DIMS) if rank is None else (BATCH, sides, DIMS, rank)
    factors = torch.rand(shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64) + 0.3
    truth = LocalLosses(factors, torch.zeros(BATCH, dtype=torch.float64))
    targets = truth(errors)
    fitted = fit(errors, targets, directed=directed, rank=rank)
    misfit = (fitted(errors) - targets).square().mean(0) / targets.var(0)
    assert float(misfit.max()) < (1e-6 if rank is None else 0.02)


def test_instances_are_fitted_each_for_itself_in_its_own_units() -> None:
    errors = draw()
    targets = errors.square().sum(-1) * torch.tensor([1.0, 1e-6, 0.0], dtype=torch.float64)
    fitted = fit(errors, targets, directed=False, rank=None)
    torch.testing.assert_close(fitted(errors)[:, 1], targets[:, 1], rtol=1e-3, atol=0)
    assert bool((fitted(errors)[:, 2] == 0).all())
    alone = fit(errors[:, 1:2], targets[:, 1:2], directed=False, rank=None)
    torch.testing.assert_close(alone.factors, fitted.factors[1:2])


def test_the_truth_is_the_least_and_a_ridge_makes_it_the_only_one() -> None:
    errors = draw()
    targets = errors[..., 0].square()  # nothing of the other dimensions
    fitted = fit(errors, targets, directed=False, rank=1, ridge=0.1)
    zero = torch.zeros(BATCH, DIMS, dtype=torch.float64)
    assert bool((fitted(zero) == 0).all())
    assert bool((fitted(errors) >= fitted.ridge * errors.square().sum(-1)).all())
    assert bool((fitted.ridge > 0).all())


def test_select_and_join_undo_each_other() -> None:
    losses = LocalLosses(torch.rand(BATCH, 1, DIMS), torch.rand(BATCH))
    parts = losses.select(torch.tensor([0])).join(losses.select(torch.tensor([1, 2])))
    assert torch.equal(parts.factors, losses.factors)
    assert torch.equal(parts.ridge, losses.ridge)


def test_positive_and_negative_parts_add_up() -> None:
    errors = draw()
    both = split_signs(errors, 2)
    assert both.shape == (SAMPLES, BATCH, 2, DIMS)
    assert torch.equal(both.sum(-2), errors)
    assert bool((both[..., 0, :] >= 0).all())
    assert bool((both[..., 1, :] <= 0).all())
    assert torch.equal(split_signs(errors, 1)[..., 0, :], errors)

"""Estimates over all sets of a small ground set are exact; over random ones unbiased, with errors that say so."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from foresolve.errors import InvalidInputError
from foresolve.sets.functions import sampled
from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.functions.function import SetFunction
from foresolve.sets.functions.sampled import AutogradLocal, SampledLocal
from submodular_instances import draw_theta


class Sampled(SetFunction):
    theta_dims = 2

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return (1 - (1 - mask[..., None] * theta).prod(-2)).sum(-1)


class Formula(Sampled):
    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        return self.value(x, theta)


THETA = draw_theta((2,), 5, 3, 0)
X = torch.tensor([[0.2, 0.5, 0.9, 0.0, 1.0], [0.6, 0.1, 0.3, 0.8, 0.4]], dtype=torch.float64)
V = torch.linspace(-1, 1, 5, dtype=torch.float64).expand(2, -1)
ALL = torch.arange(5).expand(2, -1)


def test_autograd_through_a_formula_is_the_closed_form() -> None:
    local, exact = AutogradLocal(Formula(), X, THETA), ProbabilisticCoverage().local(X, THETA)
    torch.testing.assert_close(local.value, exact.value)
    torch.testing.assert_close(local.gradient, exact.gradient)
    torch.testing.assert_close(local.hessian(ALL), exact.hessian(ALL))
    torch.testing.assert_close(local.product(V), exact.product(V))
    torch.testing.assert_close(local.cross(V), exact.cross(V))
    torch.testing.assert_close(local.slope(), exact.slope())


def test_estimates_are_unbiased_and_their_errors_honest() -> None:
    exact = ProbabilisticCoverage().local(X, THETA)
    estimates = [SampledLocal(Sampled(samples=64, seed=seed), X, THETA) for seed in range(120)]
    for name, error in (("value", "value_error"), ("gradient", "error")):
        values = torch.stack([getattr(local, name) for local in estimates])
        errors = torch.stack([getattr(local, error) for local in estimates])
        truth = getattr(exact, name)
        spread = values.std(0)
        assert bool(((values.mean(0) - truth).abs() <= 4 * spread / 120**0.5 + 1e-9).all()), name
        torch.testing.assert_close(errors.mean(0), spread, rtol=0.25, atol=1e-3)
    for estimate, truth in (
        (torch.stack([local.hessian(ALL) for local in estimates[:60]]), exact.hessian(ALL)),
        (torch.stack([local.cross(V) for local in estimates[:60]]), exact.cross(V)),
        (torch.stack([local.slope() for local in estimates[:60]]), exact.slope()),
    ):
        assert bool(((estimate.mean(0) - truth).abs() <= 5 * estimate.std(0) / 60**0.5 + 1e-9).all())


def test_parts_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def numbers() -> list[Tensor]:
        local = SampledLocal(Sampled(samples=20), X, THETA)
        return [local.value, local.error, local.gradient, local.hessian(ALL), local.cross(V), local.slope()]

    together = numbers()
    monkeypatch.setattr(sampled, "CHUNK", 64)
    for part, expected in zip(numbers(), together):
        torch.testing.assert_close(part, expected)


def test_one_sample_has_no_error_that_could_be_told() -> None:
    local = SampledLocal(Sampled(samples=1), X, THETA)
    assert bool(local.value_error.isinf().all())


def test_values_of_another_shape_are_refused() -> None:
    class Wrong(Sampled):
        def value(self, mask: Tensor, theta: Tensor) -> Tensor:
            return mask.sum()

    with pytest.raises(InvalidInputError, match=r"Wrong.value\(...\)` must be .* for sets .*Sum over the last"):
        _ = SampledLocal(Wrong(), X, THETA).value

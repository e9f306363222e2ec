"""Estimates over all sets of a small ground set are exact; over random ones unbiased, with errors that say so."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from foresolve.errors import SolverError
from foresolve.sets import ProbabilisticCoverage, SetFunction
from foresolve.sets.functions import sampled
from foresolve.sets.functions.sampled import SampledLocal
from mistakes import mistake
from submodular_instances import draw_theta


class Sampled(SetFunction):
    theta_dims = 2

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return (1 - (1 - mask[..., None] * theta).prod(-2)).sum(-1)


THETA = draw_theta((2,), 5, 3, 0)
X = torch.tensor([[0.2, 0.5, 0.9, 0.0, 1.0], [0.6, 0.1, 0.3, 0.8, 0.4]], dtype=torch.float64)
V = torch.linspace(-1, 1, 5, dtype=torch.float64).expand(2, -1)
ALL = torch.arange(5).expand(2, -1)


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

    with mistake("Wrong.value(...)", "(128, 2)"):
        _ = SampledLocal(Wrong(), X, THETA).value


# -- singular derivatives --------------------------------------------------------------------------------------------


class Root(SetFunction):
    """The docstring's: the root has no slope at the empty set."""

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return (mask * theta).sum(-1).sqrt()


class GroupedRoot(SetFunction):
    """One root for each of two groups, which sets that are not empty may leave out."""

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        chosen = mask * theta
        return chosen[..., :2].sum(-1).sqrt() + chosen[..., 2:].sum(-1).pow(0.3)


class Norm(SetFunction):
    """Concave in `theta`, but not in what is below the root: squares of masks must not vanish."""

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return (mask * theta.square()).sum(-1).sqrt()


WORTHS = 0.5 + torch.rand(2, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("points", [X, X.round(), torch.zeros_like(X)], ids=["inside", "sets", "empty"])
@pytest.mark.parametrize("kind", [Root, GroupedRoot, Norm])
def test_singular_derivatives_are_those_of_the_estimates(kind: type[SetFunction], points: Tensor) -> None:
    """With its draws fixed, an estimate is smooth in `theta`: its derivative is the quotient of differences."""
    function, step = kind(samples=64), 1e-6
    local = SampledLocal(function, points, WORTHS)
    cross, slope = local.cross(V), local.slope()
    for i, e in enumerate(step * torch.eye(5, dtype=torch.float64)):
        above, below = (SampledLocal(function, points, WORTHS + sign * e) for sign in (1, -1))
        rise = (above.gradient - below.gradient) * V
        torch.testing.assert_close(cross[:, i], rise.sum(-1) / (2 * step), rtol=1e-6, atol=1e-8)
        torch.testing.assert_close(slope[:, i], (above.value - below.value) / (2 * step), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", [Root, GroupedRoot])
def test_an_infinite_derivative_is_refused(kind: type[SetFunction]) -> None:
    worths = WORTHS.clone()
    worths[1, 3:] = worths[1, 0] = 0.0  # the root of an item alone rises with infinite slope
    local = SampledLocal(kind(samples=64), X, worths)
    for derivative in (local.slope, lambda: local.cross(V)):
        with mistake("", f"`{kind.__name__}.value`", "`theta`", kind=SolverError, instances=[1]):
            derivative()
    assert bool(torch.isfinite(SampledLocal(kind(samples=64), X[:1], worths[:1]).slope()).all())


def test_masks_that_are_no_factors_are_refused_where_a_limit_is_needed() -> None:
    class Counted(SetFunction):
        def value(self, mask: Tensor, theta: Tensor) -> Tensor:
            return ((mask > 0) * theta).sum(-1).sqrt()

    local = SampledLocal(Counted(samples=64), X, WORTHS)
    with mistake("Counted.value(...)", "`theta`", "mask"):
        local.slope()


def test_values_that_are_not_finite_are_refused() -> None:
    class Broken(SetFunction):
        def value(self, mask: Tensor, theta: Tensor) -> Tensor:
            return (mask * theta).sum(-1).log()

    with mistake("Broken.value(...)", "-inf at [0, 1]"):
        _ = SampledLocal(Broken(), X, WORTHS).value


def test_one_set_stands_for_all_at_sets() -> None:
    local = SampledLocal(Root(samples=1000), X.round(), WORTHS)
    assert not bool(local.value_error.any())
    assert not bool(local.error.any())
    assert torch.equal(local.value, Root().value(X.round(), WORTHS))


def test_one_parameter_for_each_instance() -> None:
    class Scaled(SetFunction):
        theta_dims = 0

        def value(self, mask: Tensor, theta: Tensor) -> Tensor:
            return (theta * mask.sum(-1)).sqrt()

    theta = torch.tensor([1.0, 4.0], dtype=torch.float64)
    local = SampledLocal(Scaled(samples=64), X, theta)
    torch.testing.assert_close(local.slope(), local.value / (2 * theta))

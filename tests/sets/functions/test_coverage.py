"""Probabilistic coverage: the formulas, where products vanish too."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from foresolve.layers import MultilinearRelaxation, RelativeGamma
from foresolve.problems import SubmodularProblem
from foresolve.sets import FacilityLocation, InfluenceSpread, LaminarMatroid, ProbabilisticCoverage
from mistakes import mistake
from sets.conformance import SetFunctionConformance

TARGETS = 5


def probabilities(batch: tuple[int, ...], n: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 0.05 + 0.9 * torch.rand(*batch, n, TARGETS, generator=generator, dtype=torch.float64)


class TestConformance(SetFunctionConformance):
    def make(self) -> ProbabilisticCoverage:
        return ProbabilisticCoverage()

    def draw(self, batch: tuple[int, ...], n: int, seed: int) -> Tensor:
        return probabilities(batch, n, seed)


class TestWeighted(TestConformance):
    def make(self) -> ProbabilisticCoverage:
        return ProbabilisticCoverage(torch.arange(1.0, TARGETS + 1))


def written_out(x: np.ndarray, theta: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradient, Hessian and cross derivative of one instance, each product over the items that are not left out."""
    n, targets = theta.shape

    def without(*items: int) -> np.ndarray:
        keep = [i for i in range(n) if i not in items]
        return np.prod(1 - x[keep, None] * theta[keep], axis=0)

    gradient = np.array([(w * theta[i]) @ without(i) for i in range(n)])
    hessian, cross = np.zeros((n, n)), np.zeros((n, n, targets))
    for i, l in itertools.product(range(n), repeat=2):
        hessian[i, l] = 0.0 if i == l else -(w * theta[i] * theta[l]) @ without(i, l)
        cross[i, l] = w * (without(i) if i == l else -theta[i] * x[l] * without(i, l))
    return gradient, hessian, cross


@given(seed=st.integers(0, 5000), ends=st.booleans(), near=st.sampled_from([0.0, 1e-16, 1e-12, 1e-7]))
def test_the_papers_formulas_also_where_products_vanish(seed: int, ends: bool, near: float) -> None:
    """Entries of `x` and `theta` at 0, at 1 and next to it; `x_i theta_ij = 1` in any number of places."""
    rng = np.random.default_rng(seed)
    n = 6
    theta, x, w = rng.random((n, TARGETS)), rng.random(n), rng.random(TARGETS)
    if ends:
        theta = np.where(rng.random(theta.shape) < 0.5, (rng.random(theta.shape) < 0.6) * (1 - near), theta)
        x = np.where(rng.random(n) < 0.6, (rng.random(n) < 0.7).astype(float), x)
    gradient, hessian, cross = written_out(x, theta, w)
    function, v = ProbabilisticCoverage(w), rng.standard_normal(n)
    point, parameters, direction = torch.from_numpy(x), torch.from_numpy(theta), torch.from_numpy(v)
    local = function.local(point[None], parameters[None])
    options = {"rtol": 1e-12, "atol": 1e-14}
    np.testing.assert_allclose(local.gradient[0].numpy(), gradient, **options)
    np.testing.assert_allclose(local.hessian(torch.arange(n)[None])[0].numpy(), hessian, **options)
    np.testing.assert_allclose(function.hessian_product(point, parameters, direction).numpy(), hessian @ v, atol=1e-12)
    expected = np.einsum("i,ilj->lj", v, cross)
    np.testing.assert_allclose(function.cross_product(point, parameters, direction).numpy(), expected, atol=1e-12)


def test_float32_is_as_exact_as_float32_can_be() -> None:
    theta = torch.tensor([[1.0, 0.5], [1.0, 0.25], [0.0, 1.0]])
    x = torch.tensor([1.0, 1.0, 0.5], requires_grad=True)
    value = ProbabilisticCoverage().multilinear(x, theta)
    assert value.dtype == torch.float32
    (gradient,) = torch.autograd.grad(value, x)
    torch.testing.assert_close(gradient, torch.tensor([0.1875, 0.0625, 0.375]), rtol=0, atol=0)


def test_weights_per_instance() -> None:
    theta, weights = probabilities((3,), 4, 0), torch.rand(3, TARGETS, generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([1.0, 0.0, 1.0, 0.0], dtype=torch.float64)
    together = ProbabilisticCoverage(weights).value(mask, theta)
    alone = torch.stack([ProbabilisticCoverage(w).value(mask, t) for w, t in zip(weights, theta)])
    torch.testing.assert_close(together, alone)
    with mistake("", "`theta` (2,)", "(3,)"):
        ProbabilisticCoverage(weights).value(mask, probabilities((2,), 4, 0))


@pytest.mark.parametrize(
    ("weights", "about"),
    [
        (-torch.ones(3), ("weights", ">= 0", "-1")),
        (1.0, ("weights", "(*batch, targets)")),
        (torch.tensor([torch.nan]), ("weights", "nan at [0]")),
    ],
)
def test_bad_weights(weights: object, about: tuple[str, ...]) -> None:
    with mistake(*about):
        ProbabilisticCoverage(weights)


def test_bad_theta() -> None:
    function = ProbabilisticCoverage(torch.ones(TARGETS))
    with mistake("theta", "[0, 1]", "-0.5 at [0, 0, 0]"):
        function.check_theta(-0.5 * torch.ones(2, 4, TARGETS), 4)
    with mistake("theta", "(*batch, 4, 5)", "(2, 4, 6)"):
        function.check_theta(torch.ones(2, 4, 6), 4)
    with mistake("theta", "nan at [0, 0]"):
        function.check_theta(torch.full((4, TARGETS), torch.nan), 4)


@pytest.mark.parametrize("size", [1e-3, 1e-12, 1e-20])
def test_small_probabilities_keep_their_digits(size: float) -> None:
    """The value, dense and sparse, of cuts and of sets, against exact fractions: 1 - (1 - p) has none left of p."""
    generator = torch.Generator().manual_seed(0)
    theta = size * torch.rand(5, 3, generator=generator, dtype=torch.float64)
    theta[4] = 0.0
    x = torch.rand(5, generator=generator, dtype=torch.float64)
    weights, coverage = [2.0, 0.5, 1e6], ProbabilisticCoverage([2.0, 0.5, 1e6])

    def exact(x: list[float]) -> float:
        total = Fraction(0)
        for w, column in zip(weights, theta.T.tolist()):
            missed = Fraction(1)
            for share, p in zip(x, column):
                missed *= 1 - Fraction(share) * Fraction(p)
            total += Fraction(w) * (1 - missed)
        return float(total)

    for parameters in (theta, theta.to_sparse()):
        assert float(coverage.multilinear(x, parameters)) == pytest.approx(exact(x.tolist()), rel=1e-13)
    mask = x > 0.3
    parts = coverage.cuts(theta[None], 5)
    assert float(parts.values(mask.numpy()).sum()) == pytest.approx(exact(mask.double().tolist()), rel=1e-13)
    assert float(coverage.value(mask, theta)) == pytest.approx(exact(mask.double().tolist()), rel=1e-13)
    (constant, slope), *_ = parts.at_point(x.numpy())
    for chosen in itertools.product([0.0, 1.0], repeat=5):
        bound = float(constant.sum() + slope.sum(0) @ np.array(chosen))
        assert exact(list(chosen)) <= bound + 1e-15 * weights[2] * size


def test_nothing_is_left_of_what_stands_for_zeros() -> None:
    """Two items that are certain and chosen: no other adds anything, and the derivative is 0, not 1e-100."""
    theta = torch.tensor([[1.0], [1.0], [0.3]], dtype=torch.float64)
    x = torch.tensor([1.0, 1.0, 0.5], dtype=torch.float64)
    for function in (ProbabilisticCoverage(), FacilityLocation()):
        assert function.gradient(x, theta).tolist() == [0.0, 0.0, 0.0]
    chain = InfluenceSpread([(0, 1), (1, 2)], samples=4)
    assert chain.gradient(torch.tensor([1.0, 1.0, 1.0]), torch.tensor([1.0, 1.0])).tolist() == [1.0, 0.0, 0.0]
    problem = SubmodularProblem(ProbabilisticCoverage(), LaminarMatroid(3, [[2]], [1]))
    assert float(MultilinearRelaxation(RelativeGamma(0.5)).smoothing(theta, problem)) == 0.5

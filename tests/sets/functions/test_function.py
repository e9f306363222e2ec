from __future__ import annotations

import copy
import pickle
from typing import Literal

import numpy as np
import pytest
import torch
from torch import Tensor

from foresolve.problems import SubmodularProblem
from foresolve.sets import PartitionMatroid, ProbabilisticCoverage, SetFunction, UniformMatroid
from foresolve.sets.functions import sampled
from foresolve.sets.functions.coverage import CoverageIncrements
from foresolve.sets.functions.formula import AutogradLocal
from foresolve.sets.functions.sampled import SampledLocal
from foresolve.solvers.submodular.cuts import WholeParts
from foresolve.solvers.submodular.increments import Increments, ValueIncrements
from mistakes import mistake
from sets.conformance import SetFunctionConformance, assert_near, enumerated


class Root(SetFunction):
    """The root of a sum: monotone submodular, without a formula for the extension."""

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return (mask * theta).sum(-1).clamp_min(1e-12).sqrt()


class Forgetful(SetFunction):
    def __init__(self) -> None:
        self.note = "super().__init__() was not called"

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return (mask * theta).sum(-1).sqrt()


class Formula(SetFunction):
    """Coverage of one target, with the formula of its extension."""

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return 1 - (1 - mask * theta).prod(-1)

    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        missed = torch.ones((), dtype=x.dtype, device=x.device)
        for factor in (1 - x * theta).unbind(-1):
            missed = missed * factor
        return 1 - missed

    def __repr__(self) -> str:
        return "Formula()"


class Modular(SetFunction):
    """Linear: its Hessian and cross derivative are trivial graphs."""

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return mask.sum(-1)

    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        return x.sum(-1) + 0 * theta.detach().sum(-1)


class TestFormula(SetFunctionConformance):
    n = 4

    def make(self) -> Formula:
        return Formula()

    def draw(self, batch: tuple[int, ...], n: int, seed: int) -> Tensor:
        return 0.1 + 0.8 * torch.rand(*batch, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


N = 5
X = torch.tensor([[0.2, 0.5, 0.9, 0.0, 1.0], [0.6, 0.1, 0.3, 0.8, 0.5]], dtype=torch.float64)
THETA = torch.tensor([[1.0, 2.0, 0.5, 3.0, 0.7], [0.3, 1.5, 2.5, 0.9, 1.1]], dtype=torch.float64)
V = torch.tensor([[1.0, -1.0, 0.0, 2.0, 0.5], [0.2, 0.0, 0.0, -1.0, 1.0]], dtype=torch.float64)


def truth() -> dict[str, Tensor]:
    x, theta = X.clone().requires_grad_(), THETA.clone().requires_grad_()
    value = enumerated(Root(), x, theta)
    (gradient,) = torch.autograd.grad(value.sum(), x, create_graph=True)
    (product,) = torch.autograd.grad((gradient * V).sum(), x, retain_graph=True)
    (cross,) = torch.autograd.grad((gradient * V).sum(), theta, retain_graph=True)
    (slope,) = torch.autograd.grad(value.sum(), theta)
    return {"value": value, "gradient": gradient, "product": product, "cross": cross, "slope": slope}


def test_samples_are_unbiased_with_honest_errors() -> None:
    """100 seeds: the mean z-score lies within 0.5 of 0 up to a probability of 6e-7 each (12 of them; fixed seeds)."""
    expected = truth()
    samples: dict[str, list[Tensor]] = {name: [] for name in (*expected, "z", "z value")}
    for seed in range(100):
        local = Root(samples=200).with_seed(seed).local(X, THETA)
        assert isinstance(local, SampledLocal)
        for name, estimate in {"value": local.value, "gradient": local.gradient, "product": local.product(V)}.items():
            samples[name].append(estimate)
        samples["cross"].append(local.cross(V))
        samples["slope"].append(local.slope())
        samples["z"].append((local.gradient - expected["gradient"]) / local.error)
        samples["z value"].append((local.value - expected["value"]) / local.value_error)
    for name in expected:
        each = torch.stack(samples[name])
        z = (each.mean(0) - expected[name].detach()) / (each.std(0) / 10).clamp_min(1e-9)
        assert bool((z.abs() < 5).all()), (name, z)
    for name in ("z", "z value"):
        z = torch.stack(samples[name]).detach()
        assert bool((z.mean(0).abs() < 0.5).all())
        assert bool(((z.var(0) > 0.5) & (z.var(0) < 1.7)).all())


def test_equal_calls_give_equal_numbers_and_batches_equal_loops() -> None:
    function = Root(samples=30)
    index = torch.tensor([[0, 2, 4], [1, 3, 0]])
    local, again = function.local(X, THETA), Root(samples=30).local(X, THETA)
    alone = [function.local(X[b : b + 1], THETA[b : b + 1]) for b in range(2)]
    for ask in (
        lambda l, b: l.value,
        lambda l, b: l.gradient,
        lambda l, b: l.hessian(index[b]),
        lambda l, b: l.product(V[b]),
        lambda l, b: l.cross(V[b]),
        lambda l, b: l.slope(),
    ):
        everything = slice(None)
        assert torch.equal(ask(local, everything), ask(again, everything))
        loop = torch.cat([ask(single, slice(b, b + 1)) for b, single in enumerate(alone)])
        torch.testing.assert_close(ask(local, everything), loop)
    hessian = local.hessian(torch.arange(N).expand(2, -1))
    torch.testing.assert_close((hessian @ V.unsqueeze(-1)).squeeze(-1), local.product(V))
    torch.testing.assert_close(hessian, hessian.mT)


def test_parts_do_not_change_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = Root(samples=11).local(X, THETA)
    index = torch.arange(N).expand(2, -1)
    results = [expected.value, expected.gradient, expected.error, expected.hessian(index), expected.cross(V)]
    for chunk in (1, 60):
        monkeypatch.setattr(sampled, "CHUNK", chunk)
        local = Root(samples=11).local(X, THETA)
        parts = [local.value, local.gradient, local.error, local.hessian(index), local.cross(V)]
        for part, result in zip(parts, results):
            torch.testing.assert_close(part, result)


def test_sampled_multilinear_has_gradients() -> None:
    function = Root(samples=5000)
    x, theta = X.clone().requires_grad_(), THETA.clone().requires_grad_()
    value = function.multilinear(x, theta)
    torch.testing.assert_close(value, truth()["value"], rtol=0.02, atol=0.02)
    by_x, by_theta = torch.autograd.grad(value.sum(), (x, theta))
    torch.testing.assert_close(by_x, truth()["gradient"], rtol=0.03, atol=0.03)
    torch.testing.assert_close(by_theta, truth()["slope"], rtol=0.03, atol=0.03)
    torch.testing.assert_close(function.multilinear(X.round(), THETA), function.value(X.round(), THETA))
    assert function.multilinear(X.float(), THETA[0].float()).dtype == torch.float32


def test_randomness_comes_from_the_generator() -> None:
    before = torch.random.get_rng_state()
    first = Root(seed=torch.Generator().manual_seed(1))
    second = Root(seed=torch.Generator().manual_seed(1))
    third = Root(seed=torch.Generator().manual_seed(2))
    assert torch.equal(first.multilinear(X, THETA), second.multilinear(X, THETA))
    assert not torch.equal(first.multilinear(X, THETA), third.multilinear(X, THETA))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(Root(seed=3).multilinear(X, THETA), Root().with_seed(3).multilinear(X, THETA))
    with mistake("seed", ">= 0", "'x'"):
        Root(seed="x")  # type: ignore[arg-type]


def test_forgotten_constructor_and_copies() -> None:
    function = Forgetful()
    expected = function.multilinear(X, THETA)
    assert function.samples == 128
    for twin in (pickle.loads(pickle.dumps(function)), copy.deepcopy(function), function.with_seed(0)):
        assert torch.equal(twin.multilinear(X, THETA), expected)
        assert twin.note == function.note


def test_which_way_is_taken() -> None:
    assert Root().sampled
    assert not Formula().sampled
    assert isinstance(Formula().local(X, THETA[:1]), AutogradLocal)
    formula = Formula()
    assert formula.with_seed(3) is formula


def test_trivial_graphs() -> None:
    for local in (Modular().local(X, THETA), Modular.__mro__[1].local(Modular(), X, THETA)):
        assert_near(local.gradient, torch.ones_like(X))
        assert not local.product(V).any()
        assert not local.cross(V).any()
        assert not local.slope().any()


def test_bad_use() -> None:
    class Flat(SetFunction):
        def value(self, mask: Tensor, theta: Tensor) -> Tensor:
            return (mask * theta).sum()

    with mistake("Flat.value(...)", "(128, 2)"):
        Flat().multilinear(X, THETA)
    with mistake("samples", ">= 1", "got 0"):
        Root(samples=0)
    with pytest.raises(TypeError):
        SetFunction()  # type: ignore[abstract]
    single = Root(samples=1).local(X, THETA)
    assert isinstance(single, SampledLocal)
    assert bool(single.error.isinf().all())


class RootIncrements(Increments):
    """`sqrt` of a sum: the state is the sum."""

    def __init__(self, theta: np.ndarray) -> None:
        self.theta, self.n, self.empty = theta, len(theta), np.zeros((1, 1))

    def gains(self, states: np.ndarray) -> np.ndarray:
        return np.sqrt(states + self.theta) - np.sqrt(states)

    def grown(self, states: np.ndarray, items: np.ndarray) -> np.ndarray:
        return states + self.theta[items, None]


class FastRoot(Root):
    """The same function, which also gives the gains of single items; it must not be asked for values then, but for
    that of one set, by which the problem sees that it is one number."""

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        assert mask.shape[:-1] == (1, 1), "asked for values"
        return super().value(mask, theta)

    def increments(self, theta: Tensor, n: int) -> Increments:
        return RootIncrements(theta[0].double().numpy())


@pytest.mark.parametrize("method", ["greedy", "exact"])
def test_increments_of_ones_own_take_the_fast_path(method: Literal["greedy", "exact"]) -> None:
    theta = torch.rand(4, 9, generator=torch.Generator().manual_seed(0))
    for matroid in (UniformMatroid(9, 3), PartitionMatroid([i % 3 for i in range(9)], 1)):
        slow, fast = (SubmodularProblem(function, matroid, method).solve(theta) for function in (Root(), FastRoot()))
        assert torch.equal(slow, fast)


def test_another_value_does_not_inherit_the_increments() -> None:
    """A class derived from coverage that is another function must not be solved as if it were coverage."""

    class Capped(ProbabilisticCoverage):
        def value(self, mask: Tensor, theta: Tensor) -> Tensor:
            return super().value(mask, theta).clamp_max(0.5)

    class Renamed(ProbabilisticCoverage):
        pass

    theta = torch.rand(1, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert isinstance(Capped().increments(theta, 4), ValueIncrements)
    assert isinstance(Capped().cuts(theta, 4), WholeParts)
    assert isinstance(Renamed().increments(theta, 4), CoverageIncrements)

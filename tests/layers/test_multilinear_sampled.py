"""The layer where the extension is known through samples: influence spread, and functions without a formula."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import foresolve
from mistakes import mistake
from submodular_instances import draw_theta, matroid, smooth_theta

N, TARGETS = 6, 4
ARCS = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5), (5, 0), (2, 5)]


class Plain(foresolve.sets.SetFunction):
    """Coverage that gives its value and nothing else."""

    theta_dims = 2

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return (1 - (1 - mask.unsqueeze(-1) * theta).prod(-2)).sum(-1)


class WithFormula(Plain):
    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        return (1 - (1 - x.unsqueeze(-1) * theta).prod(-2)).sum(-1)


@pytest.mark.parametrize("kind", ["uniform", "partition", "laminar"])
def test_a_users_formula_gives_what_ours_gives(kind: str) -> None:
    ours, reference = (
        foresolve.SubmodularProblem(function, matroid(kind, 9))
        for function in (foresolve.ProbabilisticCoverage(), WithFormula())
    )
    layer = foresolve.MultilinearRelaxation(0.6, tol=1e-12)
    theta = smooth_theta(layer, ours, 2, TARGETS)
    estimates = []
    for problem in (ours, reference):
        leaf = theta.clone().requires_grad_()
        x = layer(leaf, problem)
        (x * torch.linspace(-1, 1, 9, dtype=torch.float64)).sum().backward()
        estimates.append((x.detach(), leaf.grad))
    torch.testing.assert_close(estimates[0], estimates[1], atol=1e-8, rtol=1e-6)


def test_a_sampled_layer_agrees_with_the_exact_one_within_its_error() -> None:
    """Means over independent draws against the closed form; 5 standard errors for 2 x 6 decisions and one directional
    derivative each: a false alarm has probability below 1e-5."""
    exact = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(N, 2))
    reference = foresolve.MultilinearRelaxation(0.8, tol=1e-12)
    theta = smooth_theta(reference, exact, 2, TARGETS, least=0.05)
    v = torch.linspace(-1, 1, N, dtype=torch.float64)
    direction = torch.randn(theta.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def run(layer: foresolve.MultilinearRelaxation, problem: foresolve.SubmodularProblem) -> tuple[Tensor, Tensor]:
        leaf = theta.clone().requires_grad_()
        x = layer(leaf, problem)
        (x * v).sum().backward()
        assert leaf.grad is not None
        return x.detach(), (leaf.grad * direction).flatten(1).sum(-1)

    expected = run(reference, exact)
    draws = []
    for seed in range(12):
        function = Plain(samples=256, seed=torch.Generator().manual_seed(seed))
        problem = foresolve.SubmodularProblem(function, foresolve.UniformMatroid(N, 2))
        draws.append(run(foresolve.MultilinearRelaxation(0.8, max_iter=60), problem))
    for estimates, truth in zip(zip(*draws), expected):
        sample = torch.stack(estimates)
        error = sample.std(0) / len(sample) ** 0.5
        bias = 0.02 * truth.abs().max()  # of a finite number of steps
        assert bool(((sample.mean(0) - truth).abs() <= 5 * error + bias).all())
        assert float(error.max()) < 0.1 * (1 + float(truth.abs().max()))  # the comparison means something


class Root(foresolve.sets.SetFunction):
    """The docstring's function, whose derivative at the empty set is zero times infinity."""

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return (mask * theta).sum(-1).sqrt()


class EverySet(Root):
    """The same by its definition, all sets but the empty one; finite wherever some item is worth something."""

    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        sets = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=torch.float64)] * 4)[1:]
        chance = torch.ones_like(x[..., None, 0])
        for i, member in enumerate(sets.T):
            chance = chance * torch.where(member == 1, x[..., None, i], 1 - x[..., None, i])
        return (chance * self.value(sets, theta.unsqueeze(-2))).sum(-1)


def test_a_singular_function_has_the_gradient_of_its_formula_within_its_error() -> None:
    """Over 12 draws: 5 standard errors for 4 decisions and 4 derivatives, as above. The formula's own gradient is that
    of finite differences."""
    theta = torch.tensor([1.0, 1.6, 1.3, 1.9], dtype=torch.float64)
    v, matroid = torch.tensor([1.0, -2.0, 0.5, 3.0], dtype=torch.float64), foresolve.UniformMatroid(4, 2)

    def run(function: foresolve.sets.SetFunction) -> tuple[Tensor, Tensor]:
        leaf = theta.clone().requires_grad_()
        problem = foresolve.SubmodularProblem(function, matroid)
        x = foresolve.MultilinearRelaxation(0.5, max_iter=60)(leaf, problem)
        (x * v).sum().backward()
        assert leaf.grad is not None
        return x.detach(), leaf.grad

    exact, layer = foresolve.SubmodularProblem(EverySet(), matroid), foresolve.MultilinearRelaxation(0.5, tol=1e-12)
    expected = run(EverySet())
    ends = [(layer(theta + e, exact) - layer(theta - e, exact)) @ v / 2e-5 for e in 1e-5 * torch.eye(4).double()]
    torch.testing.assert_close(expected[1], torch.stack(ends), rtol=1e-5, atol=1e-6)
    draws = [run(Root(samples=256, seed=torch.Generator().manual_seed(seed))) for seed in range(12)]
    for estimates, truth in zip(zip(*draws), expected):
        sample = torch.stack(estimates)
        error = sample.std(0) / len(sample) ** 0.5
        assert bool(((sample.mean(0) - truth).abs() <= 5 * error + 0.02 * truth.abs().max()).all())
        assert float(error.max()) < 0.1 * float(truth.abs().max())


class Table(torch.nn.Module):
    """A prediction for each instance."""

    def __init__(self, theta: Tensor) -> None:
        super().__init__()
        self.theta = torch.nn.Parameter(theta.clone())

    def forward(self, index: Tensor) -> Tensor:
        return self.theta[index]


def test_training_with_a_singular_function() -> None:
    """Layers and losses that take values of sets alike; where the derivative is infinite, the error says so."""
    problem = foresolve.SubmodularProblem(Root(samples=16), foresolve.UniformMatroid(4, 2))
    theta = 1 + torch.rand(3, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    data = foresolve.DecisionDataset(torch.arange(3), theta, problem)
    decision = foresolve.DecisionLoss(foresolve.MultilinearRelaxation(1.0, max_iter=10))
    for loss in (decision, foresolve.losses.NCE(), foresolve.losses.PointwiseRanking()):
        model = Table(theta.flip(0))
        foresolve.fit(model, loss, data, epochs=2, lr=0.01, progress=False)
        assert bool(torch.isfinite(model.theta).all())
        assert not torch.equal(model.theta, theta.flip(0))
    flat = theta.clone()
    flat[2, 1] = 0.0
    with mistake("", "Root.value", "theta", kind=foresolve.SolverError):
        foresolve.fit(Table(flat), decision, data, epochs=1, progress=False)


def test_a_sampled_layer_repeats_itself() -> None:
    problem = foresolve.SubmodularProblem(Plain(samples=16), foresolve.UniformMatroid(N, 2))
    layer, theta = foresolve.MultilinearRelaxation(0.8, max_iter=10), draw_theta((2,), N, TARGETS, 0)
    assert torch.equal(layer(theta, problem), layer(theta, problem))
    reseeded = foresolve.SubmodularProblem(
        Plain(samples=16, seed=torch.Generator().manual_seed(7)), foresolve.UniformMatroid(N, 2)
    )
    assert not torch.equal(layer(theta, problem), layer(theta, reseeded))


def influence(samples: int, seed: int = 0) -> foresolve.SubmodularProblem:
    function = foresolve.sets.InfluenceSpread(ARCS, N, samples=samples, seed=seed)
    return foresolve.SubmodularProblem(function, foresolve.UniformMatroid(N, 2))


def test_influence_is_solved_to_tolerance() -> None:
    theta = 0.2 + 0.4 * torch.rand(3, len(ARCS), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    solution = foresolve.MultilinearRelaxation(0.5, tol=1e-9).solve(theta, influence(200))
    assert bool(solution.converged.all())
    assert influence(200).check(solution.x, tol=1e-8, relaxed=True)


def test_influence_gradients_agree_with_exact_cascades_within_their_error() -> None:
    """Against all 2^8 live-edge graphs, by finite differences; 5 standard errors over 30 draws, 2 directions: a false
    alarm has probability below 1e-5."""

    class Exact(foresolve.sets.SetFunction):
        """Every live-edge graph, with its probability: a formula in torch."""

        def __init__(self) -> None:
            super().__init__()
            bits = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=torch.float64)] * len(ARCS))
            reach = torch.eye(N, dtype=torch.float64).expand(len(bits), N, N).clone()
            for e, (a, b) in enumerate(ARCS):
                reach[:, a, b] = bits[:, e]
            for _ in range(3):  # paths of up to 2^3 arcs
                reach = ((reach @ reach) > 0).double()
            self.bits, self.reach = bits, reach

        def value(self, mask: Tensor, theta: Tensor) -> Tensor:
            return self.multilinear(mask, theta)

        def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
            live = torch.where(self.bits == 1, theta.unsqueeze(-2), 1 - theta.unsqueeze(-2))
            chance = torch.ones_like(live[..., 0])
            for factor in live.unbind(-1):
                chance = chance * factor
            missed = torch.ones_like(x[..., None, :1])
            for i in range(N):
                missed = missed * (1 - x[..., i, None, None] * self.reach[:, i])
            return (chance * (1 - missed).sum(-1)).sum(-1)

    theta = 0.2 + 0.4 * torch.rand(1, len(ARCS), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    v = torch.linspace(-1, 1, N, dtype=torch.float64)
    layer = foresolve.MultilinearRelaxation(1.0, tol=1e-10)

    def gradient(problem: foresolve.SubmodularProblem) -> Tensor:
        leaf = theta.clone().requires_grad_()
        (layer(leaf, problem) * v).sum().backward()
        assert leaf.grad is not None
        return leaf.grad

    exact = foresolve.SubmodularProblem(Exact(), foresolve.UniformMatroid(N, 2))
    truth = gradient(exact)
    step = torch.zeros_like(theta)
    step[0, 3] = 1e-5
    with torch.no_grad():
        change = ((layer(theta + step, exact) - layer(theta - step, exact)) * v).sum() / 2e-5
    assert float(change) == pytest.approx(float(truth[0, 3]), abs=1e-7)
    draws = torch.stack([gradient(influence(300, seed)) for seed in range(30)])
    error = draws.std(0) / len(draws) ** 0.5
    directions = torch.randn(2, len(ARCS), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for direction in directions:
        sample = (draws * direction).sum((1, 2))
        allowed = 5 * sample.std() / len(sample) ** 0.5 + 0.02 * truth.abs().max()
        assert float((sample.mean() - (truth * direction).sum()).abs()) <= float(allowed)
    assert float(error.max()) < 0.2 * float(truth.abs().max())

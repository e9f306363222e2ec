"""The contract of `Problem`: what callers may rely on holds where parameters are fewer than variables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

import foresolve
from foresolve import layers, losses
from foresolve.data import Batch, DecisionDataset
from foresolve.errors import ForesolveError
from foresolve.learning import Policy, evaluate, fit
from foresolve.losses import Loss
from foresolve.models import MLP
from foresolve.problems import LinearProgram
from foresolve.problems.base import Sense
from mistakes import mistake

PRICES, PLANS = 3, 5


class TiedCosts(LinearProgram):
    """Two of five plans; three predicted prices price them all: `gain(theta) = +-(M theta + c)`."""

    def __init__(self, sense: Sense = "max") -> None:
        super().__init__(A_eq=torch.ones(1, PLANS), b_eq=[2.0], bounds=(0, 1), sense=sense)
        generator = torch.Generator().manual_seed(0)
        self.matrix = torch.randn(PLANS, PRICES, generator=generator, dtype=torch.float64)
        self.offset = torch.randn(PLANS, generator=generator, dtype=torch.float64)

    @property
    def theta_shape(self) -> tuple[int | None, ...]:
        return (PRICES,)

    def gain(self, theta: Tensor) -> Tensor:
        return self.signed(theta @ self.matrix.T.to(theta) + self.offset.to(theta))


LOSSES: dict[str, Callable[[], Loss]] = {
    "MSE": losses.MSE,
    "quadratic": lambda: losses.DecisionLoss(layers.QuadraticRelaxation()),
    "perturbed": lambda: losses.DecisionLoss(layers.PerturbedAdditive(samples=8)),
    "multiplicative": lambda: losses.DecisionLoss(layers.PerturbedMultiplicative(samples=8)),
    "blackbox": lambda: losses.DecisionLoss(layers.BlackboxInterpolation()),
    "identity": lambda: losses.DecisionLoss(layers.IdentityProjection()),
    "negative identity": lambda: losses.DecisionLoss(layers.NegativeIdentity()),
    "IMLE": lambda: losses.DecisionLoss(layers.IMLE()),
    "adaptive IMLE": lambda: losses.DecisionLoss(layers.AdaptiveIMLE()),
    "Frank-Wolfe": lambda: losses.DecisionLoss(layers.RegularizedFrankWolfe()),
    "Fenchel-Young, quadratic": lambda: losses.FenchelYoung(layers.QuadraticRelaxation()),
    "Fenchel-Young, perturbed": lambda: losses.FenchelYoung(layers.PerturbedAdditive(samples=8)),
    "Fenchel-Young, multiplicative": lambda: losses.FenchelYoung(layers.PerturbedMultiplicative(samples=8)),
    "Fenchel-Young, Frank-Wolfe": lambda: losses.FenchelYoung(layers.RegularizedFrankWolfe()),
    "SPO+": losses.SPOPlus,
    "perturbation gradient": losses.PerturbationGradient,
    "NCE": losses.NCE,
    "MAP": losses.MAP,
    "pointwise": losses.PointwiseRanking,
    "pairwise": losses.PairwiseRanking,
    "listwise": losses.ListwiseRanking,
    "CaVE": losses.CaVE,
    "LODL": lambda: losses.LODL(samples=8),
    "score function": losses.ScoreFunction,
}


def data(sense: Sense, count: int = 24) -> DecisionDataset:
    generator = torch.Generator().manual_seed(1)
    features = torch.randn(count, 2, generator=generator)
    theta = features @ torch.randn(2, PRICES, generator=generator) + 0.1
    return DecisionDataset(features, theta, TiedCosts(sense))


@pytest.mark.parametrize("sense", ["max", "min"])
def test_decisions_are_the_best_of_all(sense: Sense) -> None:
    problem, theta = TiedCosts(sense), data(sense).theta
    pairs = torch.combinations(torch.arange(PLANS), 2)
    every = torch.zeros(len(pairs), PLANS).scatter_(1, pairs, 1.0)
    values = problem.objective(every[:, None].expand(-1, len(theta), -1), theta)
    x = problem.solve(theta)
    torch.testing.assert_close(problem.objective(x, theta), values.amax(0))
    assert torch.equal(problem.argmax(problem.gain(theta)), x)
    assert torch.equal(problem.argmax(-problem.gain(theta)).sum(-1), torch.full((len(theta),), 2.0))


@pytest.mark.filterwarnings("ignore::foresolve.NoImprovementWarning")
@pytest.mark.parametrize("sense", ["max", "min"])
@pytest.mark.parametrize("name", LOSSES)
def test_every_method_trains_where_parameters_are_fewer_than_variables(name: str, sense: Sense) -> None:
    train, loss = data(sense), LOSSES[name]()
    model = MLP(2, PRICES, seed=0)
    history = fit(model, loss, train, train, epochs=1, batch_size=8)
    assert len(history) == 1
    theta_hat = (train.theta + 0.5).requires_grad_()
    losses_ = loss(theta_hat, train[:])
    assert losses_.shape == (len(train),)
    losses_.mean().backward()
    assert theta_hat.grad is not None
    assert theta_hat.grad.shape == train.theta.shape
    assert bool(theta_hat.grad.isfinite().all())


def test_the_gradient_passes_through_the_map() -> None:
    problem, layer = TiedCosts("min"), foresolve.QuadraticRelaxation(gamma=2.0)
    theta = data("min").theta[:4].double().requires_grad_()
    assert torch.autograd.gradcheck(lambda t: layer(t, problem), (theta,))


def test_evaluation_and_policies_too(tmp_path: Path) -> None:
    train = data("min")
    model = MLP(2, PRICES, seed=0)
    assert evaluate(model, train, bootstrap=0).regret >= 0
    policy = Policy(model, train.problem)
    assert policy(train.features).x.shape == (len(train), PLANS)
    with mistake("", "TiedCosts", kind=ForesolveError):
        policy.save(tmp_path)


def test_the_shape_of_theta_is_named_in_errors() -> None:
    with mistake("theta", "(*batch, 3)", "(2, 5)"):
        TiedCosts().solve(torch.zeros(2, PLANS))
    batch = Batch(None, torch.zeros(2, PRICES), TiedCosts())
    with mistake("theta_hat", "(2, 3)"):
        losses.SPOPlus()(torch.zeros(2, PLANS), batch)

"""Portfolios: every way to state risk, trades, and what is predicted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import foresolve
from foresolve.problems import Portfolio
from mistakes import mistake
from problems.test_quadratic import QuadraticConformance, program_of
from quadratic_programs import by_clarabel, check_named, tensor

B = np.array([[1.0, 0.5], [0.2, 1.0], [0.3, -1.0], [0.1, 0.4]])
F = np.array([[2.0, 0.3], [0.3, 1.0]])
SPECIFIC = np.array([0.1, 0.2, 0.3, 0.4])
SIGMA = B @ F @ B.T + np.diag(SPECIFIC)
MU = tensor([0.1, 0.5, 0.3, 0.2])
HELD: dict[str, Any] = {"current": [0.4, 0.3, 0.2, 0.1], "turnover": 0.5, "cost": 0.02}


class TestConformance(QuadraticConformance):
    """Seeds choose the risk, whether there are trades, and what is predicted."""

    instances = 4

    def make(self, seed: int) -> Portfolio:
        risk: dict[str, Any] = {"loadings": B, "specific": SPECIFIC} if seed % 2 else {"covariance": SIGMA}
        trades = HELD if seed % 3 == 0 else {}
        if seed % 3 == 0 and seed % 7 == 0:
            current = np.stack([np.roll(HELD["current"], i) for i in range(self.instances)])
            trades = HELD | {"current": current}
        predict: Any = ("returns", "covariance", "both")[seed % 5 % 3]
        returns = {"returns": MU} if predict == "covariance" else {}
        return Portfolio(**risk, **trades, **returns, predict=predict, risk_aversion=1.0 + seed % 2, bounds=(0, 0.9))

    def draw(self, problem: foresolve.Problem, batch: tuple[int, ...], seed: int) -> Tensor:
        assert isinstance(problem, Portfolio)
        generator = torch.Generator().manual_seed(seed)
        mu = torch.randn(*batch, 4, generator=generator, dtype=torch.float64)
        scale = 0.5 + torch.rand(*batch, 1, generator=generator, dtype=torch.float64)
        if "Q" in problem._parts:
            risk = scale * tensor(SIGMA).flatten()
        else:
            risk = torch.cat([scale * tensor(SPECIFIC), scale * tensor(B).flatten()], -1)
        return {"returns": mu, "covariance": risk, "both": torch.cat([mu, risk], -1)}[problem.predict]


def written_out(
    mu: Tensor, x: Tensor, sigma: np.ndarray, aversion: float, held: dict[str, Any], impact: float
) -> float:
    """The objective of the weights, from the formula of the docstring."""
    w = x.numpy()
    t = w - np.asarray(held["current"]) if held else np.zeros_like(w)
    cost = held.get("cost", 0.0)
    return float(mu.numpy() @ w - aversion / 2 * w @ sigma @ w - (cost * np.abs(t) + impact / 2 * t**2).sum())


@pytest.mark.parametrize("held", [{}, HELD], ids=["from cash", "from a position"])
@pytest.mark.parametrize("risk", ["covariance", "factors"])
def test_the_decision_is_best_by_the_formula(risk: str, held: dict[str, Any]) -> None:
    given = {"covariance": SIGMA} if risk == "covariance" else {
        "loadings": B, "specific": SPECIFIC, "factor_covariance": F}  # fmt: skip
    problem = Portfolio(**given, **held, risk_aversion=3.0, bounds=(0, 0.6))
    impact = problem.impact if held else 0.0
    x = problem.solve(MU)
    weights = problem.weights(x)
    value = written_out(MU, weights, SIGMA, 3.0, held, impact)
    assert problem.objective(x, MU).item() == pytest.approx(value, abs=1e-9)
    assert weights.sum().item() == pytest.approx(1.0)
    trades = problem.trades(x)
    if held:
        torch.testing.assert_close(trades, x[4:8] - x[8:], atol=1e-9, rtol=0)
        assert float(trades.abs().sum()) <= 0.5 + 1e-9
        assert not bool(((x[4:8] > 1e-9) & (x[8:] > 1e-9)).any())  # nothing is bought and sold
    else:
        assert not bool(trades.any())
    generator = np.random.default_rng(0)
    for _ in range(300):  # no other portfolio is better
        other = generator.dirichlet(np.ones(4))
        other = 0.9 * weights.numpy() + 0.1 * other
        if other.max() > 0.6 or (held and np.abs(other - held["current"]).sum() > 0.5):
            continue
        assert written_out(MU, tensor(other), SIGMA, 3.0, held, impact) <= value + 1e-9


@pytest.mark.parametrize("held", [{}, HELD], ids=["from cash", "from a position"])
@pytest.mark.parametrize("risk", ["covariance", "factors", "factors with a covariance"])
@pytest.mark.parametrize("predict", ["covariance", "both"])
def test_predicting_what_is_known_decides_as_knowing_it(predict: Any, risk: str, held: dict[str, Any]) -> None:
    """The true covariance (or specific variances and loadings) as a prediction: the same portfolio."""
    given: dict[str, Any] = {
        "covariance": {"covariance": SIGMA},
        "factors": {"loadings": B, "specific": SPECIFIC},
        "factors with a covariance": {"loadings": B, "specific": SPECIFIC, "factor_covariance": F},
    }[risk]
    common = {"risk_aversion": 2.0, "bounds": (0, 0.8), **given, **held}
    known = Portfolio(**common)
    returns = {"returns": MU} if predict == "covariance" else {}
    problem = Portfolio(**common, **returns, predict=predict)
    numbers = tensor(SIGMA).flatten() if risk == "covariance" else torch.cat([tensor(SPECIFIC), tensor(B).flatten()])
    theta = torch.cat([MU, numbers]) if predict == "both" else numbers
    assert problem.theta_shape == theta.shape
    x = known.solve(MU)
    torch.testing.assert_close(problem.solve(theta), x, atol=1e-8, rtol=0)
    torch.testing.assert_close(problem.objective(x, theta), known.objective(x, MU))
    layer = foresolve.QuadraticRelaxation(0.1)
    torch.testing.assert_close(layer(theta, problem), layer(MU, known), atol=1e-9, rtol=0)


def test_gradients_reach_predicted_risk() -> None:
    problem = Portfolio(loadings=B, specific=SPECIFIC, predict="both", bounds=(-5, 5))
    theta = torch.cat([MU, tensor(SPECIFIC), tensor(B).flatten()]).requires_grad_()
    layer = foresolve.QuadraticRelaxation(0.0)
    assert torch.autograd.gradcheck(lambda t: layer(t, problem), [theta], eps=1e-6, atol=1e-5)


def test_positions_of_each_instance() -> None:
    current = torch.stack([tensor([0.4, 0.3, 0.2, 0.1]), tensor([0.1, 0.2, 0.3, 0.4])])
    problem = Portfolio(SIGMA, current=current, turnover=0.2)
    x = problem.solve(MU)
    for i in range(2):
        alone = Portfolio(SIGMA, current=current[i], turnover=0.2)
        torch.testing.assert_close(alone.solve(MU), x[i], atol=1e-9, rtol=0)
    chosen = problem.select(torch.tensor([1]))
    torch.testing.assert_close(chosen.trades(x[1:]), problem.trades(x)[1:])


def test_names() -> None:
    problem = Portfolio(np.eye(2), names=["bonds", "stocks"], predict="both")
    assert problem.theta_names is not None
    assert problem.theta_names[:3] == ("bonds", "stocks", "bonds, bonds")
    held = Portfolio(np.eye(2), names=["bonds", "stocks"], current=[0.5, 0.5])
    assert held.names == ("bonds", "stocks", "buy bonds", "buy stocks", "sell bonds", "sell stocks")
    assert held.theta_names == ("bonds", "stocks")
    factors = Portfolio(loadings=[[1.0], [2.0]], specific=1.0, names=["a", "b"], predict="covariance")
    assert factors.theta_names == ("variance of a", "variance of b", "a, factor 0", "b, factor 0")


@pytest.mark.parametrize("current", [None, HELD["current"], [[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]]])
@pytest.mark.parametrize("predict", ["returns", "covariance", "both"])
def test_a_factor_model_is_the_same_after_two_round_trips(predict: Any, current: Any) -> None:
    """Loadings are predicted before `F` comes to them, in copies of copies too."""
    held = {} if current is None else HELD | {"current": current, "cost": [0.0, 0.01, 0.02, 0.03], "impact": 0.05}
    returns = {"returns": MU} if predict == "covariance" else {}
    problem = Portfolio(
        loadings=B, specific=SPECIFIC, factor_covariance=F, predict=predict, names=["a", "b", "c", "d"],
        risk_aversion=2.0, budget=0.9, bounds=(0, 0.6), **held, **returns,
    )  # fmt: skip
    twin = Portfolio.from_config(Portfolio.from_config(problem.config()).config())
    numbers = torch.cat([1.5 * tensor(SPECIFIC), 0.7 * tensor(B).flatten()])
    theta = {"returns": MU, "covariance": numbers, "both": torch.cat([MU, numbers])}[predict]
    x = problem.solve(theta)
    torch.testing.assert_close(twin.solve(theta), x, atol=1e-9, rtol=0)
    torch.testing.assert_close(twin.objective(x, theta), problem.objective(x, theta))
    torch.testing.assert_close(twin.trades(x), problem.trades(x))
    assert (twin.names, twin.theta_names, repr(twin)) == (problem.names, problem.theta_names, repr(problem))
    assert problem.weights(x).sum(-1).flatten().tolist() == pytest.approx([0.9] * x[..., 0].numel())
    assert problem.to("cpu") is problem


def test_costs_of_each_asset_and_a_turnover_that_holds() -> None:
    """By hand: two assets of risk 1 without correlation, from (1, 0); `t` of the first is sold for the second."""

    def sold(**held: Any) -> float:
        problem = Portfolio(np.eye(2), current=[1.0, 0.0], impact=0.0, **held)
        x = problem.solve(tensor([0.0, 0.5]))
        torch.testing.assert_close(x[2:], tensor([0.0, 1.0, 1.0, 0.0]) * x[1], atol=1e-9, rtol=0)
        return float(x[1])

    # The slope 0.5 + (1 - t) - t less both costs vanishes at 0.75, less a half of the costs.
    assert sold() == pytest.approx(0.75)
    assert sold(cost=[0.1, 0.2]) == pytest.approx(0.75 - 0.15)
    assert sold(cost=0.1) == pytest.approx(0.75 - 0.1)
    assert sold(cost=0.1, turnover=0.5) == pytest.approx(0.25)
    assert sold(cost=[2.0, 0.0]) == pytest.approx(0.0)  # dearer than what there is to gain


@pytest.mark.parametrize("predict", ["returns", "both"])
def test_selected_positions_have_their_own_smoothed_decisions(predict: Any) -> None:
    current = np.stack([np.roll(HELD["current"], i) for i in range(3)])
    problem = Portfolio(SIGMA, **(HELD | {"current": current}), predict=predict)
    theta = torch.stack([MU, 2 * MU, 3 * MU])
    if predict == "both":
        theta = torch.cat([theta, (tensor([1.0, 2.0, 3.0])[:, None] * tensor(SIGMA).flatten())], -1)
    layer, order = foresolve.QuadraticRelaxation(), torch.tensor([2, 0])
    x, part = layer(theta, problem), problem.select(order)
    torch.testing.assert_close(layer(theta[order], part), x[order], atol=1e-9, rtol=0)
    torch.testing.assert_close(part.current, tensor(current)[order])
    for i in range(3):
        alone = Portfolio(SIGMA, **(HELD | {"current": current[i]}), predict=predict)
        torch.testing.assert_close(layer(theta[i], alone), x[i], atol=1e-9, rtol=0)


SAMPLING: list[foresolve.Loss] = [foresolve.losses.ScoreFunction(sigma=2.0), foresolve.losses.LODL(samples=40)]


def around(problem: Portfolio, numbers: Tensor) -> tuple[Tensor, foresolve.data.DecisionDataset]:
    """Three instances with multiples of given risks."""
    theta = numbers * tensor([[0.5], [1.0], [1.5]])
    return theta, foresolve.data.DecisionDataset(torch.ones(3, 1, dtype=torch.float64), theta, problem)


@pytest.mark.parametrize("loss", SAMPLING, ids=str)
def test_draws_around_a_covariance_that_are_none_are_named_with_what_to_do(loss: foresolve.Loss) -> None:
    theta, data = around(Portfolio(SIGMA, predict="covariance", returns=MU), tensor(SIGMA).flatten())
    with mistake("Q", "eigenvalue -", "`factor`"):
        loss(theta.clone().requires_grad_(), loss.prepare(data)[:])


@pytest.mark.parametrize("loss", SAMPLING, ids=str)
def test_draws_around_variances_and_loadings_are_risks(loss: foresolve.Loss) -> None:
    """What is drawn below 0 of a variance is put there; loadings have any sign."""
    problem = Portfolio(loadings=B, specific=SPECIFIC, predict="covariance", returns=MU)
    theta, data = around(problem, torch.cat([tensor(SPECIFIC), tensor(B).flatten()]))
    leaf = (theta + 0.1).requires_grad_()
    value = loss(leaf, loss.prepare(data)[:])
    value.sum().backward()
    assert leaf.grad is not None
    assert bool((value > 0).all())
    assert bool(leaf.grad.isfinite().all())
    assert float(leaf.grad.abs().max()) > 0


def test_a_model_that_predicts_a_negative_variance_is_told_what_to_do() -> None:
    problem = Portfolio(loadings=B, specific=SPECIFIC, predict="covariance", returns=MU)
    theta, data = around(problem, torch.cat([tensor(SPECIFIC), tensor(B).flatten()]))
    wrong = theta.clone()
    wrong[1, 2] = -0.25
    loss = foresolve.losses.DecisionLoss(foresolve.QuadraticRelaxation())
    with mistake("diagonal", ">= 0", "-0.25 at [1, 2]"):
        loss(wrong, loss.prepare(data)[:])
    draws = foresolve.losses.ScoreFunction(1e-9)
    assert bool(draws(wrong, draws.prepare(data)[:]).isfinite().all())  # what is drawn is put where it belongs


MISTAKES: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "no risk": (lambda: Portfolio(), ("`covariance`", "neither")),
    "both kinds of risk": (lambda: Portfolio(SIGMA, loadings=B, specific=1.0), ("`covariance`", "both")),
    "loadings alone": (lambda: Portfolio(loadings=B), ("`specific`", "None")),
    "specific with a covariance": (lambda: Portfolio(SIGMA, specific=1.0), ("`specific`",)),
    "an indefinite covariance": (lambda: Portfolio([[1.0, 2.0], [2.0, 1.0]]), ("eigenvalue -1",)),
    "an indefinite factor covariance": (
        lambda: Portfolio(loadings=B, specific=1.0, factor_covariance=[[1.0, 2.0], [2.0, 1.0]]),
        ("`factor_covariance`", "eigenvalue -1"),
    ),
    "a factor covariance that is not symmetric": (
        lambda: Portfolio(loadings=B, specific=1.0, factor_covariance=[[1.0, 0.5], [0.0, 1.0]]),
        ("`factor_covariance`", "symmetric"),
    ),
    "a factor covariance of another size": (
        lambda: Portfolio(loadings=B, specific=1.0, factor_covariance=np.eye(3)),
        ("`factor_covariance`", "(2, 2)", "(3, 3)"),
    ),
    "turnover without a position": (lambda: Portfolio(SIGMA, turnover=0.5), ("`current`", "None")),
    "a position of another length": (lambda: Portfolio(SIGMA, current=[1.0]), ("`current`", "(1,)")),
    "a negative cost": (lambda: Portfolio(SIGMA, current=HELD["current"], cost=-1.0), ("`cost`", ">= 0")),
    "a negative impact": (lambda: Portfolio(SIGMA, current=HELD["current"], impact=-1.0), ("`impact`",)),
    "two budgets": (lambda: Portfolio(SIGMA, budget=[1.0, 2.0]), ("`budget`",)),
    "a budget that is no number": (lambda: Portfolio(SIGMA, budget=float("nan")), ("finite",)),
    "aversion": (lambda: Portfolio(SIGMA, risk_aversion=-1.0), ("`risk_aversion`", "> 0")),
    "what is predicted": (lambda: Portfolio(SIGMA, predict="risk"), ("`predict`", "'risk'")),  # type: ignore[arg-type]
    "returns that are predicted": (lambda: Portfolio(SIGMA, returns=MU), ("`returns`", "predict='returns'")),
    "a negative specific variance": (lambda: Portfolio(loadings=B, specific=-1.0), (">= 0",)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named(name: str) -> None:
    check_named(*MISTAKES[name])


def test_the_program_is_the_one_that_clarabel_sees() -> None:
    problem = Portfolio(SIGMA, **HELD)
    program = program_of(problem, MU)
    found = by_clarabel(program)
    assert found is not None
    torch.testing.assert_close(problem.solve(MU), tensor(found[0]), atol=1e-5, rtol=0)

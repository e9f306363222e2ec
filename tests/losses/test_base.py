"""Which losses learn from decisions alone, and what the others say."""

from __future__ import annotations

import math

import pytest
import torch

import foresolve
from foresolve.data import DecisionDataset
from foresolve.errors import InvalidInputError
from foresolve.losses import MAP, NCE, Loss
from losses.compatibility import methods
from mistakes import caution, mistake

PROBLEM = foresolve.ShortestPath.grid(3, 3)
NEED_THETA = [name for name, loss in methods().items() if loss.uses_theta and not set(loss.needs) & {"set function"}]
NEED_DECISIONS = [name for name, loss in methods().items() if not loss.uses_theta]


def recorded(count: int = 6) -> DecisionDataset:
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(count, 4, generator=generator)
    chosen = PROBLEM.solve(0.1 + torch.rand(count, 12, generator=generator))
    return DecisionDataset(features, decisions=chosen, problem=PROBLEM)


def test_the_lists_are_what_one_expects() -> None:
    named = {name.partition("(")[0] for name in NEED_DECISIONS}
    assert named == {"FenchelYoung", "CaVE", "Imitation"}
    assert {"SPOPlus", "MSE", "NCE", "MAP", "LODL", "ScoreFunction", "PerturbationGradient"} <= set(NEED_THETA)


@pytest.mark.parametrize("name", NEED_THETA)
def test_losses_of_the_truth_refuse_decisions_alone_before_any_work(name: str, monkeypatch) -> None:
    loss, data = methods()[name], recorded()
    model = foresolve.MLP(4, 12, seed=0)
    for work in ("solve", "maximizer", "argmax", "objective"):
        monkeypatch.setattr(data.problem, work, lambda *arguments, work=work: pytest.fail(f"`{work}` was called"))
    batch = data[:]
    for call in (
        lambda: foresolve.fit(model, loss, data, epochs=1, progress=False),
        lambda: loss.prepare(data),
        lambda: loss(torch.ones(6, 12), batch),
    ):
        with pytest.raises(InvalidInputError) as raised:
            call()
        assert str(raised.value).startswith(f"`theta` must be known for {type(loss).__name__}, which looks at the true")
        assert "FenchelYoung(layer)" in str(raised.value)
        assert ("Pass `shifted=False`" in str(raised.value)) == (name in ("NCE", "MAP"))


@pytest.mark.filterwarnings("ignore::foresolve.NoGradientWarning")
@pytest.mark.filterwarnings("ignore::foresolve.NoImprovementWarning")
@pytest.mark.parametrize("name", NEED_DECISIONS)
def test_losses_of_decisions_need_nothing_else(name: str) -> None:
    loss, data = methods()[name], recorded()
    model = torch.nn.Sequential(torch.nn.Linear(4, 12), torch.nn.Softplus())
    history = foresolve.fit(model, loss, data, data, epochs=2, lr=0.01, progress=False, patience=2)
    assert all(math.isfinite(value) for value in history.train_loss)
    assert history.valid_regret == [None, None]
    assert all(value is not None and 0 <= value <= 1 for value in history.valid_distance)


@pytest.mark.parametrize("name", ["FenchelYoung(PerturbedAdditive)", "CaVE", "Imitation(QuadraticRelaxation)"])
def test_decisions_and_truth_lead_to_the_same_gradients(name: str) -> None:
    theta = 0.1 + torch.rand(6, 12, generator=torch.Generator().manual_seed(3))
    theta_hat = 0.1 + torch.rand(6, 12, generator=torch.Generator().manual_seed(4))
    decisions = PROBLEM.solve(theta)
    gradients = []
    for data in (
        DecisionDataset(torch.zeros(6, 1), theta, PROBLEM),
        DecisionDataset(torch.zeros(6, 1), decisions=decisions, problem=PROBLEM),
    ):
        loss, leaf = methods()[name], theta_hat.clone().requires_grad_()
        gradients += torch.autograd.grad(loss(leaf, data[:]).sum(), leaf)
    assert torch.equal(*gradients)
    assert bool(gradients[0].any())


class Own(Loss):
    """A loss of your own that says nothing of the truth."""

    def forward(self, theta_hat: torch.Tensor, batch: foresolve.Batch) -> torch.Tensor:
        return (theta_hat - batch.theta).square().mean(-1)


def test_a_loss_of_ones_own_is_taken_to_need_the_truth() -> None:
    with mistake("theta", "Own"):
        Own().prepare(recorded())


@pytest.mark.parametrize("kind", [NCE, MAP])
def test_contrastive_losses_warn_once_of_what_is_minimal(kind) -> None:
    loss, data = kind(shifted=False), recorded()
    with caution(kind.__name__, "`theta`"):
        loss.prepare(data)
    theta = torch.ones(6, 12)
    loss(theta, data[:])  # a second warning would be an error
    kind(shifted=False)(theta, DecisionDataset(torch.zeros(6, 1), theta, PROBLEM)[:])  # none where the truth is known


def test_contrastive_losses_without_a_shift() -> None:
    """Against all decisions of a small problem, from the formula."""
    problem = foresolve.TopK(3, 1)
    theta_hat = torch.tensor([[2.0, 1.0, -1.0]])
    batch = foresolve.Batch(None, None, problem, decision=torch.tensor([[0.0, 1.0, 0.0]]))
    pool = foresolve.losses.SolutionPool(solve_ratio=0.0)
    pool.add(torch.eye(3))
    nce, largest = NCE(pool, shifted=False), MAP(pool, shifted=False)
    for loss in (nce, largest):
        with caution(type(loss).__name__, "`theta`"):
            loss.check_data(batch)
    assert nce(theta_hat, batch).item() == pytest.approx((1.0 + 0.0 - 2.0) / 3)
    assert largest(theta_hat, batch).item() == pytest.approx(1.0)
    assert largest(0 * theta_hat, batch).item() == 0.0


def test_a_loss_that_is_called_as_in_pyepo() -> None:
    theta = torch.rand(2, 12)
    for arguments, got in (((theta, theta, theta), "3 arguments"), ((theta,), "Tensor")):
        with mistake("batch", got, "loss(theta_hat, batch)"):
            foresolve.SPOPlus()(theta, *arguments)


def test_decisions_alone_are_not_sent_to_losses_that_want_more() -> None:
    coverage = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(3, 1))
    plant = foresolve.LinearProgram(A_eq=[[1.0, -1.0]], b_eq=[0.0], bounds=(0, 9), sense="min")
    moving = plant.parametrized([1.0, 0.0], b_eq=foresolve.problems.Affine([[1.0]]))
    for problem, x in ((coverage, [[1.0, 0.0, 0.0]]), (moving, [[2.0, 0.0]])):
        data = DecisionDataset(torch.zeros(1, 2), decisions=x, problem=problem)
        for loss in (foresolve.losses.CaVE(), foresolve.losses.FenchelYoung(foresolve.layers.PerturbedAdditive())):
            with mistake("problem", "PerturbedAdditive") as caught:
                loss.check_data(data)
            assert "DecisionLoss" not in str(caught.value)
        foresolve.losses.Imitation(foresolve.layers.PerturbedAdditive()).check_data(data)

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from scipy.optimize import nnls
from torch import Tensor

import foresolve
from foresolve.data import Batch, DecisionDataset
from foresolve.losses import LODL, lodl
from foresolve.losses.quadratic_forms import LocalLosses, fit_local
from losses.conformance import Case, LossConformance, instance
from losses.test_spo import coverage
from mistakes import mistake

KINDS = ("weighted_mse", "quadratic", "directed_weighted_mse", "directed_quadratic")


def prepared(loss: LODL, batch: Batch) -> LODL:
    """The loss, fitted to the instances of a batch."""
    loss.prepare(DecisionDataset(torch.zeros(len(batch), 1), batch.theta, batch.problem))
    return loss


class LODLConformance(LossConformance):
    """Fitted to the first case's truth: other instances are fitted when they are met."""

    kind = "weighted_mse"
    goal = 0.5

    def loss(self) -> LODL:
        loss = LODL(self.kind, samples=30, steps=30, spread=0.5)  # type: ignore[arg-type]
        return prepared(loss, self.cases()[0][1])

    def cases(self) -> list[Case]:
        return [instance(foresolve.TopK(6, 2), 6, positive=True), instance(foresolve.TopK(6, 3), 6, seed=2)]


class TestWeighted(LODLConformance):
    pass


class TestQuadratic(LODLConformance):
    kind = "quadratic"


class TestDirectedWeighted(LODLConformance):
    kind = "directed_weighted_mse"


class TestDirectedQuadratic(LODLConformance):
    kind = "directed_quadratic"


class TestCoverage(LossConformance):
    learns = False

    def loss(self) -> LODL:
        return prepared(LODL(samples=40), coverage()[1])

    def cases(self) -> list[Case]:
        return [coverage()]


def samples(directed: bool) -> tuple[Tensor, Tensor]:
    """Errors `(K, B, d)` and regrets `(K, B)` of shortest paths."""
    problem, generator = foresolve.ShortestPath.grid(3, 3), torch.Generator().manual_seed(0)
    theta = torch.rand(4, 12, generator=generator, dtype=torch.float64)
    errors = torch.randn(300, 4, 12, generator=generator, dtype=torch.float64)
    x = problem.solve(theta + 0.3 * errors)
    return errors, problem.objective(problem.solve(theta), theta) - problem.objective(x, theta)


@pytest.mark.parametrize("directed", [False, True])
def test_weights_are_the_least_squares_ones(directed: bool) -> None:
    errors, regret = samples(directed)
    local = fit_local(errors, regret, directed=directed, rank=None, ridge=0.0, steps=600, generator=torch.Generator())
    for i in range(4):
        parts = [errors[:, i].clamp_min(0), errors[:, i].clamp_max(0)] if directed else [errors[:, i]]
        columns = torch.cat(parts, -1).square().numpy()
        weights, residual = nnls(columns, regret[:, i].numpy())
        misfit = (local(errors)[:, i] - regret[:, i]).norm()
        assert float(misfit) <= residual * (1 + 1e-4)
        np.testing.assert_allclose(local.factors[i].square().flatten().numpy(), weights, atol=1e-3)


def test_a_quadratic_form_is_found_again() -> None:
    generator = torch.Generator().manual_seed(0)
    errors = torch.randn(400, 3, 5, generator=generator, dtype=torch.float64)
    true = LocalLosses(torch.randn(3, 1, 5, 2, generator=generator, dtype=torch.float64), torch.zeros(3))
    local = fit_local(
        errors, true(errors), directed=False, rank=4, ridge=0.0, steps=1500, generator=torch.Generator().manual_seed(1)
    )
    fresh = torch.randn(50, 3, 5, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(local(fresh), true(fresh), atol=0.02, rtol=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_the_truth_is_the_least(kind) -> None:
    theta_hat, batch = instance(foresolve.TopK(5, 2), 5)
    loss = prepared(LODL(kind, samples=50, steps=50), batch)
    assert loss(batch.theta, batch).tolist() == [0.0] * 4
    assert bool((loss(theta_hat, batch) > 0).all())


def test_kinds_fit_better_the_more_they_may() -> None:
    errors, regret = samples(True)

    def misfit(**form) -> float:
        local = fit_local(errors, regret, ridge=0.0, steps=400, generator=torch.Generator().manual_seed(0), **form)
        return float((local(errors) - regret).square().mean())

    assert misfit(directed=True, rank=None) < misfit(directed=False, rank=None)
    assert misfit(directed=True, rank=4) < misfit(directed=False, rank=4) < misfit(directed=False, rank=None)


def test_a_data_set_is_fitted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    theta = torch.rand(7, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    data, seen = DecisionDataset(torch.zeros(7, 1), theta, foresolve.TopK(5, 2)).solve(), []
    together, parts = LODL(samples=30, steps=20), LODL(samples=30, steps=20)
    together.prepare(data)
    monkeypatch.setattr(lodl, "CHUNK", 3)
    parts.prepare(data, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(3, 7), (6, 7), (7, 7)]
    batch = data[slice(1, 6)]
    torch.testing.assert_close(parts(0.9 * batch.theta, batch), together(0.9 * batch.theta, batch))


def test_fit_prepares_it_like_every_other_loss() -> None:
    """Nothing is called by hand, and validation by the loss finds its instances fitted too."""
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(24, 3, generator=generator)
    data = DecisionDataset(features, features @ torch.randn(3, 4, generator=generator), foresolve.TopK(4, 2))
    train, valid = data.split(16, 8)
    loss = LODL(samples=30, steps=20)
    model = foresolve.MLP(3, 4, seed=generator)
    history = foresolve.fit(model, loss, train, valid, epochs=3, monitor="loss", lr=0.1, progress=False)
    assert history.train_loss[-1] < history.train_loss[0]
    assert loss._keys is not None
    assert len(loss._keys) == 24
    foresolve.fit(model, loss, valid, epochs=1, progress=False)
    assert len(loss._keys) == 8  # those of other training data are forgotten


def test_a_generator_gives_the_draws() -> None:
    theta_hat, batch = instance(foresolve.TopK(5, 2), 5)

    def values(seed: int | torch.Generator) -> Tensor:
        return prepared(LODL(samples=30, steps=20, seed=seed), batch)(theta_hat, batch)

    first, again = (values(torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(first, again)
    assert not torch.equal(first, values(torch.Generator().manual_seed(4)))


def test_nothing_is_solved_in_training(monkeypatch: pytest.MonkeyPatch) -> None:
    theta_hat, batch = instance(foresolve.TopK(5, 2), 5)
    loss = prepared(LODL(samples=30, steps=20), batch)
    monkeypatch.setattr(batch.problem, "solve", lambda theta: pytest.fail("solved"))
    loss(theta_hat, batch)


def test_another_data_sets_instances_are_not_mistaken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Validation instances have the same positions, and losses of their own, fitted once."""
    theta_hat, batch = instance(foresolve.TopK(5, 2), 5)
    _, stranger = instance(foresolve.TopK(5, 2), 5, seed=9)
    loss = prepared(LODL(samples=30, steps=20), batch)
    before = loss(theta_hat, batch)
    values = loss(theta_hat, stranger)
    both = Batch(None, torch.cat([batch.theta, stranger.theta]), batch.problem, index=torch.arange(4).repeat(2))
    alone = LODL(samples=30, steps=20)
    alone._unit = loss._unit
    torch.testing.assert_close(values, alone(theta_hat, stranger))
    monkeypatch.setattr(batch.problem, "solve", lambda theta: pytest.fail("solved"))
    torch.testing.assert_close(loss(theta_hat.repeat(2, 1), both), torch.cat([before, values]))


def test_instances_with_feasible_sets_of_their_own() -> None:
    problem = foresolve.Knapsack([2, 3, 4, 5], torch.tensor([[4.0], [5.0], [7.0], [9.0]]))
    theta_hat, batch = instance(problem, 4, positive=True)
    together = prepared(LODL(samples=30, steps=20), batch)(theta_hat, batch)
    single = foresolve.Knapsack([2, 3, 4, 5], 5.0)
    lone = Batch(None, batch.theta[1:2], single, index=torch.tensor([1]))
    loss = LODL(samples=30, steps=20)
    loss._unit = prepared(LODL(), batch)._unit
    torch.testing.assert_close(loss(theta_hat[1:2], lone), together[1:2])


def test_parameters_and_regrets_that_never_change() -> None:
    """A constant parameter has the usual spread; decisions that no draw changes have no loss."""
    theta = torch.tensor([[1.0, 0.0, 100.0], [1.0, 0.5, 100.0]])
    batch = Batch(None, theta, foresolve.TopK(3, 3))
    loss = prepared(LODL(samples=20, steps=5), batch)
    assert loss(theta + 1, batch).tolist() == [0.0, 0.0]


def test_it_goes_on_from_where_it_was() -> None:
    theta_hat, batch = instance(foresolve.TopK(5, 2), 5)
    first, second = prepared(LODL(samples=30, steps=20), batch), LODL(samples=30, steps=20)
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    second.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(first(theta_hat, batch), second(theta_hat, batch))


def test_bad_input() -> None:
    theta_hat, batch = instance(foresolve.TopK(5, 2), 5)
    with mistake("LODL", "loss.prepare(train)"):
        LODL()(theta_hat, batch)
    with mistake("kind", "'mse'"):
        LODL("mse")  # type: ignore[arg-type]
    with mistake("ridge", "got -1"):
        LODL(ridge=-1)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import foresolve
from foresolve.data import DecisionDataset
from foresolve.errors import InvalidInputError
from foresolve.layers import QuadraticRelaxation
from foresolve.losses import MSE, DecisionLoss, FenchelYoung, Loss
from foresolve.models import ConstantMean, LinearRegression, NearestNeighbors
from foresolve.report.records import Config, Job
from foresolve.reproduce import DOMAINS, ForestMethod, NetworkMethod, plan
from foresolve.reproduce.domains.quadratic import Tuned, TwoStageFirst, decisions_last
from foresolve.reproduce.runs.trial import Trial
from reproduce import tiny

NAMES = ("portfolio", "tracking")
ERRORS = {"portfolio": 0.015, "tracking": 0.1}  # of predictions after two-stage training
LEARNED = [
    "NN1-Decision", "NN2-Decision", "NN1-Started", "NN2-Started", "NN1-FenchelYoung", "NN1-2Stage", "NN2-2Stage",
    "Linear-2Stage", "RF-2Stage", "Neighbors-2Stage", "Mean",
]  # fmt: skip


def network(domain: str, name: str, *, quick: bool = False) -> NetworkMethod:
    method = DOMAINS[domain].methods(plan(domain, quick=quick))[name]
    assert isinstance(method, NetworkMethod)
    return method


# -- two stages first, decisions then ------------------------------------------------------------------------------


def test_squares_come_first_and_decisions_then() -> None:
    data = tiny.data("portfolio")
    batch = next(iter(data.loader(4)))
    theta_hat, loss = batch.theta + 0.01, TwoStageFirst(DecisionLoss(QuadraticRelaxation()), 0.1)
    torch.testing.assert_close(loss(theta_hat, batch), MSE()(theta_hat, batch))
    loss.decided = True
    torch.testing.assert_close(loss(theta_hat, batch), 0.1 * DecisionLoss(QuadraticRelaxation())(theta_hat, batch))


@pytest.mark.parametrize("epochs", [3, 12, 30, 36, 90])
def test_decisions_have_the_last_third_of_the_epochs(epochs: int) -> None:
    decided = [decisions_last({})["decided"](epoch / (epochs - 1)) for epoch in range(epochs)]
    assert decided == [False] * (epochs - epochs // 3) + [True] * (epochs // 3)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_as_many_epochs_on_decisions_as_training_on_them_alone_has(name: str, quick: bool) -> None:
    epochs, fewer = (network(name, f"NN1-{kind}", quick=quick).epochs for kind in ("Started", "Decision"))
    decided = [decisions_last({})["decided"](epoch / (epochs - 1)) for epoch in range(epochs)]
    assert sum(decided) == fewer


def test_what_the_second_loss_refuses() -> None:
    cover = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(3, 1))
    with pytest.raises(InvalidInputError):
        TwoStageFirst(DecisionLoss(QuadraticRelaxation())).check_problem(cover)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_of_one_size_when_decisions_begin_to_count(name: str) -> None:
    """Adam remembers the squares of the gradients before: much larger ones are steps that are much too long."""
    data = DOMAINS[name].data(plan(name))
    batch = next(iter(data.subset(range(16)).loader(16)))
    noise = torch.randn(batch.theta.shape, generator=torch.Generator().manual_seed(0))
    loss = network(name, "NN1-Started").loss({})
    assert isinstance(loss, TwoStageFirst)
    sizes = []
    for decided in (False, True):
        loss.decided = decided
        theta_hat = (batch.theta + ERRORS[name] * noise).requires_grad_()
        loss(theta_hat, batch).sum().backward()
        assert theta_hat.grad is not None
        sizes.append(float(theta_hat.grad.norm()))
    assert 0.1 < sizes[1] / sizes[0] < 10
    assert sizes[1] / sizes[0] / loss.weight > 20  # what it would be without the weight


def test_training_on_decisions_goes_on_from_two_stages() -> None:
    """The first epochs are those of two-stage training, weight by weight; the last third is not."""
    data, weights = tiny.data("portfolio"), {}
    for name, loss, anneal in (
        ("two stages", MSE(), None),
        ("then decisions", TwoStageFirst(DecisionLoss(QuadraticRelaxation())), decisions_last({})),
    ):
        model = foresolve.MLP(data.features.shape[1], data.theta.shape[1], seed=0)
        after: list[torch.Tensor] = []
        foresolve.fit(
            model, loss, data, epochs=6, lr=0.01, anneal=anneal,
            progress=lambda history, model=model, after=after: after.append(model.layers[0].bias.detach().clone()),
        )  # fmt: skip
        weights[name] = after
    same = [torch.equal(a, b) for a, b in zip(weights["two stages"], weights["then decisions"], strict=True)]
    assert same == [True] * 4 + [False] * 2


# -- the methods ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "yardsticks"), [("portfolio", ["True means"]), ("tracking", [])])
def test_the_rows_of_the_table(name: str, yardsticks: list[str]) -> None:
    assert list(DOMAINS[name].methods(plan(name))) == [*LEARNED, *yardsticks, "Random", "OPT"]
    assert set(DOMAINS[name].info.heuristics) == set(yardsticks)


@pytest.mark.parametrize("name", NAMES)
def test_the_layer_is_the_program_itself(name: str) -> None:
    loss = network(name, "NN1-Decision").loss({})
    assert isinstance(loss, DecisionLoss)
    assert isinstance(loss.layer, QuadraticRelaxation)
    assert loss.layer.gamma == 0.0
    data = tiny.data(name)
    x = loss.layer(data.theta[:4], data.problem)
    torch.testing.assert_close(x, data.problem.solve(data.theta[:4]), rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["Decision", "FenchelYoung"])
def test_the_truth_cannot_be_beaten(name: str, kind: str) -> None:
    """No prediction has a smaller loss than the true parameters, on any instance."""
    data = tiny.data(name).solve(progress=False)
    batch = next(iter(data.loader(len(data))))
    loss: Loss = network(name, f"NN1-{kind}").loss({})
    assert isinstance(loss, DecisionLoss | FenchelYoung)
    noise = ERRORS[name] * torch.randn(batch.theta.shape, generator=torch.Generator().manual_seed(1))
    truth, other = loss(batch.theta, batch), loss(batch.theta + noise, batch)
    assert (truth <= other + 1e-4 * (1 + other.abs())).all()
    assert truth.mean() < other.mean()


@pytest.mark.parametrize("name", NAMES)
def test_two_stage_networks_have_the_most_epochs_and_settings(name: str) -> None:
    table = DOMAINS[name].methods(plan(name))
    for other, method in table.items():
        if isinstance(method, NetworkMethod):
            two_stage = network(name, f"{other.partition('-')[0]}-2Stage")
            assert method.epochs <= two_stage.epochs
            assert set(map(str, method.settings)) <= set(map(str, two_stage.settings))
            assert method.batch_size == two_stage.batch_size
    assert {key for key, method in table.items() if isinstance(method, ForestMethod)} >= set(LEARNED[-4:])


# -- baselines that are chosen -------------------------------------------------------------------------------------


def linear_data(count: int = 60) -> DecisionDataset:
    """Tiny portfolios whose returns are linear in the features."""
    data = tiny.data("portfolio")
    source = torch.Generator().manual_seed(0)
    features = torch.randn(count, 3, generator=source)
    theta = 0.1 + 0.02 * features @ torch.randn(3, data.theta.shape[1], generator=source)
    return DecisionDataset(features, theta, data.problem)


def test_the_best_of_several_baselines() -> None:
    data = linear_data()
    exact, blunt = LinearRegression(0.0), LinearRegression(1e6)
    for candidates in ([exact, blunt], [blunt, exact]):
        model = Tuned(candidates).fit(data)
        assert model.chosen is exact
        torch.testing.assert_close(model(data.features), data.theta, rtol=0, atol=1e-5)


def test_the_chosen_baseline_has_seen_all_training_instances() -> None:
    data = linear_data()
    model = Tuned([NearestNeighbors(1)]).fit(data)
    torch.testing.assert_close(model(data.features), data.theta)
    mean = Tuned([ConstantMean()]).fit(data)
    torch.testing.assert_close(mean(data.features)[0], data.theta.mean(0))


def test_the_choice_does_not_change_from_run_to_run() -> None:
    data = tiny.data("portfolio")
    first, again = (Tuned([NearestNeighbors(k) for k in (1, 3, 9)], 4).fit(data)(data.features) for _ in range(2))
    assert torch.equal(first, again)


# -- what may be seen ----------------------------------------------------------------------------------------------


def seen_through(config: Config, method: str, spoil: Callable[[Trial, Tensor], Tensor]) -> tuple[Trial, Any]:
    """A trial whose true parameters are changed beforehand, and its record."""
    data = tiny.data(config.domain, config.seed)
    trial = Trial(config, Job(config.domain, 0, method, (None,)), DOMAINS[config.domain], len(data))
    changed = DecisionDataset(data.features, spoil(trial, data.theta.clone()), data.problem)
    return trial, trial.score(changed.solve(progress=False), None)


def spoil_test(trial: Trial, theta: Tensor) -> Tensor:
    theta[trial.split.test] = theta[trial.split.test].flip(-1) + 0.05
    return theta


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("method", ["NN1-Decision", "NN2-Started", "NN1-FenchelYoung", "NN2-2Stage"])
def test_networks_and_settings_do_not_see_the_test_instances(
    name: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.shrink(monkeypatch)
    config = tiny.config(name)
    (_, before), (_, after) = (seen_through(config, method, how) for how in (lambda trial, theta: theta, spoil_test))
    assert before.value != after.value
    assert (before.validation, before.setting) == (after.validation, after.setting)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("method", ["Linear-2Stage", "RF-2Stage", "Neighbors-2Stage", "Mean"])
def test_baselines_do_not_see_the_test_instances(name: str, method: str) -> None:
    config = tiny.config(name)
    (before, _), (after, _) = (seen_through(config, method, how) for how in (lambda trial, theta: theta, spoil_test))
    assert before._forecast is not None
    assert after._forecast is not None
    assert torch.equal(before._forecast, after._forecast)


@pytest.mark.parametrize("name", NAMES)
def test_every_method_in_a_small_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.shrink(monkeypatch)
    records = tiny.done(tiny.config(name, splits=1))
    values = {method: record.value for (_, method, _), record in records.items()}
    assert list(values) == list(DOMAINS[name].methods(plan(name)))
    optimum = values.pop("OPT")
    assert all(value <= optimum + 1e-5 * abs(optimum) for value in values.values())
    assert {record.optimum for record in records.values()} == {optimum}
    validated = {method for (_, method, _), record in records.items() if record.validation is not None}
    assert validated == {method for method in values if method.startswith("NN")}

from __future__ import annotations

import pytest
import torch

import foresolve
from foresolve.errors import InvalidInputError
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.losses.decision import DecisionLoss
from foresolve.losses.prediction import MSE
from foresolve.reproduce.domains.methods import ForestMethod, NetworkMethod
from foresolve.reproduce.domains.quadratic import TwoStageFirst, decisions_last
from foresolve.reproduce.domains.registry import DOMAINS
from foresolve.reproduce.runs.plan import plan
from reproduce import tiny

NAMES = ("portfolio", "tracking")


def test_squares_come_first_and_decisions_then() -> None:
    data = tiny.data("portfolio")
    batch = next(iter(data.loader(4)))
    theta_hat, loss = batch.theta + 0.01, TwoStageFirst(DecisionLoss(QuadraticRelaxation()))
    torch.testing.assert_close(loss(theta_hat, batch), MSE()(theta_hat, batch))
    loss.decided = True
    torch.testing.assert_close(loss(theta_hat, batch), DecisionLoss(QuadraticRelaxation())(theta_hat, batch))
    assert [decisions_last({})["decided"](progress) for progress in (0.0, 0.6, 0.7, 1.0)] == [False, False, True, True]


def test_what_the_second_loss_refuses() -> None:
    cover = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(3, 1))
    with pytest.raises(InvalidInputError):
        TwoStageFirst(DecisionLoss(QuadraticRelaxation())).check_problem(cover)


@pytest.mark.parametrize("name", NAMES)
def test_the_layer_is_the_program_itself(name: str) -> None:
    table = DOMAINS[name].methods(plan(name))
    method = table["NN1-Decision"]
    assert isinstance(method, NetworkMethod)
    loss = method.loss(method.settings[0])
    assert isinstance(loss, DecisionLoss)
    assert isinstance(loss.layer, QuadraticRelaxation)
    assert loss.layer.gamma == 0.0
    data = tiny.data(name)
    x = loss.layer(data.theta[:4], data.problem)
    torch.testing.assert_close(x, data.problem.solve(data.theta[:4]), rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_two_stage_networks_have_the_most_epochs_and_as_many_settings(name: str) -> None:
    table = DOMAINS[name].methods(plan(name))
    for layers in (1, 2):
        two_stage = table[f"NN{layers}-2Stage"]
        assert isinstance(two_stage, NetworkMethod)
        for other in ("Decision", "Started", "FenchelYoung"):
            method = table[f"NN{layers}-{other}"]
            assert isinstance(method, NetworkMethod)
            assert method.epochs < two_stage.epochs
            assert set(map(str, method.settings)) <= set(map(str, two_stage.settings))
    assert {key for key, method in table.items() if isinstance(method, ForestMethod)} >= {
        "Linear-2Stage", "RF-2Stage", "Neighbors-2Stage", "Mean",
    }  # fmt: skip


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
            model, loss, data, epochs=7, lr=0.01, anneal=anneal,
            progress=lambda history, model=model, after=after: after.append(model.layers[0].bias.detach().clone()),
        )  # fmt: skip
        weights[name] = after
    same = [torch.equal(a, b) for a, b in zip(weights["two stages"], weights["then decisions"], strict=True)]
    assert same == [True] * 4 + [False] * 3

"""Learning from decisions alone, scored by agreement, and metrics of your own."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

import foresolve
from foresolve.data import DecisionDataset
from foresolve.data.batch import NoThetaError
from foresolve.layers import PerturbedAdditive, QuadraticRelaxation
from foresolve.learning import compare, evaluate, fit
from foresolve.losses import CaVE, FenchelYoung, Imitation, SPOPlus
from foresolve.models import LinearRegression, RandomDecision, RandomForest
from foresolve.problems import TopK
from learning.instances import model, top_k_data
from mistakes import caution, mistake


def recorded(count: int = 32, seed: int = 0) -> DecisionDataset:
    """The decisions of `top_k_data`, without its parameters."""
    data = top_k_data(count, seed)
    return DecisionDataset(data.features, decisions=data.decisions, problem=data.problem)


def overlap(x: Tensor, y: Tensor) -> Tensor:
    return (x * y).sum(-1) / y.sum(-1)


def test_agreement_is_counted() -> None:
    y = torch.tensor([[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    data = DecisionDataset(torch.zeros(3, 1), decisions=y, problem=TopK(4, 2))
    guess = torch.tensor([[4.0, 3.0, 2.0, 1.0]])
    report = evaluate(lambda features: guess.expand(len(features), -1), data, metric=overlap, batch_size=2)
    assert report.instances["identical"].tolist() == [True, False, False]
    assert report.instances["hamming"].tolist() == [0.0, 0.5, 1.0]
    assert report.identical == pytest.approx(1 / 3)
    assert report.hamming == pytest.approx(0.5)
    assert report.metrics == {"overlap": pytest.approx(0.5)}
    assert (report.value, report.optimum, report.regret, report.normalized_regret, report.mse) == (None,) * 5
    assert set(report.intervals) == {"identical", "hamming", "overlap", "adjusted"}
    assert len(report) == 3
    text = str(report)
    assert "identical decisions" in text
    assert "overlap" in text
    assert "regret" not in text
    assert report.to_dict()["metrics"] == report.metrics
    assert report.to_dict()["regret"] is None
    assert list(report.table()["overlap"]) == [1.0, 0.5, 0.0]


def test_rounding_is_no_difference() -> None:
    y = torch.tensor([[1.0, 0.0]])
    data = DecisionDataset(torch.zeros(1, 1), decisions=y, problem=TopK(2, 1))
    near = evaluate(lambda features: y, data, lambda theta, problem: y + 1e-8)
    assert near.hamming == 0.0
    assert near.identical == 1.0
    assert near.feasible == 1.0
    assert evaluate(lambda features: y, data, lambda theta, problem: y + 1e-3).hamming == 1.0


class TestMetrics:
    """Also where the truth is known."""

    def test_by_name_with_intervals(self) -> None:
        data = top_k_data()
        report = evaluate(model(), data, metric={"overlap": overlap, "misses": lambda x, y: 1 - overlap(x, y)})
        assert report.regret > 0
        assert report.hamming is None
        assert report.metrics["overlap"] + report.metrics["misses"] == pytest.approx(1.0)
        low, high = report.intervals["overlap"]
        assert low < report.metrics["overlap"] < high
        x = data.problem.solve(model()(data.features))
        assert report.metrics["overlap"] == pytest.approx(float(overlap(x, data.decisions).mean()))

    def test_names_of_functions(self) -> None:
        data = top_k_data(4)
        assert list(evaluate(model(), data, metric=lambda x, y: x[:, 0]).metrics) == ["metric"]

        def regret(x: Tensor, y: Tensor) -> np.ndarray:
            return np.full(len(x), 7.0)

        report = evaluate(model(), data, metric=regret)
        assert report.metrics == {"metric": 7.0}
        assert report.regret != 7.0

    def test_nan_takes_no_part(self) -> None:
        y = torch.eye(3)
        data = DecisionDataset(torch.zeros(3, 1), decisions=y, problem=TopK(3, 1))
        report = evaluate(lambda a: y, data, metric=lambda x, y: torch.tensor([1.0, math.nan, 3.0]))
        assert report.metrics["metric"] == 2.0

    @pytest.mark.parametrize(
        ("metric", "about"),
        [
            (5, ["metric", "metric(x, y)", "got 5"]),
            ({"tau": 5}, ["metric['tau']", "got 5"]),
            ({"regret": overlap}, ["metric", "'regret'"]),
            (lambda x, y: x, ["metric(x, y)", "(4,)", "(4, 5)"]),
        ],
    )
    def test_bad_ones(self, metric, about: list[str]) -> None:
        with mistake(*about):
            evaluate(model(), top_k_data(4), metric=metric)


class TestFit:
    def test_agreement_is_watched_by_default(self) -> None:
        train, valid = recorded(128), recorded(64, seed=1)
        net = model()
        before = evaluate(net, valid, bootstrap=0).hamming
        history = fit(net, FenchelYoung(QuadraticRelaxation()), train, valid, epochs=30, lr=0.05, patience=10)
        assert history.valid_regret == [None] * len(history)
        assert history.valid_loss == [None] * len(history)
        assert history.best_epoch is not None
        best = history.valid_distance[history.best_epoch - 1]
        assert best == min(value for value in history.valid_distance if value is not None)
        assert evaluate(net, valid, bootstrap=0).hamming == pytest.approx(best)  # the best weights are back
        assert before is not None
        assert best is not None
        assert best < 0.5 * before
        assert f"best validation distance {best:.2%}" in repr(history)
        assert history.plot().get_ylabel().startswith("distance to decisions on record (%)")

    @pytest.mark.filterwarnings("ignore::foresolve.NoImprovementWarning")
    def test_other_monitors(self) -> None:
        train, known = recorded(), top_k_data(seed=1)
        loss = FenchelYoung(PerturbedAdditive(4))
        assert fit(model(), loss, train, recorded(), epochs=1, monitor="loss").valid_loss[0] is not None
        assert fit(model(), loss, train, known, epochs=1).valid_regret[0] is not None
        agreed = fit(model(), loss, train, known, epochs=1, monitor="agreement")
        assert agreed.valid_distance[0] is not None
        with mistake("monitor", '"agreement"', '"loss"'):
            fit(model(), loss, train, recorded(), epochs=1, monitor="regret")

    def test_an_instance_that_cannot_be_decided_is_skipped_in_validation(self) -> None:
        def refuses(theta: np.ndarray) -> np.ndarray:
            if theta[0] > 0:
                raise RuntimeError("no")
            return np.eye(2)[1]

        problem = foresolve.problems.OracleProblem(refuses, n=2)
        y = torch.tensor([[0.0, 1.0], [0.0, 1.0]])
        data = DecisionDataset(torch.tensor([[-1.0], [1.0]]), decisions=y, problem=problem)
        net = torch.nn.Linear(1, 2)
        with torch.no_grad():
            net.weight.copy_(torch.ones(2, 1))
            net.bias.zero_()
        settings = {"epochs": 1, "lr": 1e-6, "on_failure": "skip"}
        with caution("MAP", "`theta`"):
            history = fit(net, foresolve.losses.MAP(shifted=False), data, data, **settings)
        assert history.valid_distance == [0.0]

    def test_what_needs_the_truth_says_so(self) -> None:
        for baseline in (LinearRegression(), RandomForest(2)):
            with mistake("train", "`theta`", type(baseline).__name__):
                fit(baseline, None, recorded())
            with mistake("", "uses_theta = False", kind=NoThetaError):
                baseline.fit(recorded())
        with mistake("theta", "SPOPlus"):
            fit(model(), SPOPlus(), recorded())

    def test_a_random_decision_does_not(self) -> None:
        history = fit(RandomDecision(), None, recorded(), recorded(seed=1))
        assert history.valid_distance[0] is not None
        assert 0 < history.valid_distance[0] < 1
        assert 0 < history.train_loss[0] < 1

    def test_a_policy(self) -> None:
        data = recorded(128)
        net = model()
        fit(net, CaVE(), data, epochs=5, lr=0.05)
        policy = foresolve.Policy(net, data.problem)
        assert evaluate(policy, data).hamming == evaluate(net, data).hamming


class TestCompare:
    def reports(self, **options) -> dict[str, foresolve.learning.Report]:
        data = recorded(64)
        return {"a": evaluate(model(0), data, **options), "b": evaluate(model(1), data, **options)}

    def test_by_distance_by_default(self) -> None:
        reports = self.reports(metric=overlap)
        comparison = compare(reports)
        assert comparison.measure == "hamming"
        gap = reports["b"].instances["hamming"] - reports["a"].instances["hamming"]
        assert comparison["b"].gained == pytest.approx(-gap.mean())
        assert comparison["b"].normalized_regret is None
        assert "regret" not in str(comparison)
        assert compare(reports, measure="overlap", more_is_better=True)["a"].mean == pytest.approx(
            reports["a"].metrics["overlap"]
        )
        assert compare(reports, measure="identical")["a"].mean == pytest.approx(reports["a"].identical)
        assert "normalized_regret" in comparison.to_frame()

    def test_of_the_same_instances_only(self) -> None:
        first = evaluate(model(), recorded(64))
        for other, about in ((recorded(64, seed=5), "reports"), (recorded(32), "reports"), (top_k_data(64), "measure")):
            with mistake(about, "'other'"):
                compare({"first": first, "other": evaluate(model(), other)})

    def test_no_regret_to_compare(self) -> None:
        with mistake("measure", "'regret'"):
            compare(self.reports(), measure="regret")


def test_fractional_decisions_are_watched_by_degrees() -> None:
    """No two of them are ever identical: the share of entries that differ stays at 1, and would stop training."""
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(60, 3, generator=generator)
    simplex = foresolve.LinearProgram([[1.0, 1.0, 1.0]], [1.0], bounds=(0, 1))
    data = DecisionDataset(features, decisions=torch.softmax(features, -1), problem=simplex)
    net = foresolve.MLP(3, 3, seed=0)
    history = fit(net, Imitation(QuadraticRelaxation(0.5)), data, data, epochs=20, lr=0.05, patience=3)
    assert history.best_epoch is not None
    assert history.best_epoch > 3
    distances = [value for value in history.valid_distance if value is not None]
    assert min(distances) < 0.9 * distances[0]
    assert evaluate(net, data).hamming > 0.9


@pytest.mark.parametrize("value", [None, "far", object()])
def test_metrics_that_give_no_numbers(value) -> None:
    with mistake("metric(x, y)", "(4,)", type(value).__name__):
        evaluate(model(), top_k_data(4), metric=lambda x, y: value)

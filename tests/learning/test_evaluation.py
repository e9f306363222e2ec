from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from foresolve.data import DecisionDataset
from foresolve.errors import SolverError
from foresolve.layers import QuadraticRelaxation
from foresolve.learning import Policy, compare, evaluate
from foresolve.learning.metrics import auc
from foresolve.losses import SPOPlus
from foresolve.problems import (
    Affine,
    BipartiteMatching,
    Knapsack,
    LinearProgram,
    OracleProblem,
    Problem,
    ShortestPath,
    SubmodularProblem,
    TopK,
)
from foresolve.sets import ProbabilisticCoverage, UniformMatroid
from learning.instances import top_k_data
from mistakes import mistake


def identity_data(theta: Tensor, problem: Problem) -> DecisionDataset:
    """The features are the predictions to be made."""
    return DecisionDataset(theta, theta, problem)


def random_theta(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_numbers() -> None:
    data, net = top_k_data(40), nn.Linear(3, 5)
    report = evaluate(net, data, batch_size=7, bootstrap=200)
    with torch.no_grad():
        x = data.problem.solve(net(data.features))
    value, best = data.problem.objective(x, data.theta).double(), data.values.double()
    assert report.value == pytest.approx(float(value.mean()), rel=1e-5)
    assert report.optimum == pytest.approx(float(best.mean()), rel=1e-5)
    assert report.regret == pytest.approx(float((best - value).mean()), rel=1e-5)
    assert report.normalized_regret == pytest.approx(float((best - value).sum() / best.abs().sum()), rel=1e-5)
    assert report.relative_regret == pytest.approx(float(((best - value) / best.abs()).mean()), rel=1e-5)
    assert report.worst_case_regret == pytest.approx(report.regret, abs=1e-5)
    with torch.no_grad():
        assert report.mse == pytest.approx(float((net(data.features) - data.theta).square().mean()), rel=1e-5)
    assert report.auc is None
    assert report.feasible is None
    assert len(report) == 40
    low, high = report.intervals["normalized_regret"]
    assert low < report.normalized_regret < high
    assert report.intervals == evaluate(net, data, bootstrap=200).intervals


def test_the_truth_has_no_regret_and_the_mode_is_put_back() -> None:
    data = identity_data(random_theta(10, 6), TopK(6, 2))
    net = nn.Sequential(nn.Dropout(0.9), nn.Identity()).train()
    net[1].eval()
    report = evaluate(net, data)
    assert report.regret == pytest.approx(0.0)
    assert net[0].training
    assert not net[1].training


def problems() -> list[tuple[Problem, list[list[float]]]]:
    """With all their decisions."""

    def sets(n: int, sound: Any) -> list[list[float]]:
        return [list(x) for x in itertools.product([0.0, 1.0], repeat=n) if sound(x)]

    grid = ShortestPath.grid(3, 3)
    arcs = torch.tensor(sets(grid.n, lambda x: True), dtype=torch.float64)
    flows = arcs[grid.check(arcs).feasible].tolist()
    return [
        (TopK(5, 2), sets(5, lambda x: sum(x) == 2)),
        (Knapsack([1, 2, 3, 4], 5), sets(4, lambda x: x[0] + 2 * x[1] + 3 * x[2] + 4 * x[3] <= 5)),
        (BipartiteMatching(2, 2), sets(4, lambda x: max(x[0] + x[1], x[2] + x[3], x[0] + x[2], x[1] + x[3]) <= 1)),
        (grid, flows),
    ]


@pytest.mark.parametrize(("problem", "decisions"), problems(), ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_worst_case_over_ties(problem: Problem, decisions: list[list[float]], levels: int) -> None:
    """Against all decisions that are best under predictions of few distinct numbers."""
    theta = random_theta(12, len(decisions[0]))
    generator = torch.Generator().manual_seed(1)
    predicted = torch.randint(levels, theta.shape, generator=generator).double()
    data = DecisionDataset(predicted, theta, problem)
    report = evaluate(lambda features: features, data, bootstrap=0)
    every = torch.tensor(decisions, dtype=torch.float64)
    for i in range(len(theta)):
        gains, truth = (every @ problem.gain(c) for c in (predicted[i], theta[i]))
        worst = truth[gains >= gains.max() - 1e-9].min()
        assert report.instances["worst_case_regret"][i] == pytest.approx(float(truth.max() - worst), abs=1e-9)
    assert report.worst_case_regret is not None
    assert report.worst_case_regret >= report.regret


def test_classification_metrics() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    generator = torch.Generator().manual_seed(0)
    theta = (torch.rand(30, 4, 3, generator=generator) < 0.3).double()
    predicted = (torch.rand(30, 4, 3, generator=generator, dtype=torch.float64) + 0.5 * theta).clamp(0.01, 0.99)
    predicted = (10 * predicted).round() / 10  # ties
    predicted = predicted.clamp(0.01, 0.99)
    problem = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(4, 2))
    report = evaluate(lambda features: features, DecisionDataset(predicted, theta, problem), batch_size=8)
    labels, scores = theta.flatten().numpy(), predicted.flatten().numpy()
    assert report.auc == pytest.approx(metrics.roc_auc_score(labels, scores))
    assert report.cross_entropy == pytest.approx(metrics.log_loss(labels, scores))
    assert report.worst_case_regret is None
    assert not report.exact
    assert "best known value" in str(report)


def test_auc_of_one_class() -> None:
    assert auc(np.array([0.1, 0.2]), np.array([1.0, 1.0])) is None
    assert auc(np.array([0.5, 0.5, 0.5]), np.array([1.0, 0.0, 0.0])) == 0.5


def test_a_layer_decides() -> None:
    data = identity_data(random_theta(10, 6), TopK(6, 2))
    report = evaluate(lambda features: features, data, QuadraticRelaxation(gamma=1.0))
    assert report.feasible == 1.0
    assert 0.0 < report.normalized_regret < 0.5


def test_predicted_constraints_and_repair() -> None:
    theta = random_theta(10, 4)
    problem = LinearProgram(A_ub=torch.ones(1, 4), b_ub=torch.tensor([1.0]), bounds=(0, 1))
    optimist = LinearProgram(A_ub=torch.ones(1, 4), b_ub=torch.tensor([1.5]), bounds=(0, 1))
    data = identity_data(theta, problem)

    def rule(predicted: Tensor, _: Problem) -> Tensor:
        both = torch.stack([optimist.solve(predicted), problem.solve(predicted)])
        return torch.where(torch.arange(len(predicted)).unsqueeze(-1) < 4, both[0], both[1])

    report = evaluate(lambda features: features, data, rule)
    assert report.feasible == pytest.approx(0.6)
    assert report.regret < 0
    mended = evaluate(lambda features: features, data, rule, repair=lambda x, _: x / x.sum(-1, keepdim=True))
    assert mended.feasible == pytest.approx(0.6)
    assert mended.regret > 0
    with mistake("repair(x, problem)"):
        evaluate(lambda features: features, data, rule, repair=lambda x, _: x)


def test_rounding_of_large_decisions_breaks_no_row() -> None:
    """Single precision holds thousands to about 1e-4: no reason to call a repaired plan infeasible."""
    limits = [333.3, 512.7, 3000.0, 9e9, 9e9]  # three plants, shortage, surplus
    plants = LinearProgram(A_eq=[[1.0, 1.0, 1.0, 1.0, -1.0]], b_eq=[0.0], bounds=(0, limits), sense="min")
    problem = plants.parametrized([1.0, 2.0, 3.0, 9.0, 0.0], b_eq=Affine([[1.0]]))
    loads = 1000.0 + 1000.0 * random_theta(64, 1).float()
    data = identity_data(loads, problem)

    def repair(x: Tensor, truth: Any) -> Tensor:
        gap = truth.b_eq.to(x) - x[..., :3].sum(-1, keepdim=True)
        return torch.cat([x[..., :3], gap.clamp_min(0), (-gap).clamp_min(0)], -1)

    report = evaluate(lambda features: features * 1.0123, data, repair=repair)
    assert report.feasible == 0.0
    dearest = 3.0 * 0.0123 * loads.double()  # the last plant makes what is too much
    assert report.regret == pytest.approx(float(dearest.mean()), rel=1e-3)
    assert evaluate(lambda features: features, data, repair=repair).feasible == 1.0


def test_a_problem_for_each_instance() -> None:
    theta = random_theta(6, 3)
    data = identity_data(theta, Knapsack([2, 3, 4], torch.tensor([[0.0], [3.0], [5.9], [9.0], [2.0], [4.0]])))
    report = evaluate(lambda features: features, data, batch_size=4)
    assert report.regret == pytest.approx(0.0)
    assert np.isnan(report.instances["relative_regret"][0])


def test_a_failing_decision_is_named() -> None:
    def oracle(theta: np.ndarray) -> np.ndarray:
        if (theta < 0).any():
            raise RuntimeError("negative")
        return np.ones(3)

    problem = OracleProblem(oracle, n=3)
    theta = random_theta(7, 3).abs()
    predicted = theta.clone()
    predicted[5] = -1.0
    with mistake("", "instance 5", "RuntimeError: negative", kind=SolverError, instances=[5]):
        evaluate(lambda features: features, DecisionDataset(predicted, theta, problem), batch_size=3)


def test_a_policy_brings_its_rule() -> None:
    data = identity_data(random_theta(10, 6), TopK(6, 2))
    policy = Policy(lambda features: features, data.problem, lambda theta, problem: problem.solve(-theta))
    assert evaluate(policy, data, bootstrap=0).regret > 0
    assert evaluate(policy, data, lambda theta, problem: problem.solve(theta), bootstrap=0).regret == 0


def test_shows() -> None:
    report = evaluate(nn.Linear(3, 5), top_k_data(), bootstrap=50)
    assert "normalized regret" in str(report)
    assert "95% interval" in str(report)
    assert "<td>normalized regret</td>" in report._repr_html_()
    json.dumps(report.to_dict())
    pytest.importorskip("rich")
    assert report.__rich__().row_count == len(report.rows())
    pytest.importorskip("pandas")
    assert list(report.table().columns) == list(report.instances)
    assert len(report.table()) == 32


def test_compare() -> None:
    data = identity_data(random_theta(60, 6), TopK(6, 2))
    noise = 0.3 * torch.randn(60, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    reports = {
        "good": evaluate(lambda features: features, data, batch_size=60),
        "noisy": evaluate(lambda features: features + noise, data, batch_size=60),
        "bad": evaluate(lambda features: -features, data, batch_size=60),
    }
    comparison = compare(reports, reference="noisy")
    assert comparison["bad"].p_value == pytest.approx(2e-4)
    assert comparison["good"].gained == pytest.approx(reports["noisy"].regret - reports["good"].regret)
    low, high = comparison["bad"].interval  # type: ignore[misc]
    assert low < comparison["bad"].gained < high < 0
    assert comparison["noisy"].p_value is None
    assert "<td>bad</td>" in comparison._repr_html_()
    assert compare(reports)["noisy"].gained < 0
    pytest.importorskip("pandas")
    assert list(comparison.to_frame().index) == ["good", "noisy", "bad"]
    with mistake("reports", "'other'"):
        compare({"one": reports["good"], "other": evaluate(nn.Linear(3, 5), top_k_data(60))})
    with mistake("reference", "'nobody'"):
        compare(reports, reference="nobody")
    with mistake("measure", "'fame'"):
        compare(reports, measure="fame")


def test_the_bootstrap_takes_a_seed_or_a_generator() -> None:
    data = identity_data(random_theta(30, 4), TopK(4, 2))

    def intervals(seed: int | torch.Generator) -> dict[str, tuple[float, float]]:
        return evaluate(lambda features: -features, data, seed=seed).intervals

    source = torch.Generator().manual_seed(3)
    first, second = intervals(source), intervals(source)
    assert first == intervals(torch.Generator().manual_seed(3))
    assert first != second
    assert intervals(0) == intervals(0) != first
    with mistake("seed", "torch.Generator", "got -1"):
        intervals(-1)


def test_bad_input() -> None:
    data = top_k_data()
    with mistake("theta_hat", "(32, 4)"):
        evaluate(nn.Linear(3, 4), data)
    with mistake("model(features)"):
        evaluate(lambda features: torch.full((len(features), 5), torch.nan), data)
    with mistake("model(features)"):
        evaluate(lambda features: [1.0], data)  # type: ignore[arg-type,return-value]
    with mistake("data", "DecisionDataset"):
        evaluate(nn.Linear(3, 5), [1])  # type: ignore[arg-type]
    with mistake("rule(theta_hat, problem)", "(1, 5)"):
        evaluate(nn.Linear(3, 5), data, lambda theta, problem: theta[:1])
    with mistake("device", "'cuda:77'"):
        evaluate(nn.Linear(3, 5), data, device="cuda:77")


@pytest.mark.parametrize(
    ("name", "value", "fact"),
    [
        ("rule", "solve", "`rule(theta_hat, problem) -> x`; got 'solve'"),
        ("rule", SPOPlus(), "a loss"),
        ("repair", "clip", "`repair(x, problem) -> x`; got 'clip'"),
        ("bootstrap", "x", "got 'x'"),
        ("bootstrap", -1, "got -1"),
        ("confidence", 95, "0.95"),
        ("confidence", "high", "got 'high'"),
        ("batch_size", 0, "got 0"),
        ("seed", "x", "got 'x'"),
    ],
)
def test_arguments_are_refused_before_any_work(name: str, value: Any, fact: str) -> None:
    data = top_k_data()
    data.problem.solve = lambda theta: pytest.fail("it was solved")  # type: ignore[method-assign]
    with mistake(name, fact):
        evaluate(lambda features: pytest.fail("it was predicted"), data, **{name: value})


def test_rules_and_repairs_that_give_no_decisions() -> None:
    data = top_k_data()
    with mistake("rule(theta_hat, problem)", "(32, n)"):
        evaluate(nn.Linear(3, 5), data, lambda theta, problem: torch.tensor(1.0))
    with mistake("repair(x, problem)", "NoneType"):
        evaluate(nn.Linear(3, 5), data, lambda theta, problem: theta, repair=lambda x, problem: None)  # type: ignore


def test_rules_and_repairs_of_decisions_alone_where_the_prediction_makes_constraints() -> None:
    plant = LinearProgram(A_eq=[[1.0, 1.0, -1.0]], b_eq=[0.0], bounds=(0, [5.0, 99.0, 99.0]), sense="min")
    problem = plant.parametrized([1.0, 6.0, 0.0], b_eq=Affine([[1.0]]))
    load = torch.tensor([[2.0], [7.0]])
    data = DecisionDataset(load, decisions=problem.solve(load), problem=problem)
    for rule in (lambda theta, problem: problem.solve(theta), QuadraticRelaxation(1e-4)):
        report = evaluate(lambda features: features, data, rule)
        assert report.feasible is None
    with mistake("repair", "decisions"):
        evaluate(lambda features: features, data, repair=lambda x, problem: x)


def test_data_without_weight() -> None:
    data = top_k_data(8)
    weighted = DecisionDataset(data.features, data.theta, data.problem, weights=[0.0] * 4 + [1.0] * 4)
    with mistake("data", "weights of 0"):
        evaluate(nn.Linear(3, 5), weighted.subset(slice(0, 4)))


def test_columns_of_a_frame_are_matched_with_those_of_the_model() -> None:
    pandas, linear = pytest.importorskip("pandas"), pytest.importorskip("sklearn.linear_model")
    data = top_k_data(40)
    frame = pandas.DataFrame(data.features.double().numpy(), columns=["u", "v", "w"])
    ridge = linear.Ridge().fit(frame, data.theta.numpy())
    expected = evaluate(ridge, data).normalized_regret
    shuffled = DecisionDataset(frame[["w", "u", "v"]], data.theta, data.problem)
    network = Policy(lambda features: features @ torch.eye(3, 5), data.problem, feature_names=["u", "v", "w"])
    for model in (ridge, Policy(ridge, data.problem), Policy(ridge, data.problem).model):
        assert evaluate(model, shuffled).normalized_regret == pytest.approx(expected)
    assert evaluate(network, shuffled).regret == pytest.approx(evaluate(network, data).regret)
    assert shuffled.solved  # the caller's own, whatever its columns
    other = DecisionDataset(frame.rename(columns={"w": "z"}), data.theta, data.problem)
    with mistake("data", "'w'"):
        evaluate(ridge, other)

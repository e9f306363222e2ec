from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import foresolve
from foresolve.data import DecisionDataset
from foresolve.errors import WeakReferenceWarning
from foresolve.learning import compare, evaluate, fit
from foresolve.learning.weak_reference import loses, mean_decision
from foresolve.models import ConstantMean, LinearRegression, RandomDecision, TableBaseline
from mistakes import caution


def uneven(count: int = 120, seed: int = 0) -> DecisionDataset:
    """The first items are worth more, whatever the features: the mean decides well."""
    generator = torch.Generator().manual_seed(seed)
    theta = torch.linspace(5, 1, 6) + torch.rand(count, 6, generator=generator)
    return DecisionDataset(torch.randn(count, 3, generator=generator), theta, foresolve.TopK(6, 2))


class Reversed(nn.Module):
    """A linear model that begins with the worst decisions, and learns nothing to speak of."""

    def __init__(self) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.linspace(1, 5, 6))

    def forward(self, features: Tensor) -> Tensor:
        return self.shift.expand(len(features), 6)


@pytest.mark.filterwarnings("ignore::foresolve.errors.NoImprovementWarning")
def test_fit_warns_of_a_model_that_loses_to_the_mean() -> None:
    train, valid = uneven().split(80, 40)
    with caution("Reversed", "LinearRegression", kind=WeakReferenceWarning):
        fit(Reversed(), "mse", train, valid, epochs=1, lr=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakReferenceWarning)
        fit(Reversed(), "mse", train, valid, epochs=60, lr=0.1)  # well trained
        fit(Reversed(), "mse", train, epochs=1, lr=1e-3)  # nothing to compare on
        fit(LinearRegression(), None, train, valid)
        fit(ConstantMean(), None, train, valid)
        fit(RandomDecision(), None, train, valid)  # it learns nothing, by design
        fit(Reversed(), "spo+", train, valid, epochs=1, lr=0.5)  # no loss of prediction: no reference


def test_fit_warns_of_a_baseline_that_loses_to_the_mean() -> None:
    class Wrong(TableBaseline):
        def fit_table(self, rows: Tensor, outputs: Tensor, weights: Tensor | None = None) -> None:
            self.mean = outputs.mean(0)

        def predict_table(self, rows: Tensor) -> Tensor:
            return -self.mean.expand(len(rows), -1)

    train, valid = uneven().split(80, 40)
    with caution("Wrong", kind=WeakReferenceWarning):
        fit(Wrong(), None, train, valid)


def test_compare_warns_of_its_reference() -> None:
    data = uneven()
    weak, good = evaluate(Reversed(), data), evaluate(lambda a: data.theta[: len(a)], data)
    with caution("'weak'", kind=WeakReferenceWarning):
        compare({"weak": weak, "good": good})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare({"weak": weak, "good": good}, reference="good")


def test_reports_say_what_the_mean_is_worth() -> None:
    data = uneven()
    report = evaluate(Reversed(), data)
    mean = evaluate(ConstantMean().fit(data), data)
    assert report.mean_regret == pytest.approx(mean.regret)
    assert report.loses_to_mean
    assert not mean.loses_to_mean
    assert "worse than the mean's decision" in str(report).splitlines()[0]
    assert "regret of the mean's decision" in str(report)
    assert report.to_dict()["mean_regret"] == report.mean_regret


def test_weights_count() -> None:
    data = uneven(4)
    weights = torch.tensor([1.0, 0.0, 0.0, 0.0])
    x = mean_decision(data.problem, data.theta, weights)
    assert x is not None
    assert torch.equal(x, data.problem.solve(data.theta[0]))


def test_feasible_sets_of_their_own_have_no_mean_decision() -> None:
    problem = foresolve.LinearProgram(A_ub=torch.ones(1, 3), b_ub=torch.arange(1.0, 6.0).unsqueeze(1), bounds=(0, 1))
    assert mean_decision(problem, torch.rand(5, 3)) is None
    report = evaluate(lambda a: a, DecisionDataset(torch.rand(5, 3), torch.rand(5, 3), problem))
    assert report.mean_regret is None
    assert not report.loses_to_mean


def test_noise_is_no_loss() -> None:
    rng = np.random.default_rng(0)
    assert not any(loses(rng.random(50), rng.random(50)) for _ in range(100))
    assert loses(rng.random(50) + 0.5, rng.random(50))
    assert not loses(np.ones(1), np.zeros(1))
    dependent = np.repeat(rng.normal(0.1, 1, 10), 20)
    assert not loses(dependent, np.zeros(200), None, 20)

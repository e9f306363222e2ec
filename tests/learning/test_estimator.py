from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from foresolve.errors import InvalidInputError
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.learning.policy import Policy
from foresolve.losses.contrastive import NCE
from foresolve.losses.decision import DecisionLoss
from foresolve.losses.prediction import MSE
from foresolve.losses.spo import SPOPlus
from foresolve.models.baselines import ConstantMean, LinearRegression
from foresolve.problems.submodular import SubmodularProblem
from foresolve.problems.top_k import TopK
from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.matroids.graphic import GraphicMatroid
from foresolve.sets.matroids.laminar import UniformMatroid

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import estimator_checks_generator  # noqa: E402

from foresolve.learning.estimator import DecisionEstimator  # noqa: E402


def table(count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, 3))
    return X, X @ rng.normal(size=(3, 5)) + 0.1 * rng.normal(size=(count, 5))


def checks() -> list[Any]:
    """All of scikit-learn's `check_estimator`; none is expected to fail."""
    return list(estimator_checks_generator(DecisionEstimator(epochs=5), mark=None))


@pytest.mark.parametrize("check", checks(), ids=lambda pair: getattr(pair[1], "func", pair[1]).__name__)
def test_scikit_learn_accepts_it(check: Any) -> None:
    estimator, run = check
    run(estimator)


def test_learns_predicts_and_decides() -> None:
    X, y = table()
    estimator = DecisionEstimator(TopK(5, 2), epochs=30, lr=0.05).fit(X, y)
    assert estimator.predict(X).shape == y.shape
    assert estimator.decide(X).shape == y.shape
    assert set(estimator.decide(X).sum(-1)) == {2.0}
    assert -0.05 < estimator.score(X, y) <= 0
    again = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(again.decide(X), estimator.decide(X))


@pytest.mark.parametrize("loss", [MSE, MSE(), NCE(), DecisionLoss(QuadraticRelaxation(gamma=1.0))], ids=str)
def test_losses(loss: Any) -> None:
    X, y = table()
    estimator = DecisionEstimator(TopK(5, 2), loss=loss, epochs=5, hidden=(8,))
    first = clone(estimator).fit(X, y).predict(X)
    np.testing.assert_array_equal(first, estimator.fit(X, y).predict(X))
    np.testing.assert_array_equal(first, estimator.fit(X, y).predict(X))


def test_pipeline_search_and_cross_validation() -> None:
    X, y = table()
    pipeline = make_pipeline(StandardScaler(), DecisionEstimator(TopK(5, 2), epochs=5))
    scores = cross_val_score(pipeline, X, y, cv=3)
    assert scores.shape == (3,)
    assert (scores <= 1e-9).all()
    search = GridSearchCV(pipeline, {"decisionestimator__lr": [1e-6, 0.05]}, cv=2).fit(X, y)
    assert search.best_params_ == {"decisionestimator__lr": 0.05}


def test_predicting_leaves_the_model_as_it_was() -> None:
    """It was once put into evaluation mode and left there, so that a user's further training had no dropout."""
    X, y = table()

    def make(inputs: int, outputs: int) -> nn.Module:
        return nn.Sequential(nn.Dropout(0.9), nn.Linear(inputs, outputs))

    estimator = DecisionEstimator(TopK(5, 2), make, epochs=2).fit(X, y)
    estimator.model_.train()
    np.testing.assert_array_equal(estimator.predict(X), estimator.predict(X))  # without dropout
    assert all(module.training for module in estimator.model_.modules())
    estimator.decide(X)
    estimator.score(X, y)
    assert all(module.training for module in estimator.model_.modules())


def test_decisions_are_those_of_a_policy() -> None:
    X, y = table()
    estimator = DecisionEstimator(TopK(5, 2), epochs=2).fit(X, y)
    policy = Policy(estimator.model_, estimator.problem_)
    np.testing.assert_array_equal(estimator.decide(X), policy(torch.tensor(X)).numpy())


def test_a_model_of_the_user_and_patience() -> None:
    X, y = table()

    def make(inputs: int, outputs: int) -> nn.Module:
        torch.nn.init.zeros_((layer := nn.Linear(inputs, outputs)).weight)
        return layer

    estimator = DecisionEstimator(TopK(5, 2), make, epochs=200, lr=0.5, patience=2, random_state=3).fit(X, y)
    assert isinstance(estimator.model_, nn.Linear)
    assert estimator.history_.stopped_early


@pytest.mark.parametrize("model", [LinearRegression(), lambda inputs, outputs: LinearRegression()], ids=["one", "made"])
def test_a_baseline(model: Any) -> None:
    X, y = table()
    estimator: Any = clone(DecisionEstimator(TopK(5, 2), model))
    estimator.fit(X, y)
    expected = sklearn.linear_model.LinearRegression().fit(X, y).predict(X)
    np.testing.assert_allclose(estimator.predict(X), expected, atol=1e-9)
    assert -0.05 < estimator.score(X, y) <= 0
    assert len(estimator.history_) == 1
    assert len(cross_val_score(estimator, X, y, cv=3)) == 3


def test_a_baseline_stays_as_it_was() -> None:
    model = ConstantMean()
    DecisionEstimator(TopK(5, 2), model, loss=MSE()).fit(*table())
    assert "fitted" not in model.config()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 7, "lr": 0.5}, "`epochs`, `lr` must be left out for a baseline; got epochs=7, lr=0.5"),
        ({"patience": 3}, "`patience` must be left out for a baseline"),
        ({"loss": SPOPlus()}, "`loss` must be None for a baseline; got SPOPlus"),
    ],
)
def test_a_baseline_takes_no_options_of_training(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        DecisionEstimator(TopK(5, 2), LinearRegression(), **options).fit(*table())


@pytest.mark.parametrize(
    ("problem", "loss"),
    [
        (None, MSE),
        (TopK(5, 2), SPOPlus),
        (SubmodularProblem(ProbabilisticCoverage([1.0]), UniformMatroid(5, 2)), DecisionLoss),
        (SubmodularProblem(ProbabilisticCoverage([1.0]), GraphicMatroid([(0, 1)] * 5)), MSE),
    ],
    ids=str,
)
def test_the_loss_by_default_works_with_the_problem(problem: Any, loss: type) -> None:
    estimator = DecisionEstimator(problem)
    estimator.problem_, estimator.model_ = problem, nn.Identity()
    assert type(estimator._loss()) is loss


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "mlp"}, r"`model` must be a function `model\(n_features, n_outputs\)` or a Baseline; got str"),
        ({"model": nn.Linear(3, 5)}, "`model` must be a function .*; got Linear. Each fit starts from a new model"),
        ({"loss": "spo"}, r"`loss` must be a function `loss\(\)`; got 'spo'\. For example `SPOPlus\(\)`"),
        ({"hidden": 8}, r"`hidden` must be widths of layers, such as \(64, 64\); got 8"),
        ({"lr": "x"}, "`lr` must be a finite number > 0; got 'x'"),
        ({"patience": 1, "validation_fraction": 2}, r"`validation_fraction` must be in \(0, 1\); got 2"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        DecisionEstimator(TopK(5, 2), **options).fit(*table())

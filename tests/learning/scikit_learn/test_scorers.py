from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from foresolve.data import DecisionDataset
from foresolve.learning import evaluate, regret_scorer
from foresolve.learning.scikit_learn.scorers import regret_score
from foresolve.problems import TopK

linear = pytest.importorskip("sklearn.linear_model")

from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

from foresolve.learning import DecisionEstimator  # noqa: E402
from mistakes import mistake  # noqa: E402

PROBLEM = TopK(5, 2)


def table(count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, 3))
    return X, X @ rng.normal(size=(3, 5)) + 0.5 * rng.normal(size=(count, 5))


def test_it_is_minus_the_normalized_regret() -> None:
    X, y = table()
    ridge = linear.Ridge().fit(X, y)
    data = DecisionDataset(torch.tensor(X), torch.tensor(y), PROBLEM)
    expected = -evaluate(ridge, data, bootstrap=0).normalized_regret
    assert regret_scorer(PROBLEM)(ridge, X, y) == pytest.approx(expected)
    assert expected < 0
    assert repr(regret_scorer(PROBLEM)) == f"regret_scorer({PROBLEM!r})"


@given(repeats=st.lists(st.integers(0, 3), min_size=6, max_size=6).filter(any), seed=st.integers(0, 99))
def test_a_weight_counts_as_often_as_the_sample_comes(repeats: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    theta_hat, theta = (torch.tensor(rng.normal(size=(6, 5))) for _ in range(2))
    rows = torch.arange(6).repeat_interleave(torch.tensor(repeats))
    expected = regret_score(theta_hat[rows], theta[rows], PROBLEM)
    assert regret_score(theta_hat, theta, PROBLEM, repeats) == pytest.approx(expected)
    assert regret_score(theta, theta, PROBLEM, repeats) == 0


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_in_searches_with_any_number_of_processes(jobs: int) -> None:
    X, y = table()
    scoring = {"regret": regret_scorer(PROBLEM), "r2": "r2"}
    scores = cross_validate(linear.Ridge(), X, y, cv=3, scoring=scoring, n_jobs=jobs, error_score="raise")
    alone = cross_val_score(linear.Ridge(), X, y, cv=3, scoring=regret_scorer(PROBLEM))
    np.testing.assert_array_equal(scores["test_regret"], alone)
    decided = DecisionEstimator(PROBLEM, loss="spo+", epochs=2)
    own = cross_val_score(decided, X, y, cv=3, scoring=regret_scorer(), n_jobs=jobs, error_score="raise")
    np.testing.assert_array_equal(own, cross_val_score(decided, X, y, cv=3))


def test_in_searches() -> None:
    X, y = table()
    search = GridSearchCV(linear.Ridge(), {"alpha": [1.0, 1e9]}, scoring=regret_scorer(PROBLEM), cv=2).fit(X, y)
    assert search.best_params_ == {"alpha": 1.0}
    again = pickle.loads(pickle.dumps(regret_scorer(PROBLEM)))
    assert again(search, X, y) == regret_scorer(PROBLEM)(search, X, y)


def test_an_estimator_that_decides_brings_its_problem() -> None:
    X, y = table()
    estimator: Any = DecisionEstimator(PROBLEM, epochs=2)
    scorer = regret_scorer()
    assert scorer(estimator.fit(X, y), X, y) == estimator.score(X, y)
    pipeline = make_pipeline(StandardScaler(), estimator).fit(X, y)
    assert scorer(pipeline, X, y) == pipeline.score(X, y)
    search = GridSearchCV(estimator, {"lr": [0.1]}, scoring=scorer, cv=2).fit(X, y)
    assert scorer(search, X, y) == search.score(X, y)
    weights = np.arange(60.0)
    assert scorer(estimator, X, y, sample_weight=weights) == estimator.score(X, y, sample_weight=weights)


def test_what_cannot_be_scored() -> None:
    X, y = table()
    with mistake("estimator", "Ridge", "regret_scorer(problem)"):
        regret_scorer()(linear.Ridge().fit(X, y), X, y)
    with mistake("problem", "None", "Ridge"):
        regret_scorer(linear.Ridge())  # type: ignore[arg-type]
    with mistake("estimator.predict(X)", "(60, 5)", "y", "(60, 1)"):
        regret_scorer(PROBLEM)(linear.Ridge().fit(X, y[:, 0]), X, y)
    for wrong, fact in (
        ([1.0], "(60,)"),
        ([1.0] * 59 + [-1.0], "-1 at [59]"),
        ([np.inf] * 60, "inf at [0]"),
        ([0.0] * 60, "weights of 0"),
    ):
        with mistake("sample_weight", fact):
            regret_scorer(PROBLEM)(linear.Ridge().fit(X, y), X, y, wrong)

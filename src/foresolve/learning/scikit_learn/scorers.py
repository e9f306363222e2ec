"""Scorers for scikit-learn: what decisions from predictions are worth."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from foresolve._base import checks
from foresolve.data.dataset import DecisionDataset
from foresolve.data.inputs import by_name, check_some_weight
from foresolve.learning.evaluation import evaluate
from foresolve.learning.scikit_learn.targets import as_theta
from foresolve.problems.base import Problem


def regret_score(theta_hat: Tensor, theta: Tensor, problem: Problem, weights: Any = None) -> float:
    r"""Minus the normalized regret of decisions from predictions, :math:`-\sum_i w_i r_i / \sum_i w_i |f_i^*|`.

    :math:`r_i` is the regret of instance `i`, :math:`f_i^*` its optimum and :math:`w_i` its weight, 1 by default.
    """
    if weights is not None:
        weights = checks.as_tensor("sample_weight", weights)
        if weights.shape != (len(theta),):
            raise checks.fail("sample_weight", f"({len(theta)},), a number for each sample", str(tuple(weights.shape)))
        checks.non_negative("sample_weight", weights)
        check_some_weight("sample_weight", weights)
    data = DecisionDataset(theta_hat, theta, problem, weights=weights)
    return -evaluate(lambda features: features, data, metrics=False, bootstrap=0).normalized_regret


class RegretScorer:
    """`scorer(estimator, X, y, sample_weight=None)`: minus the normalized regret, at most 0, more is better.

    Parameters
    ----------
    problem: what is decided; `None` for that of the estimator.
    """

    def __init__(self, problem: Problem | None = None) -> None:
        if problem is not None and not isinstance(problem, Problem):
            remedy = "A scorer is made first: `scoring=regret_scorer(problem)`"
            raise checks.fail("problem", "a foresolve Problem or None", type(problem).__name__, remedy)
        self.problem = problem

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        problem = _problem_of(estimator) if self.problem is None else self.problem
        y = by_name("y", y, problem.theta_names or _inner(estimator, "target_names_"))
        theta_hat, theta = as_theta("estimator.predict(X)", estimator.predict(X), problem), as_theta("y", y, problem)
        if theta_hat.shape != theta.shape:
            expected = f"{tuple(theta.shape)} to match `y`"
            raise checks.fail("estimator.predict(X)", expected, str(tuple(theta_hat.shape)))
        return regret_score(theta_hat, theta, problem, sample_weight)

    def __repr__(self) -> str:
        return f"regret_scorer({'' if self.problem is None else repr(self.problem)})"


def regret_scorer(problem: Problem | None = None) -> RegretScorer:
    """A scorer of any regressor by the decisions that its predictions lead to: minus the normalized regret.

    For `cross_val_score`, `GridSearchCV` and their like, with any number of jobs.

    Parameters
    ----------
    problem: what is decided. A `DecisionEstimator`, or a pipeline that ends with one, has one of its own.

    Examples
    --------
    >>> import numpy as np, foresolve
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import cross_val_score
    >>> from foresolve.learning import regret_scorer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> y = X @ rng.normal(size=(3, 5))
    >>> scores = cross_val_score(Ridge(), X, y, cv=3, scoring=regret_scorer(foresolve.TopK(5, 2)))
    >>> scores.shape, bool((scores > -0.1).all())
    ((3,), True)
    """
    return RegretScorer(problem)


def _inner(estimator: Any, name: str) -> Any:
    """What an estimator has under this name, or the one within a pipeline or a search; `None` where none has."""
    inner = estimator
    while inner is not None:
        value = getattr(inner, name, None)
        if value is not None:
            return value
        inner = inner.steps[-1][1] if hasattr(inner, "steps") else getattr(inner, "best_estimator_", None)
    return None


def _problem_of(estimator: Any) -> Problem:
    """What a `DecisionEstimator` decides, within pipelines and searches."""
    problem = _inner(estimator, "problem_")
    if isinstance(problem, Problem):
        return problem
    expected = "a fitted DecisionEstimator, or a pipeline that ends with one"
    remedy = "For any other, say what is decided: `regret_scorer(problem)`"
    raise checks.fail("estimator", expected, type(estimator).__name__, remedy)

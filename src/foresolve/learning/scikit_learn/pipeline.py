"""The scikit-learn pipeline that decides."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from foresolve._base.extras import need
from foresolve.data.inputs import column_names
from foresolve.learning.policy import Policy
from foresolve.learning.scikit_learn.estimator import named_decisions
from foresolve.learning.scikit_learn.stand_ins import Pipeline, available_if
from foresolve.problems.base import Problem


def _decides(pipeline: Any) -> bool:
    """Whether the last step decides; the `AttributeError` of the step itself where it does not."""
    return callable(pipeline.steps[-1][1].decide)


class DecisionPipeline(Pipeline):
    """scikit-learn's `Pipeline` with `decide` and `policy()`, where its last step is a `DecisionEstimator`.

    In everything else it is the `Pipeline` that it derives from, with the same arguments: it can be cloned, searched
    over and put into others. `DecisionPipeline(pipeline.steps)` makes one of a `Pipeline`, fitted or not.

    Examples
    --------
    >>> import numpy as np, foresolve
    >>> from sklearn.preprocessing import StandardScaler
    >>> from foresolve.learning import DecisionEstimator, DecisionPipeline
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> y = X @ rng.normal(size=(3, 5))
    >>> pipeline = DecisionPipeline.of(StandardScaler(), DecisionEstimator(foresolve.TopK(5, 2), lr=0.05)).fit(X, y)
    >>> pipeline.decide(X[:2]).sum(-1)
    array([2., 2.])
    >>> pipeline.policy()(X[:2]).x.sum(-1)
    tensor([2., 2.], dtype=torch.float64)
    """

    @classmethod
    def of(cls, *steps: Any) -> Self:
        """A pipeline of steps that get their names from their classes, as `make_pipeline` gives them."""
        return cls(need("sklearn.pipeline", cls.__name__, "learn").make_pipeline(*steps).steps)

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """As in scikit-learn; the names of the columns of `X` are kept, whether the first step keeps them or not."""
        super().fit(X, y, **params)
        self._names = column_names(X)
        return self

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The names of the columns that it was fitted with; there are none where it was fitted with arrays."""
        names = vars(self).get("_names")
        return super().feature_names_in_ if names is None else np.array(names, dtype=object)

    @property
    def problem_(self) -> Problem:
        """The problem, once fitted."""
        return self.steps[-1][1].problem_

    @available_if(_decides)
    def decide(self, X: Any) -> Any:
        """Decisions `(n_samples, n)` of the last step, as `DecisionEstimator.decide` gives them: named as `X` is."""
        table = X if len(self.steps) == 1 else self[:-1].transform(X)
        return named_decisions(np.asarray(self.steps[-1][1].decide(table)), X, self.problem_)

    @available_if(_decides)
    def policy(self) -> Policy:
        """The fitted transformers and model as a `Policy`, to be saved and deployed."""
        need("sklearn.utils.validation", type(self).__name__, "learn").check_is_fitted(self)
        return Policy(self, self.problem_)

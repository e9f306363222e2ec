"""The scikit-learn estimator."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import nn

from foresolve._base import checks
from foresolve._base.extras import need
from foresolve._base.signatures import needed
from foresolve.data.dataset import DecisionDataset
from foresolve.data.inputs import by_name, column_names
from foresolve.learning.fitting import fit
from foresolve.learning.history import History
from foresolve.learning.named_losses import as_loss, default_loss
from foresolve.learning.policy import Policy
from foresolve.learning.prediction import inference, predict
from foresolve.learning.scikit_learn.model_makers import made_model
from foresolve.learning.scikit_learn.scorers import regret_score
from foresolve.learning.scikit_learn.stand_ins import BaseEstimator, RegressorMixin
from foresolve.learning.scikit_learn.targets import as_theta
from foresolve.losses.base import Loss
from foresolve.losses.prediction import MSE
from foresolve.models.heads import Head
from foresolve.models.mlp import MLP
from foresolve.models.reference import Baseline
from foresolve.problems.base import Problem
from foresolve.problems.top_k import TopK

_HEADS: dict[tuple[float, float], Head] = {(0.0, 1.0): "probability", (0.0, np.inf): "non_negative"}


class DecisionEstimator(RegressorMixin, BaseEstimator):
    """A model trained on the decisions it leads to, with scikit-learn's interface.

    `fit(X, y)` takes the true parameters as `y`, `predict(X)` gives predicted ones, `decide(X)` decisions, and
    `score(X, y)` is minus the normalized regret: 0 is best. It works in `Pipeline`, `GridSearchCV` and
    `cross_val_score`; a `DecisionPipeline` decides too. All instances share one problem. Weights and predictions are
    float64. Parameters of several dimensions (a matrix of probabilities) are rows of `y`, `theta.reshape(N, -1)`.
    Where `y` is a frame, its columns are matched with the names of the problem's parameters, or with those of training
    where the problem has none; only names that are strings are matched.

    Parameters
    ----------
    problem: what is decided; by default the best one of all outputs, `TopK(n_outputs, 1)`, and then trained on the
        squared error alone.
    model: by default a linear model, or a network of `hidden`, with outputs in the range that the problem asks for.
        Otherwise a module or `Baseline`, of which each fit trains a copy, from the weights that it has; a class or
        function that makes one, called with `(n_features, n_outputs)` if it needs two arguments and without any if it
        needs none; or a regressor of scikit-learn. Baselines and regressors take none of the options of training.
    loss: a `Loss`, its name ("spo+", "decision", "mse", ...), or a class or function without arguments that makes one.
        By default the first that works with the problem: `SPOPlus` (linear ones),
        `DecisionLoss(MultilinearRelaxation())` (submodular ones), the squared error.
    hidden: widths of the hidden layers of the default model.
    epochs, lr, batch_size, patience: as in `fit`.
    validation_fraction: of the samples, set aside for `patience`.
    random_state: of weights, order and split.
    on_failure, device: as in `fit`.

    Attributes
    ----------
    model_: the trained model.
    problem_: what is decided.
    target_names_: those of the problem's parameters, or of the columns of `y`; `None` where neither has any.
    history_: of the training.

    Examples
    --------
    >>> import numpy as np, foresolve
    >>> from foresolve.learning import DecisionEstimator
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> y = X @ rng.normal(size=(3, 5))
    >>> estimator = DecisionEstimator(foresolve.TopK(5, 2), lr=0.05).fit(X, y)
    >>> float(estimator.decide(X).sum(-1).max()), bool(estimator.score(X, y) > -0.05)
    (2.0, True)
    """

    def __init__(
        self,
        problem: Problem | None = None,
        model: nn.Module | Callable[..., Any] | Any = None,
        loss: Loss | str | Callable[[], Loss] | None = None,
        *,
        hidden: Sequence[int] = (),
        epochs: int = 50,
        lr: float | None = None,
        batch_size: int = 32,
        patience: int | None = None,
        validation_fraction: float = 0.2,
        random_state: Any = 0,
        on_failure: str = "raise",
        device: Any = None,
    ) -> None:
        self.problem = problem
        self.model = model
        self.loss = loss
        self.hidden = hidden
        self.epochs = epochs
        self.lr = lr
        self.batch_size = batch_size
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.on_failure = on_failure
        self.device = device

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on features `(n_samples, n_features)` and true parameters `(n_samples, n_params)`.

        `sample_weight` `(n_samples,)` says how much each sample counts, as `DecisionDataset(weights=...)` does; one
        that counts nothing is as if it were not there. In one batch of all, a weight of 2 is a sample that comes twice.
        """
        validation = _validation()
        if self.problem is not None and not isinstance(self.problem, Problem):
            raise checks.fail("problem", "a foresolve Problem or None", *_no_problem(self.problem))
        names = None if self.problem is None else self.problem.theta_names
        y = by_name("y", y, names)
        self.target_names_ = names or column_names(y)
        checked = {"multi_output": True, "y_numeric": True, "dtype": np.float64, "accept_sparse": "csr"}
        X, y = validation.validate_data(self, X, y, **checked)
        X, y = _dense(X), np.asarray(y, dtype=np.float64)
        if sample_weight is not None:
            sample_weight = _weights(validation, sample_weight, X)
            counts = sample_weight > 0
            X, y, sample_weight = X[counts], y[counts], torch.tensor(sample_weight[counts])
        self._flat = y.ndim == 1
        self.n_outputs_ = 1 if self._flat else y.shape[1]
        seed = int(validation.check_random_state(self.random_state).randint(2**31 - 1))
        self.problem_ = TopK(self.n_outputs_, 1) if self.problem is None else self.problem
        theta = as_theta("y", y, self.problem_)
        self.model_ = self._model(X.shape[1], tuple(theta.shape[1:]), seed).double()
        train, valid = DecisionDataset(torch.tensor(X), theta, self.problem_, weights=sample_weight), None
        if self.patience is not None:
            fraction = checks.between("validation_fraction", self.validation_fraction, "(0, 1)")
            train, valid = train.split(1.0 - fraction, seed=seed)
        self.history_: History = fit(self.model_, self._loss(), train, valid, progress=False, **self._options(seed))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predicted parameters `(n_samples, n_params)`, an array whatever `X` is; one dimension where `y` had one."""
        features = torch.tensor(self._features(X))
        with inference(self.model_):
            theta = predict(self.model_, features).cpu().numpy()
        theta = theta.reshape(len(theta), -1)
        return theta[:, 0] if self._flat else theta

    def decide(self, X: Any) -> Any:
        """Decisions `(n_samples, n)`, as those of a `Policy`.

        An array; where `X` is a DataFrame and the problem has names, a DataFrame with the index of `X` and a column for
        each name.
        """
        features = torch.tensor(self._features(X))
        x = Policy(self.model_, self.problem_)(features).x.cpu().numpy()
        return named_decisions(x, X, self.problem_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        r"""Minus the normalized regret of the decisions under the parameters `y`, each sample by its weight.

        .. math:: -\frac{\sum_i w_i (f^*_i - f_i)}{\sum_i w_i |f^*_i|}
        """
        predicted = self.predict(X)  # first: it knows whether there has been a fit
        y = by_name("y", y, self.target_names_, "those of training")
        theta_hat, theta = as_theta("predict(X)", predicted, self.problem_), as_theta("y", y, self.problem_)
        if sample_weight is not None:
            sample_weight = _weights(_validation(), sample_weight, X)
        return regret_score(theta_hat, theta, self.problem_, sample_weight)

    def policy(self) -> Policy:
        """The trained model and the problem as a `Policy`, to be saved and deployed; frames are matched by name."""
        _validation().check_is_fitted(self)
        return Policy(self, self.problem_)

    def _features(self, X: Any) -> np.ndarray:
        validation = _validation()
        validation.check_is_fitted(self)
        return np.array(_dense(validation.validate_data(self, X, reset=False, dtype=np.float64, accept_sparse="csr")))

    def _model(self, inputs: int, shape: tuple[int, ...], seed: int) -> nn.Module:
        if not isinstance(self.hidden, Iterable):
            raise checks.fail("hidden", "widths of layers, such as (64, 64)", repr(self.hidden))
        if self.model is not None:
            if tuple(self.hidden):
                remedy = "It is about the default model; a model of your own has its widths"
                raise checks.fail("hidden", "left out where `model` is given", repr(self.hidden), remedy)
            return made_model(self.model, inputs, shape, seed)
        head = _HEADS.get(self.problem_.theta_bounds, "free")
        return MLP(inputs, shape[0] if len(shape) == 1 else shape, tuple(self.hidden), head, seed=seed)

    def _loss(self) -> Loss | None:
        loss = self.loss
        if loss is None:
            if isinstance(self.model_, Baseline):
                return None
            return MSE() if self.problem is None else default_loss(self.problem_)
        if isinstance(loss, Loss):
            return copy.deepcopy(loss)  # losses remember: every fit starts from the same
        if not isinstance(loss, str) and _makes_losses(loss):
            loss = loss()
        return as_loss(loss, self.problem_)

    def _options(self, seed: int) -> dict[str, Any]:
        """How to train; for a baseline, only what was set: `fit` refuses that by name."""
        names = ("epochs", "lr", "batch_size", "patience", "on_failure", "device")
        options = {name: getattr(self, name) for name in names}
        if not isinstance(self.model_, Baseline):
            return options | {"seed": seed}
        defaults = inspect.signature(DecisionEstimator.__init__).parameters
        return {name: value for name, value in options.items() if value != defaults[name].default}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.single_output = True
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True  # the score is minus a regret, at most 0, and no R^2
        return tags


def _no_problem(value: Any) -> tuple[str, str]:
    """What was given for a problem, and what was probably meant."""
    if isinstance(value, type):
        return f"the class {value.__name__}", f"Did you mean an instance, `{value.__name__}(...)`?"
    return repr(value) if isinstance(value, str) else type(value).__name__, "For example `foresolve.TopK(5, 2)`"


def named_decisions(x: np.ndarray, X: Any, problem: Problem) -> Any:
    """Decisions `(n_samples, n)` in a frame with the index of `X` and the problem's names, where both have them."""
    if problem.names is None or not hasattr(X, "columns") or not hasattr(X, "index"):
        return x
    return need("pandas", "a table", "learn").DataFrame(x, index=X.index, columns=list(problem.names))


def _validation() -> Any:
    """Where scikit-learn has its checks of arguments."""
    return need("sklearn.utils.validation", "DecisionEstimator", "learn")


def _dense(X: Any) -> np.ndarray:
    """What an encoder gives may be sparse; models are not."""
    return X.toarray() if sp.issparse(X) else X


def _weights(validation: Any, sample_weight: Any, X: Any) -> np.ndarray:
    return validation._check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)


def _makes_losses(loss: Any) -> bool:
    """Whether it is a class of losses, or a function, that can be called without arguments."""
    if isinstance(loss, nn.Module) or not callable(loss):
        return False
    if isinstance(loss, type) and not issubclass(loss, Loss):
        return False
    return needed(loss) == []

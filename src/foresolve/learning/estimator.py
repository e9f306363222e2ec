"""The scikit-learn estimator."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import nn

from foresolve._base import checks
from foresolve._base.extras import need
from foresolve.data.dataset import DecisionDataset
from foresolve.layers.multilinear import MultilinearRelaxation
from foresolve.learning.evaluation import evaluate
from foresolve.learning.fitting import fit
from foresolve.learning.history import History
from foresolve.learning.policy import Policy
from foresolve.learning.prediction import inference, predict
from foresolve.losses.base import Loss, why_not
from foresolve.losses.decision import DecisionLoss
from foresolve.losses.prediction import MSE
from foresolve.losses.spo import SPOPlus
from foresolve.models.mlp import MLP
from foresolve.models.reference import Baseline
from foresolve.problems.base import Problem
from foresolve.problems.top_k import TopK

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data
except ImportError:
    if TYPE_CHECKING:
        raise

    class RegressorMixin:
        """Stands in for scikit-learn's."""

    class BaseEstimator:
        """Stands in for scikit-learn's: the class can be imported and read about, and says what it needs when made."""

        def __new__(cls, *_: Any, **__: Any) -> Self:
            need("sklearn", cls.__name__, "learn")
            return super().__new__(cls)


class DecisionEstimator(RegressorMixin, BaseEstimator):
    """A model trained on the decisions it leads to, with scikit-learn's interface.

    `fit(X, y)` takes the true parameters as `y`, `predict(X)` gives predicted ones, `decide(X)` decisions, and
    `score(X, y)` is minus the normalised regret: 0 is best. It works in `Pipeline`, `GridSearchCV` and
    `cross_val_score`. All instances share one problem. Weights and predictions are float64.

    Parameters
    ----------
    problem: what is decided; by default the best one of all outputs, `TopK(n_outputs, 1)`, and then trained on the
        squared error alone.
    model: a function `(n_features, n_outputs) -> nn.Module`; by default a linear model, or a network of `hidden`. It
        may also make a `Baseline`, or be one, of which a copy is fitted: that takes none of the options of training.
    loss: a `Loss`, or a function without arguments that makes one. By default the first that works with the problem:
        `SPOPlus` (linear ones), `DecisionLoss(MultilinearRelaxation())` (submodular ones), the squared error.
    hidden: widths of the hidden layers of the default model.
    epochs, lr, batch_size, patience: as in `fit`.
    validation_fraction: of the samples, set aside for `patience`.
    random_state: of weights, order and split.
    on_failure, device: as in `fit`.

    Attributes
    ----------
    model_: the trained model.
    problem_: what is decided.
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
        model: Callable[[int, int], nn.Module] | Baseline | None = None,
        loss: Loss | Callable[[], Loss] | None = None,
        *,
        hidden: Sequence[int] = (),
        epochs: int = 50,
        lr: float = 0.01,
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

    def fit(self, X: Any, y: Any) -> Self:
        """Train on features `(n_samples, n_features)` and true parameters `(n_samples, n_params)`."""
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64)
        y = np.asarray(y, dtype=np.float64)
        self._flat = y.ndim == 1
        theta = y.reshape(len(y), -1)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.problem_ = TopK(theta.shape[1], 1) if self.problem is None else self.problem
        self.model_ = self._model(X.shape[1], theta.shape[1], seed).double()
        train, valid = self._data(X, theta), None
        if self.patience is not None:
            fraction = checks.between("validation_fraction", self.validation_fraction, "(0, 1)")
            train, valid = train.split(1.0 - fraction, seed=seed)
        self.history_: History = fit(self.model_, self._loss(), train, valid, progress=False, **self._options(seed))
        self.n_outputs_ = theta.shape[1]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predicted parameters `(n_samples, n_params)`; one dimension where `y` had one."""
        features = torch.tensor(self._features(X))
        with inference(self.model_):
            theta = predict(self.model_, features).cpu().numpy()
        return theta[:, 0] if self._flat else theta

    def decide(self, X: Any) -> np.ndarray:
        """Decisions `(n_samples, n)`, as those of a `Policy`."""
        features = torch.tensor(self._features(X))
        return Policy(self.model_, self.problem_)(features).cpu().numpy()

    def score(self, X: Any, y: Any, sample_weight: None = None) -> float:
        """Minus the normalised regret of the decisions under the parameters `y`."""
        if sample_weight is not None:
            raise checks.fail("sample_weight", "None", type(sample_weight).__name__, "Instances count alike")
        features = self._features(X)
        theta = np.asarray(y, dtype=np.float64).reshape(len(features), -1)
        report = evaluate(self.model_, self._data(features, theta), metrics=False, bootstrap=0)
        return -report.normalized_regret

    def _features(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, reset=False, dtype=np.float64))

    def _data(self, X: np.ndarray, theta: np.ndarray) -> DecisionDataset:
        return DecisionDataset(torch.tensor(X), torch.tensor(theta), self.problem_)

    def _model(self, inputs: int, outputs: int, seed: int) -> nn.Module:
        if self.model is None:
            if not isinstance(self.hidden, Iterable):
                raise checks.fail("hidden", "widths of layers, such as (64, 64)", repr(self.hidden))
            return MLP(inputs, outputs, tuple(self.hidden), seed=seed)
        if isinstance(self.model, Baseline):
            return copy.deepcopy(self.model)
        if isinstance(self.model, nn.Module) or not callable(self.model):
            remedy = "Each fit starts from a new model: give its class, or a function that makes it"
            expected = "a function `model(n_features, n_outputs)` or a Baseline"
            raise checks.fail("model", expected, type(self.model).__name__, remedy)
        return self.model(inputs, outputs)

    def _loss(self) -> Loss | None:
        if isinstance(self.loss, Loss):
            return copy.deepcopy(self.loss)  # losses remember: every fit starts from the same
        if self.loss is not None:
            checks.function("loss", self.loss, "loss()", "For example `SPOPlus()`, or its class")
            return self.loss()
        if isinstance(self.model_, Baseline):
            return None
        if self.problem is None:
            return MSE()
        losses = (SPOPlus(), DecisionLoss(MultilinearRelaxation()), MSE())
        return next(loss for loss in losses if not why_not(loss, self.problem_))

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
        tags.target_tags.single_output = True
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True  # the score is minus a regret, at most 0, and no R^2
        return tags

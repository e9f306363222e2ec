"""Models that can be rebuilt from their name and settings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import torch
from torch import Tensor, nn

from foresolve._base import checks
from foresolve.data.inputs import check_some_weight
from foresolve.errors import ForesolveError
from foresolve.models.heads import Head


class Reference(nn.Module):
    """A model that can be rebuilt from its name and `config()`, so that a saved policy needs no code of the user's.

    Attributes
    ----------
    head: the range of its predictions.
    takes_frames: whether tables come as the caller has them (frames with names, arrays), not as tensors.
    keeps_precision: whether floating features keep their dtype, and are not given that of the first parameter.
    wraps: the arguments that are modules, attributes of the same name: a file describes them one by one.

    Examples
    --------
    >>> import foresolve
    >>> model = foresolve.MLP(3, 4, seed=0)
    >>> again = foresolve.MLP(**model.config())
    >>> again.load_state_dict(model.state_dict())
    <All keys matched successfully>
    """

    takes_frames: bool = False
    keeps_precision: bool = False
    wraps: tuple[str, ...] = ()
    head: Head = "free"
    _config: dict[str, Any]

    def known_columns(self) -> tuple[str, ...] | None:
        """The names of the columns that it was trained on, where it knows them."""
        return None

    def config(self) -> dict[str, Any]:
        """The arguments that make the same model, fit for JSON, but for the modules of `wraps`."""
        return dict(self._config)

    @property
    def predicts(self) -> bool:
        """True if it predicts before it has seen data."""
        return True

    def standardize(self, train: Any) -> None:
        """Take the units of features and targets from training data, where the model has units; `fit` calls it."""


class Baseline(Reference):
    """A model that is fitted in one call, by `fit(train)` or `foresolve.fit(baseline, None, train)`.

    A baseline of your own gives `fit` and `forward`; one that learns from a table of rows derives from
    `TableBaseline` instead. Predictions have the dtype of the features.

    Parameters
    ----------
    fitted: what `config()` says of a fitted baseline: its buffers get their shapes, and values from a state dict.

    Attributes
    ----------
    weighted: whether `fit` lets instances count by `train.weights`; others refuse data with weights.
    uses_theta: whether `fit` looks at the true parameters; others take data of decisions alone too.
    uses_valid: whether it chooses something on validation data: then it is fitted by `fit(train, valid)`, where
        `valid` may be `None`.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.models import Baseline
    >>> class Zeros(Baseline):
    ...     def fit(self, train):
    ...         self.n = train.theta.shape[-1]
    ...         return self
    ...     def forward(self, features):
    ...         return features.new_zeros(len(features), self.n)
    >>> g = torch.Generator().manual_seed(0)
    >>> features = torch.randn(64, 3, generator=g)
    >>> theta = features @ torch.randn(3, 4, generator=g)
    >>> data = foresolve.DecisionDataset(features, theta, foresolve.TopK(4, 2))
    >>> Zeros().fit(data)(features).shape
    torch.Size([64, 4])
    """

    weighted: bool = False
    uses_theta: bool = True
    uses_valid: bool = False
    _buffers_of_fit: tuple[str, ...] = ()
    _fitted: dict[str, Any] | None  # how the training data was laid out; `None` before `fit`

    def __init__(self, fitted: dict[str, Any] | None = None) -> None:
        super().__init__()
        self._config, self._fitted = {}, None
        for name in self._buffers_of_fit:
            self.register_buffer(name, None)
        if fitted is not None:
            self._fitted = {"layout": str(fitted["layout"]), "shape": [int(size) for size in fitted["shape"]]}
            for name in self._buffers_of_fit:
                sizes, integer = fitted["buffers"][name]
                setattr(self, name, torch.zeros(sizes, dtype=torch.int64 if integer else torch.float64))

    @abstractmethod
    def fit(self, train: Any) -> Self:
        """Learn from `train.features` and `train.theta`."""

    @abstractmethod
    def forward(self, features: Any) -> Tensor:
        """Predicted parameters, `(B, ...)` as those of training."""

    def config(self) -> dict[str, Any]:
        if self._fitted is None:
            return dict(self._config)
        buffers = {name: [list(b.shape), b.dtype == torch.int64] for name, b in self._fitted_buffers()}
        return {**self._config, "fitted": {**self._fitted, "buffers": buffers}}

    def validate(self) -> None:
        """Raise an error where buffers from a file are inconsistent."""

    def _fitted_buffers(self) -> Iterator[tuple[str, Tensor]]:
        return ((name, getattr(self, name)) for name in self._buffers_of_fit)

    def check_weights(self, train: Any) -> None:
        """Refuse data with weights, unless the baseline is `weighted`."""
        if train.weights is not None and not self.weighted:
            remedy = "Leave the weights out, or take LinearRegression, ConstantMean or ScikitLearn"
            raise checks.fail("train", f"without weights for {type(self).__name__}", "a data set with weights", remedy)

    def _weights(self, train: Any) -> Tensor | None:
        """Weights of the instances `(N,)`, float64; `None` if all count alike."""
        self.check_weights(train)
        check_some_weight("train", train.weights)
        return None if train.weights is None else train.weights.detach().double()

    def _layout(self) -> dict[str, Any]:
        """The layout of the training data; an error before `fit`."""
        if self._fitted is None:
            raise ForesolveError(f"{type(self).__name__} has not been fitted: call `fit(train)` first")
        return self._fitted

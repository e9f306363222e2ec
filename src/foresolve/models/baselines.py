"""What a learned model must beat, behind the same interface: `model(features) -> theta`."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Self

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.errors import ForesolveError
from foresolve.models.networks import Reference, pair
from foresolve.problems.base import Problem

CHUNK = 2**22  # numbers of a table of pairs, of distances, of nodes, at once


class Baseline(Reference):
    """A model that is fitted in one go, by `fit(train)` or `foresolve.fit(baseline, None, train)`.

    A row of its table is an item where features are `(N, items, d)` and parameters `(N, items, ...)`; a pair where
    features are two sides, `(N, L, d)` and `(N, R, e)`, and parameters `(N, L * R)`; an instance otherwise. Predictions
    have the dtype of the features.
    """

    _buffers_of_fit: tuple[str, ...] = ()

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

    def config(self) -> dict[str, Any]:
        if self._fitted is None:
            return dict(self._config)
        buffers = {name: [list(b.shape), b.dtype == torch.int64] for name, b in self._fitted_buffers()}
        return {**self._config, "fitted": {**self._fitted, "buffers": buffers}}

    def fit(self, train: Any) -> Self:
        """Learn from `train.features` and `train.theta`."""
        features, theta = train.features, train.theta
        layout, shape = _layout(features, theta)
        table = torch.cat([rows for _, rows in _tables(features, layout, len(theta))])
        self._fit(table.double(), theta.detach().reshape(len(table), -1).double())
        self._fitted = {"layout": layout, "shape": list(shape)}
        return self

    def forward(self, features: Any) -> Tensor:
        if self._fitted is None:
            raise ForesolveError(f"{type(self).__name__} has not been fitted: call `fit(train)` first")
        layout, shape = self._fitted["layout"], self._fitted["shape"]
        first = _first(features, layout)
        count = len(first)
        found = [
            self._predict(rows.double()).reshape(size, *_lead(features, layout), *shape)
            for size, rows in _tables(features, layout, count)
        ]
        theta = torch.cat(found).to(first.dtype if first.is_floating_point() else torch.get_default_dtype())
        return theta.flatten(1, 2) if layout == "pair" else theta

    @abstractmethod
    def _fit(self, x: Tensor, y: Tensor) -> None:
        """From a table `(R, d)` and outputs `(R, o)`, float64."""

    @abstractmethod
    def _predict(self, x: Tensor) -> Tensor:
        """Outputs `(R, o)`."""

    def validate(self) -> None:
        """Raise an error where buffers from a file are inconsistent."""

    def _fitted_buffers(self) -> Iterator[tuple[str, Tensor]]:
        return ((name, getattr(self, name)) for name in self._buffers_of_fit)

    def _check_width(self, x: Tensor, width: int) -> None:
        if x.shape[1] != width:
            raise checks.fail("features", f"of {width} numbers a row, as in training", str(x.shape[1]))


class ConstantMean(Baseline):
    """The mean of the parameters in training, whatever the features are."""

    _buffers_of_fit = ("mean",)
    mean: Tensor

    def fit(self, train: Any) -> Self:
        self.mean = train.theta.detach().double().mean(0)
        self._fitted = {"layout": "instance", "shape": list(self.mean.shape)}
        return self

    def forward(self, features: Any) -> Tensor:
        if self._fitted is None:
            raise ForesolveError("ConstantMean has not been fitted: call `fit(train)` first")
        first = _first(features, "pair") if isinstance(features, dict | tuple) else features
        dtype = first.dtype if first.is_floating_point() else torch.get_default_dtype()
        return self.mean.to(dtype).expand(len(first), *self.mean.shape).clone()

    def _fit(self, x: Tensor, y: Tensor) -> None: ...

    def _predict(self, x: Tensor) -> Tensor: ...


class LinearRegression(Baseline):
    r"""Least squares, with a ridge where asked for.

    .. math::
        \min_{W, b} \; \sum_i |W a_i + b - \theta_i|^2 + \text{ridge} \, |W|^2

    Without a ridge, the solution of least norm (after centring) where features depend on each other.

    Parameters
    ----------
    ridge: `>= 0`.
    bounds: `(low, high)`, `None` for no bound: predictions are cut off there, where the problem has a domain.
    """

    _buffers_of_fit = ("weight", "offset")
    weight: Tensor
    offset: Tensor

    def __init__(
        self,
        ridge: float = 0.0,
        bounds: Sequence[float | None] = (None, None),
        fitted: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(fitted)
        if not math.isfinite(ridge) or ridge < 0:
            raise checks.fail("ridge", "a finite number >= 0", str(ridge))
        low, high = bounds
        self._config = {"ridge": float(ridge), "bounds": [low, high]}

    def _fit(self, x: Tensor, y: Tensor) -> None:
        x_mean, y_mean = x.mean(0), y.mean(0)
        left, values, right = torch.linalg.svd(x - x_mean, full_matrices=False)
        ridge = self._config["ridge"]
        kept = values > values.max().clamp_min(0) * 1e-12 * max(x.shape) if len(values) else values > 0
        scale = torch.where(kept, values / (values.square() + ridge), 0.0)
        self.weight = right.mT @ (scale[:, None] * (left.mT @ (y - y_mean)))
        self.offset = y_mean - x_mean @ self.weight

    def _predict(self, x: Tensor) -> Tensor:
        self._check_width(x, len(self.weight))
        low, high = self._config["bounds"]
        y = x @ self.weight + self.offset
        return y if low is None and high is None else y.clamp(low, high)


class NearestNeighbors(Baseline):
    """The mean of the parameters of the `k` rows of training with the nearest features (Euclidean).

    Parameters
    ----------
    k: how many; fewer where training has fewer rows.
    """

    _buffers_of_fit = ("table", "outputs")
    table: Tensor
    outputs: Tensor

    def __init__(self, k: int = 5, fitted: dict[str, Any] | None = None) -> None:
        super().__init__(fitted)
        self._config = {"k": checks.positive_int("k", k)}

    def _fit(self, x: Tensor, y: Tensor) -> None:
        self.table, self.outputs = x, y

    def _predict(self, x: Tensor) -> Tensor:
        self._check_width(x, self.table.shape[1])
        found = []
        for part in x.split(max(1, CHUNK // max(1, len(self.table)))):
            nearest = torch.cdist(part, self.table).topk(min(self._config["k"], len(self.table)), largest=False)
            found.append(self.outputs[nearest.indices].mean(1))
        return torch.cat(found)

    def validate(self) -> None:
        if self.table.ndim != 2 or self.outputs.ndim != 2 or len(self.table) != len(self.outputs):
            raise ForesolveError("the tables of NearestNeighbors do not belong together")


class RandomDecision(Baseline):
    """A decision at random: the best one for parameters that are uniform on [0, 1], of the shape of the true ones.

    The draw is feasible for every problem, and uniform where the problem treats all variables alike. It is a model,
    `evaluate(RandomDecision().fit(train), test)`, or a rule: `evaluate(model, test, RandomDecision().decide)`.

    Parameters
    ----------
    seed: of the generator that all draws of this object come from.
    """

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self._generator = torch.Generator().manual_seed(seed)

    def fit(self, train: Any) -> Self:
        self._fitted = {"layout": "instance", "shape": list(train.theta.shape[1:])}
        return self

    def forward(self, features: Any) -> Tensor:
        if self._fitted is None:
            raise ForesolveError("RandomDecision has not been fitted: call `fit(train)` first")
        first = _first(features, "pair") if isinstance(features, dict | tuple) else features
        return torch.rand(len(first), *self._fitted["shape"], generator=self._generator).to(first.device)

    def decide(self, theta_hat: Tensor, problem: Problem) -> Tensor:
        """A random decision for each instance, whatever the prediction."""
        return problem.solve(torch.rand(theta_hat.shape, generator=self._generator).to(theta_hat))

    def _fit(self, x: Tensor, y: Tensor) -> None: ...

    def _predict(self, x: Tensor) -> Tensor: ...


def _layout(features: Any, theta: Tensor) -> tuple[str, tuple[int, ...]]:
    """What a row of the table is, and the shape of its outputs."""
    if isinstance(features, dict | tuple):
        a, b = pair(features)
        if theta.ndim != 2 or theta.shape[1] != a.shape[1] * b.shape[1]:
            expected = f"(N, {a.shape[1] * b.shape[1]}), one for each pair of the features"
            raise checks.fail("theta", expected, str(tuple(theta.shape)))
        return "pair", ()
    lead = features.ndim - 1
    if lead >= 2 and features.shape[:-1] == theta.shape[:lead]:
        return "item", tuple(theta.shape[lead:])
    return "instance", tuple(theta.shape[1:])


def _first(features: Any, layout: str) -> Tensor:
    return pair(features)[0] if layout == "pair" else features


def _lead(features: Any, layout: str) -> tuple[int, ...]:
    """The dimensions between the instance and its outputs."""
    if layout == "pair":
        a, b = pair(features)
        return a.shape[1], b.shape[1]
    return tuple(features.shape[1:-1]) if layout == "item" else ()


def _tables(features: Any, layout: str, count: int) -> Iterator[tuple[int, Tensor]]:
    """The number of instances and their rows `(R, d)`, a part at a time."""
    if layout != "pair":
        rows = features.reshape(-1, features.shape[-1]) if layout == "item" else features.reshape(count, -1)
        yield count, rows
        return
    a, b = pair(features)
    numbers = a.shape[1] * b.shape[1] * (a.shape[2] + b.shape[2])
    for one, other in zip(*(side.split(max(1, CHUNK // max(1, numbers))) for side in (a, b)), strict=True):
        sides = one.unsqueeze(2).expand(-1, -1, b.shape[1], -1), other.unsqueeze(1).expand(-1, a.shape[1], -1, -1)
        yield len(one), torch.cat(sides, -1).flatten(0, 2)

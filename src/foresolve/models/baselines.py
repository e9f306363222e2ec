"""Baselines that a learned model must beat, behind the same interface: `model(features) -> theta`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, Self

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.randomness import Seed, as_generator
from foresolve.errors import ForesolveError
from foresolve.models.cross_validation import best_neighbors, best_ridge
from foresolve.models.reference import Baseline
from foresolve.models.table import CHUNK, TableBaseline, check_bounds, first_table, float_dtype
from foresolve.models.targets import TargetBaseline, Transform
from foresolve.problems.base import Problem


class ConstantMean(TargetBaseline):
    """The mean of the parameters in training, regardless of the features.

    Parameters
    ----------
    transform: "log" for the geometric mean, `exp(mean(log(theta)))`: of a lognormal the median, which is less than its
        mean. "scale" changes nothing but rounding.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.models import ConstantMean
    >>> g = torch.Generator().manual_seed(0)
    >>> features = torch.randn(64, 3, generator=g)
    >>> theta = features @ torch.randn(3, 4, generator=g)
    >>> data = foresolve.DecisionDataset(features, theta, foresolve.TopK(4, 2))
    >>> model = ConstantMean().fit(data)
    >>> torch.allclose(model(features)[0], theta.mean(0))
    True
    """

    weighted = True
    _buffers_of_fit = ("mean",)
    mean: Tensor

    def __init__(self, transform: Transform | None = None, fitted: dict[str, Any] | None = None) -> None:
        super().__init__(fitted, transform)

    def fit(self, train: Any) -> Self:
        weights = self._weights(train)
        self.mean = _mean(self._targets(train.theta.detach().double()), weights)
        self._fitted = {"layout": "instance", "shape": list(self.mean.shape)}
        return self

    def forward(self, features: Any) -> Tensor:
        self._layout()
        first = first_table(features)
        theta = self._restored(self.mean).to(float_dtype(first))
        return theta.expand(len(first), *theta.shape).clone()


class LinearRegression(TableBaseline):
    r"""Least squares, with an optional ridge penalty.

    .. math::
        \min_{W, b} \; \sum_i w_i |W a_i + b - \theta_i|^2 + \text{ridge} \, |W|^2

    with weights :math:`w_i` of instances where the data has them, otherwise 1. Without a ridge, the solution of least
    norm (after centring) where features depend on each other.

    Parameters
    ----------
    ridge: `>= 0`, or "cv": of 49 ridges, from :math:`10^{-10}` to :math:`10^2` times the largest squared singular value
        of the centered (weighted) features, the one with the least weighted sum of squared errors over all outputs,
        where each row is predicted from the others; exact, from one decomposition. Where an instance has several rows
        (items, pairs), a row is left out alone, and the others of its instance stay: with features in common, the
        ridge comes out small. `model.chosen` is the ridge that it was.
    bounds: `(low, high)`, `None` for no bound: predictions are cut off there, where the problem has a domain.
    transform: "log" fits :math:`\log \theta_i` and predicts :math:`\exp(W a + b)`: where :math:`\theta` given the
        features is lognormal, its median, which is less than its mean. "scale" divides each output by its standard
        deviation: it changes nothing but what `ridge="cv"` adds up.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.models import LinearRegression
    >>> g = torch.Generator().manual_seed(0)
    >>> features = torch.randn(64, 3, generator=g)
    >>> theta = features @ torch.randn(3, 4, generator=g)
    >>> data = foresolve.DecisionDataset(features, theta, foresolve.TopK(4, 2))
    >>> model = LinearRegression().fit(data)
    >>> torch.allclose(model(features), theta, atol=1e-4)
    True
    """

    weighted = True
    _buffers_of_fit = ("weight", "offset")
    weight: Tensor
    offset: Tensor

    def __init__(
        self,
        ridge: float | Literal["cv"] = 0.0,
        bounds: Sequence[float | None] = (None, None),
        transform: Transform | None = None,
        fitted: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(fitted, transform)
        if ridge != "cv" and (isinstance(ridge, str) or not math.isfinite(ridge) or ridge < 0):
            raise checks.fail("ridge", 'a finite number >= 0, or "cv"', repr(ridge))
        low, high = check_bounds(bounds)
        self._config = {"ridge": ridge if ridge == "cv" else float(ridge), "bounds": [low, high]}

    def fit_table(self, rows: Tensor, outputs: Tensor, weights: Tensor | None = None) -> None:
        center, mean = _mean(rows, weights), _mean(outputs, weights)
        share = rows.new_full((len(rows),), 1 / len(rows)) if weights is None else weights / weights.sum()
        rows, outputs = rows - center, outputs - mean
        if weights is not None:  # weighted squares are the squares of rows times the root of their weight
            root = weights.sqrt().unsqueeze(-1)
            rows, outputs = rows * root, outputs * root
        left, values, right = torch.linalg.svd(rows, full_matrices=False)
        nonzero = values > values.max().clamp_min(0) * 1e-12 * max(rows.shape) if len(values) else values > 0
        ridge = self._config["ridge"]
        if ridge == "cv":
            ridge = self.chosen = best_ridge(left[:, nonzero], values[nonzero], outputs, share)
        scale = torch.where(nonzero, values / (values.square() + ridge), 0.0)
        self.weight = right.mT @ (scale[:, None] * (left.mT @ outputs))
        self.offset = mean - center @ self.weight

    def predict_table(self, rows: Tensor) -> Tensor:
        self._check_width(rows, len(self.weight))
        return rows @ self.weight + self.offset

    def _restored(self, targets: Tensor) -> Tensor:
        low, high = self._config["bounds"]
        theta = super()._restored(targets)
        return theta if low is None and high is None else theta.clamp(low, high)


class NearestNeighbors(TableBaseline):
    r"""The mean of the parameters of the `k` rows of training with the nearest features (Euclidean).

    Parameters
    ----------
    k: how many; fewer where training has fewer rows. "cv" takes, of 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70 and 100, the
        one with the least mean squared error over all outputs, where each row of training (of more than 4096, as many
        at random) is predicted from the others. Where an instance has several rows (items, pairs), the others of its
        instance stay: if they are its nearest, `k` comes out small. `model.chosen` is the `k` that it was.
    transform: "log" averages :math:`\log \theta`, and so predicts the neighbors' geometric mean: of a lognormal the
        median, which is less than its mean. "scale" divides each output by its standard deviation: it changes nothing
        but what `k="cv"` adds up.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.models import NearestNeighbors
    >>> g = torch.Generator().manual_seed(0)
    >>> features = torch.randn(64, 3, generator=g)
    >>> theta = features @ torch.randn(3, 4, generator=g)
    >>> data = foresolve.DecisionDataset(features, theta, foresolve.TopK(4, 2))
    >>> torch.equal(NearestNeighbors(k=1).fit(data)(features), theta)
    True
    """

    _buffers_of_fit = ("table", "outputs")
    table: Tensor
    outputs: Tensor

    def __init__(
        self,
        k: int | Literal["cv"] = 5,
        transform: Transform | None = None,
        fitted: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(fitted, transform)
        if isinstance(k, str) and k != "cv":
            raise checks.fail("k", 'an integer >= 1, or "cv"', repr(k))
        self._config = {"k": k if k == "cv" else checks.positive_int("k", k)}
        if k == "cv" and fitted is not None:
            checks.positive_int("chosen", self.chosen)

    def fit_table(self, rows: Tensor, outputs: Tensor, weights: Tensor | None = None) -> None:
        self.table, self.outputs = rows, outputs
        if self._config["k"] == "cv":
            self.chosen = best_neighbors(rows, outputs)

    def predict_table(self, rows: Tensor) -> Tensor:
        self._check_width(rows, self.table.shape[1])
        k = self.chosen if self._config["k"] == "cv" else self._config["k"]
        k = min(int(k or 1), len(self.table))
        means = []
        for part in rows.split(max(1, CHUNK // max(1, len(self.table)))):
            # From differences: products, which are faster, drown those of small features beside large ones.
            distances = torch.cdist(part, self.table, compute_mode="donot_use_mm_for_euclid_dist")
            nearest = distances.topk(k, largest=False)
            means.append(self.outputs[nearest.indices].mean(1))
        return torch.cat(means)

    def validate(self) -> None:
        if self.table.ndim != 2 or self.outputs.ndim != 2 or len(self.table) != len(self.outputs):
            raise ForesolveError("the tables of NearestNeighbors do not belong together")


class RandomDecision(Baseline):
    """A decision at random: the best one for parameters that are uniform on [0, 1], of the shape of the true ones.

    The draw is feasible for every problem, and uniform where the problem treats all variables alike. It is a model,
    `evaluate(RandomDecision().fit(train), test)`, or a rule: `evaluate(model, test, RandomDecision().rule)`.

    Parameters
    ----------
    seed: of the generator that all draws of this object come from: an integer, a `torch.Generator`, or `None` for
        torch's global one.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.models import RandomDecision
    >>> g = torch.Generator().manual_seed(0)
    >>> features = torch.randn(64, 3, generator=g)
    >>> theta = features @ torch.randn(3, 4, generator=g)
    >>> data = foresolve.DecisionDataset(features, theta, foresolve.TopK(4, 2))
    >>> report = foresolve.evaluate(RandomDecision().fit(data), data)
    >>> bool(report.regret > 0)
    True
    """

    uses_theta = False

    weighted = True  # of the training data it takes the shape alone

    def __init__(self, seed: Seed | None = 0) -> None:
        super().__init__()
        self._generator = None if seed is None else as_generator("seed", seed)

    def fit(self, train: Any) -> Self:
        shape = train.theta.shape[1:] if train.has_theta else train.problem.theta_shape
        if None in shape:
            raise checks.fail("train", "with `theta`, whose size the problem leaves open", "decisions alone")
        self._fitted = {"layout": "instance", "shape": list(shape)}
        return self

    def forward(self, features: Any) -> Tensor:
        shape, first = self._layout()["shape"], first_table(features)
        return self._draw((len(first), *shape)).to(first.device)

    def rule(self, theta_hat: Tensor, problem: Problem) -> Tensor:
        """A random decision for each instance, whatever the prediction."""
        return problem.solve(self._draw(theta_hat.shape).to(theta_hat))

    def _draw(self, shape: Sequence[int]) -> Tensor:
        device = None if self._generator is None else self._generator.device
        return torch.rand(tuple(shape), generator=self._generator, device=device)


def _mean(values: Tensor, weights: Tensor | None) -> Tensor:
    """Over the first dimension, each entry counted by its weight."""
    if weights is None:
        return values.mean(0)
    return torch.tensordot(weights / weights.sum(), values, 1)

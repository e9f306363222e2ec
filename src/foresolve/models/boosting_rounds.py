"""The rounds of boosting: a tree is grown, added, and validated."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foresolve.data.dataset import DecisionDataset
from foresolve.losses.base import Loss
from foresolve.models.trees import target_unit

LOOKS = 25  # times that a stage is validated
BATCH = 256  # instances whose gradients are worked out at once


@dataclass(frozen=True)
class Stage:
    """Trees of one kind: of squared errors, or of the gradient of a loss."""

    loss: Loss | None = None


squares = Stage()


@dataclass
class Rounds:
    """Scores of all rows, and the trees that make them.

    Attributes
    ----------
    train, valid: with the best decisions where they are used.
    rows, valid_rows: the tables, `(R, d)`, in `units` `(d,)`.
    targets: `(R, o)`, transformed.
    restored: from scores to parameters, differentiable.
    bounds: between which parameters are put.
    grower: a new tree of scikit-learn for a seed.
    count, rate, share, seed: trees of a stage, learning rate, share of the instances of a tree, of all draws.
    trees: what was grown, each with the factors of its outputs.
    """

    train: DecisionDataset
    valid: DecisionDataset | None
    rows: np.ndarray
    valid_rows: np.ndarray | None
    units: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None
    restored: Callable[[Tensor], Tensor]
    bounds: tuple[float | None, float | None]
    grower: Callable[[int], Any]
    count: int
    rate: float
    share: float
    seed: int
    trees: list[tuple[Any, np.ndarray]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.offset = np.average(self.targets, axis=0, weights=self.weights)
        self.scores = np.broadcast_to(self.offset, self.targets.shape).copy()
        self.valid_scores = None
        if self.valid_rows is not None:
            self.valid_scores = np.broadcast_to(self.offset, (len(self.valid_rows), len(self.offset))).copy()

    def grow(self, stage: Stage) -> None:
        """Add the trees of a stage; with validation data, as many as are best there, those before it included."""
        lacking, scale = self.targets - self.scores, 1.0
        unit = np.full_like(self.offset, target_unit(lacking)) if stage.loss is None else _spread(lacking)
        every = max(1, self.count // LOOKS)
        kept, best = len(self.trees), self._look()
        for number in range(self.count):
            drawn = self._drawn()
            steps = self._steps(stage, drawn, number / max(1, self.count - 1))
            steps = steps / unit if stage.loss is None else steps * unit
            if number == 0 and stage.loss is not None:
                scale = float(np.sqrt(np.square(steps).mean()))
            if stage.loss is not None and (scale == 0 or not steps.any()):
                break  # no instance has a gradient: every decision is the best one
            self._add(steps / scale, unit * self.rate, drawn)
            if self.valid is not None and ((number + 1) % every == 0 or number + 1 == self.count):
                score = self._look()
                if score < best:
                    kept, best = len(self.trees), score
        if self.valid is not None:
            self._cut(kept)

    def stump(self) -> tuple[Any, np.ndarray]:
        """A tree that adds nothing, for a model without any other."""
        tree = self.grower(self.seed).fit(self.rows[:1], np.zeros((1, len(self.offset))))
        return tree, np.zeros_like(self.offset)

    def _drawn(self) -> np.ndarray | None:
        """Positions of the instances of a tree; `None` for all."""
        total = len(self.train)
        size = max(1, round(self.share * total))
        return None if size >= total else np.sort(self.rng.choice(total, size, replace=False))

    def _rows_of(self, instances: np.ndarray | None) -> np.ndarray | slice:
        """Positions of the rows of instances."""
        if instances is None:
            return slice(None)
        each = len(self.rows) // len(self.train)
        return (instances[:, None] * each + np.arange(each)).ravel()

    def _steps(self, stage: Stage, drawn: np.ndarray | None, progress: float) -> np.ndarray:
        """Negative gradients for the scores of the rows that were drawn."""
        rows = self._rows_of(drawn)
        if stage.loss is None:
            return self.targets[rows] - self.scores[rows]
        for layer in stage.loss.smoothed_layers:
            layer.progress = progress
        instances = np.arange(len(self.train)) if drawn is None else drawn
        each = len(self.rows) // len(self.train)
        parts = []
        for index in np.array_split(instances, max(1, math.ceil(len(instances) / BATCH))):
            scores = self.scores.reshape(len(self.train), each, -1)[index].reshape(len(index) * each, -1)
            parts.append(-self._gradient(stage.loss, index, scores))
        return np.concatenate(parts)

    def _gradient(self, loss: Loss, index: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """The gradient of the loss for the scores `(R, o)` of instances; what would lead out of the bounds is 0."""
        truth = self.train.theta
        leaf = torch.from_numpy(scores).to(truth.device).requires_grad_()
        theta = self.restored(leaf)
        low, high = self.bounds
        shape = (len(index), *truth.shape[1:])
        clamped = _clamped(theta.detach(), self.bounds).reshape(shape).to(truth.dtype)
        gradient = loss.gradient(clamped, self.train[torch.from_numpy(index)]).reshape(theta.shape).to(theta.dtype)
        if low is not None:
            gradient = torch.where((theta <= low) & (gradient > 0), 0.0, gradient)
        if high is not None:
            gradient = torch.where((theta >= high) & (gradient < 0), 0.0, gradient)
        (chained,) = torch.autograd.grad(theta, leaf, gradient)
        return chained.cpu().numpy()

    def _add(self, steps: np.ndarray, unit: np.ndarray, drawn: np.ndarray | None) -> None:
        rows = self._rows_of(drawn)
        tree = self.grower(int(self.rng.integers(2**31 - 1)))
        tree.fit(self.rows[rows], steps, sample_weight=None if self.weights is None else self.weights[rows])
        self.trees.append((tree, unit))
        self._shift(tree, unit)

    def _shift(self, tree: Any, unit: np.ndarray) -> None:
        """Add what a tree says to all scores."""
        self.scores += tree.predict(self.rows).reshape(self.scores.shape) * unit
        if self.valid_scores is not None:
            self.valid_scores += tree.predict(self.valid_rows).reshape(self.valid_scores.shape) * unit

    def _cut(self, kept: int) -> None:
        """Leave out the trees after the best number."""
        for tree, unit in self.trees[kept:]:
            self._shift(tree, -unit)
        self.trees = self.trees[:kept]

    def _look(self) -> float:
        """The mean regret on validation data, weighted; the squared error where `theta` makes constraints."""
        if self.valid is None or self.valid_scores is None:
            return math.inf
        truth = self.valid.theta
        theta = self.restored(torch.from_numpy(self.valid_scores).to(truth.device))
        theta_hat = _clamped(theta, self.bounds).reshape(truth.shape).to(truth.dtype)
        weights = torch.ones(len(truth)) if self.valid.weights is None else self.valid.weights
        fixed = "fixed" in self.valid.problem.traits
        losses = (
            _regrets(theta_hat, self.valid) if fixed else (theta_hat - truth).square().reshape(len(truth), -1).mean(1)
        )
        weights = weights.to(losses)
        return float((losses * weights).sum() / weights.sum())


def _regrets(theta_hat: Tensor, data: DecisionDataset) -> Tensor:
    """Regrets of the decisions for predictions, `(N,)`."""
    parts = []
    for index in torch.arange(len(data)).split(BATCH):
        batch = data[index]
        x = batch.problem.decide(theta_hat[index])[0]
        parts.append(batch.best()[1].double() - batch.problem.objective(x, batch.theta).double())
    return torch.cat(parts)


def _clamped(theta: Tensor, bounds: tuple[float | None, float | None]) -> Tensor:
    return theta if bounds == (None, None) else theta.clamp(*bounds)


def _spread(errors: np.ndarray) -> np.ndarray:
    """Root mean squares of columns; of those without errors the mean of the others, or 1."""
    spread = np.sqrt(np.square(errors).mean(0))
    usual = spread[spread > 0].mean() if (spread > 0).any() else 1.0
    return np.where(spread > 0, spread, usual)

"""Numbers about predictions and decisions."""

from __future__ import annotations

import importlib  # scipy.stats takes as long to import as the rest of foresolve together

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from foresolve.data.batch import Batch
from foresolve.problems.base import Problem

# Of the truth in units of its largest entry, against the prediction in units of its own: what breaks ties.
TIE, TOLERANCE = 1e-6, 1e-9
# Entries of decisions that are nearer than this, relative to their size, are the same.
ROUNDING = 1e-6


def auc(score: np.ndarray, label: np.ndarray) -> float | None:
    """The probability that a positive entry scores above a negative one, ties counted half; `None` for one class."""
    positive = label > 0.5
    many, others = int(positive.sum()), int((~positive).sum())
    if not many or not others:
        return None
    ranks = importlib.import_module("scipy.stats").rankdata(score)
    return float((ranks[positive].sum() - many * (many + 1) / 2) / (many * others))


def cross_entropy(probability: Tensor, label: Tensor) -> Tensor:
    """Of each instance, mean over entries; logarithms are cut off at -100."""
    entries = functional.binary_cross_entropy(probability.double(), label.double(), reduction="none")
    return entries.reshape(len(entries), -1).mean(-1)


def differing(x: Tensor, y: Tensor) -> Tensor:
    """Which entries of decisions differ from those of `y`, by more than a solver's rounding."""
    x, y = x.detach().double(), y.detach().double().to(x.device)
    return (x - y).abs() > ROUNDING * y.abs().clamp_min(1.0)


def ranges(decisions: Tensor) -> Tensor:
    """How far each entry of decisions `(N, n)` goes, from its least to its largest; 1 where it is always the same."""
    span = decisions.detach().double().amax(0) - decisions.detach().double().amin(0)
    return torch.where(span > 0, span, 1.0)


def distance(x: Tensor, y: Tensor, unit: Tensor) -> Tensor:
    r"""How far each decision is from that of `y`, `(B,)`, with entries in units `(n,)` of their own.

    .. math:: \frac1n \sum_j |x_j - y_j| / u_j,

    the share of entries that differ (Hamming) where they are 0 or 1; of others it tells near from far.
    """
    return ((x.detach().double() - y.detach().double().to(x.device)).abs() / unit.to(x.device)).mean(-1)


def ratio(above: np.ndarray, below: np.ndarray, axis: int = -1) -> np.ndarray:
    """A ratio of sums, NaN over zero."""
    total = np.asarray(below.sum(axis))
    return np.divide(above.sum(axis), total, out=np.full(total.shape, np.nan), where=total != 0)


def worst_decision(problem: Problem, theta_hat: Tensor, theta: Tensor, x: Tensor) -> Tensor:
    r"""Among the best decisions under the prediction, the worst under the truth.

    .. math::
        \arg\max_x \; \hat c^\top x / |\hat c|_\infty - \epsilon \, c^\top x / |c|_\infty, \quad \epsilon = 10^{-6}

    for gains `c`; kept only where it is as good as `x` under the prediction (to 1e-9). It is what it says where no
    decision comes within `epsilon` of the best without being best, and a decision that ties otherwise.
    """
    predicted, truth = problem.gain(theta_hat).double(), problem.gain(theta).double()
    tilted = _unit(predicted) - TIE * _unit(truth)
    worst = problem.discrete(problem.argmax(tilted), theta_hat).double()
    x = x.double()
    loss = ((x - worst) * _unit(predicted)).sum(-1)
    ties = loss <= TOLERANCE * (1 + x.abs().sum(-1))
    return torch.where(ties.unsqueeze(-1), worst, x)


def _unit(gains: Tensor) -> Tensor:
    size = gains.abs().amax(-1, keepdim=True)
    return gains / torch.where(size > 0, size, 1.0)


def squared_error(theta_hat: Tensor, batch: Batch, weight: Tensor) -> tuple[float, float]:
    """Of predictions, weighted, and the weights; nothing where the true parameters are not known."""
    if not batch.has_theta or batch.theta.layout != torch.strided:
        return 0.0, 0.0
    gap = (theta_hat - batch.theta.to(theta_hat)).double().square().reshape(len(batch), -1).mean(-1)
    return float((weight * gap).sum()), float(weight.sum())

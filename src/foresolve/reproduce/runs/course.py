"""How a training went, epoch by epoch: what a record keeps of it."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from foresolve.data.dataset import DecisionDataset
from foresolve.learning.history import History
from foresolve.learning.metrics import squared_error
from foresolve.report.records import Course

DIGITS = 4  # that are kept: more than any curve shows


def course_of(history: History) -> Course:
    """Of a training in which regret was monitored."""
    return course([history.start, *history.valid_regret], [history.start_mse, *history.valid_mse])


def course(regret: Iterable[float | None], mse: Iterable[float | None]) -> Course:
    """Numbers from epoch 0 on, before training, as a record has them."""
    return {"regret": [_kept(value) for value in regret], "mse": [_kept(value) for value in mse]}


def prediction_error(theta_hat: Tensor, data: DecisionDataset) -> float | None:
    """The mean squared error of predictions, as `fit` has it."""
    batch = data[torch.arange(len(data))]
    weight = torch.ones(len(data)) if batch.weight is None else batch.weight
    error, entries = squared_error(theta_hat, batch, weight.to(theta_hat.device))
    return error / entries if entries else None


def _kept(value: float | None) -> float | None:
    return float(f"{value:.{DIGITS}g}") if value is not None and math.isfinite(value) else None

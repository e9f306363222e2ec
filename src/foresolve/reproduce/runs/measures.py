"""How good predictions are, regardless of decisions, as in the paper's Table 2."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from foresolve.learning.metrics import auc, cross_entropy
from foresolve.report.records import Measure


def published_measures(theta_hat: Tensor, theta: Tensor, *, logits: bool) -> dict[Measure, float | None]:
    """MSE, cross-entropy and AUC, each the mean over instances `(B, ...)`; the last two for 0/1 parameters only.

    With `logits` the cross-entropy is that of `sigmoid(theta_hat)`: the published code takes some predictions, which
    are probabilities, for logits. Then an entry that is absent costs at least `ln 2`.
    """
    theta_hat, theta = theta_hat.double(), theta.double()
    measures: dict[Measure, float | None] = {"mse": float((theta_hat - theta).square().mean())}
    if not bool(((theta == 0) | (theta == 1)).all()):
        return measures
    probability = theta_hat.sigmoid() if logits else theta_hat
    if bool(((probability >= 0) & (probability <= 1)).all()):
        measures["cross_entropy"] = float(cross_entropy(probability, theta).mean())
    scores, labels = (table.flatten(1).cpu().numpy() for table in (theta_hat, theta))
    areas = [area for score, label in zip(scores, labels) if (area := auc(score, label)) is not None]
    measures["auc"] = float(np.mean(areas)) if areas else None
    return measures

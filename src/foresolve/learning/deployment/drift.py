r"""Whether numbers are spread as they were in training, by more than chance and by enough to matter.

Four families of quantities are compared: features, predictions, errors of predictions, the regret. Each gets a quarter
of the level `LEVEL`, and within a family every quantity gets an equal share (Bonferroni): where rows are independent
and nothing has changed, all comparisons together raise a false alarm in at most 5 % of the cases. Rows that are
like the ones before them (days in a row) count for fewer: `n (1 - r) / (1 + r)` with the correlation `r` of neighbors,
as in an autoregressive series of first order.

- Features, predictions and errors (prediction less truth) by the distance of Kolmogorov and Smirnov,
  :math:`D = \max_t |F_1(t) - F_0(t)|`, at the 21 quantiles of training. By chance alone it exceeds
  :math:`\sqrt{-\ln(\alpha/2)/2} \sqrt{1/n_0 + 1/n_1}` with a probability of about :math:`\alpha` at most, whatever the
  distribution: a test of means would not hold its level for skewed errors and many parameters.
- The regret by its mean, in Welch's t test, one-sided. Regret has a long tail to the right, and few instances at
  training may have none of it: then their mean is too small, and so is its error. So the standard deviation at training
  counts as at least that of now, which it is where nothing has changed.
"""

from __future__ import annotations

import importlib  # scipy.stats takes long to import
import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from foresolve.learning.deployment.spread import Spread
from foresolve.learning.deployment.training_statistics import Moments

LEVEL = 0.05
FAMILIES = 4
# What matters: a tenth of the instances in another place, a tenth more regret. Less is no drift, however sure.
LEAST_DISTANCE, LEAST_REGRET = 0.1, 0.1
# Numbers that differ by less than this share are the same.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Shift:
    """One quantity, now and at training.

    Attributes
    ----------
    kind: "feature", "prediction", "error" (prediction less truth) or "regret".
    name: of the feature or parameter.
    before, now: means, at training and now.
    measure: how far apart they are: the distance of Kolmogorov and Smirnov, between 0 and 1; for the regret, the
        difference of the means in standard deviations of training.
    threshold: what the measure must exceed for a drift.
    """

    kind: Literal["feature", "prediction", "error", "regret"]
    name: str
    before: float
    now: float
    measure: float
    threshold: float

    @property
    def drifted(self) -> bool:
        """Whether it has drifted, by more than chance and by enough to matter."""
        return self.measure > self.threshold

    @property
    def excess(self) -> float:
        """The measure in units of its threshold."""
        return self.measure / self.threshold if self.threshold > 0 else math.inf

    def to_dict(self) -> dict[str, Any]:
        """Numbers and text."""
        return asdict(self) | {"drifted": self.drifted}


def spread_shifts(kind: Literal["feature", "prediction", "error"], training: Spread, table: Any) -> list[Shift]:
    """How far each column `(N, ..., d)` is from training."""
    now = Spread.of(table)
    below, up_to = training.shares(table)
    distance = np.maximum(np.abs(below - training.below.numpy()), np.abs(up_to - training.up_to.numpy())).max(0)
    share = LEVEL / FAMILIES / max(len(distance), 1)
    by_chance = math.sqrt(-math.log(share / 2) / 2) * np.sqrt(1 / training.independent + 1 / now.independent)
    numbers = training.mean, now.mean, distance, np.maximum(by_chance, LEAST_DISTANCE)
    columns = zip(training.names, *(column.tolist() for column in numbers), strict=True)
    return [Shift(kind, *column) for column in columns]


def regret_shift(training: Moments, now: Moments) -> Shift:
    """How much larger the regret is than it was: Welch's test, with the degrees of freedom of the smaller sample."""
    before, after = float(training.mean[0]), float(now.mean[0])
    deviation = float(training.deviation[0])
    sizes = float(training.independent[0]), float(now.independent[0])
    lately = float(now.deviation[0])
    spread = math.sqrt(max(deviation, lately) ** 2 / sizes[0] + lately**2 / sizes[1])
    unit = deviation or spread or max(abs(before), abs(after)) or 1.0
    freedom = max(min(sizes) - 1, 1.0)
    quantile = float(importlib.import_module("scipy.stats").t.isf(LEVEL / FAMILIES, freedom))
    least = max(LEAST_REGRET * abs(before), ROUNDING * abs(after))
    return Shift("regret", "regret", before, after, (after - before) / unit, max(quantile * spread, least) / unit)

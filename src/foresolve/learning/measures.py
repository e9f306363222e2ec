"""The measures of decisions and predictions: their labels, and which way is better."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """A column of a report.

    Attributes
    ----------
    label: in tables.
    more_is_better: `None` for a number that no model is responsible for.
    percent: whether it is a share, and written as one.
    valued: whether it is a difference of values of decisions, or such a value.
    meaning: a sentence for a reader who does not know it.
    """

    label: str
    more_is_better: bool | None
    percent: bool = False
    valued: bool = False
    meaning: str = ""


MEASURES = {
    "value": Measure("value", True, valued=True, meaning="Value is what decisions are worth under the true parameters; "
                     "costs are negative."),
    "optimum": Measure("optimum", None, valued=True),
    "regret": Measure("regret", False, valued=True, meaning="Regret is what decisions lose against the best ones in "
                      "hindsight."),
    "normalized_regret": Measure("normalized regret", False, percent=True),
    "relative_regret": Measure("relative regret, mean", False, percent=True, meaning="Relative regret is the regret of "
                               "an instance as a share of its best value."),
    "worst_case_regret": Measure("worst-case regret over ties", False, valued=True, meaning="Worst-case regret counts "
                                 "ties between decisions against the model."),
    "mean_regret": Measure("regret of the mean's decision", None, valued=True),
    "feasible": Measure("feasible under the truth", True, percent=True),
    "adjusted": Measure("adjusted (cycles dropped)", False, percent=True),
    "mse": Measure("mean squared error", False),
    "cross_entropy": Measure("cross-entropy", False),
    "auc": Measure("AUC", True),
    "identical": Measure("identical decisions", True, percent=True),
    "hamming": Measure("entries that differ", False, percent=True),
}  # fmt: skip

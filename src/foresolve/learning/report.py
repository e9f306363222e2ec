"""What decisions are worth, in numbers with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from foresolve._base import checks
from foresolve._base.bootstrap import intervals
from foresolve._base.extras import need
from foresolve._base.table import Table, Tabular
from foresolve.learning.metrics import ratio

_LABELS = {
    "value": "value",
    "optimum": "optimum",
    "regret": "regret",
    "normalized_regret": "normalised regret",
    "relative_regret": "relative regret, mean",
    "worst_case_regret": "worst-case regret over ties",
    "feasible": "feasible under the truth",
    "mse": "mean squared error",
    "cross_entropy": "cross-entropy",
    "auc": "AUC",
}
_PERCENT = {"normalized_regret", "relative_regret", "feasible"}


@dataclass(frozen=True)
class Report(Tabular):
    """Means over instances, bootstrap intervals, and one row for each instance.

    `print(report)` shows it; a notebook shows a table.

    Attributes
    ----------
    value, optimum, regret: mean objective of the decisions, of the best ones under the truth, and what is between.
    normalized_regret: `sum regret / sum |optimum|`; NaN where all optima are zero.
    relative_regret: the mean of `regret / |optimum|` over instances (those with an optimum other than zero).
    worst_case_regret: of the worst among the best decisions under the prediction (the "unambiguous" loss); `None` for
        non-linear or inexact problems, and where `decide` was given.
    feasible: the share of decisions that are feasible under the true problem, before any repair; `None` where
        `problem.solve` decided, which gives no others.
    mse, cross_entropy, auc: of the predictions; `None` where they do not apply.
    seconds_per_decision, seconds_per_prediction: an instance, in batches.
    exact: whether the optimum is one; otherwise it is the best that a heuristic knows, and regret may be negative.
    intervals: `(low, high)` by name, at the level `confidence`.
    instances: a column for each per-instance number.
    """

    value: float
    optimum: float
    regret: float
    normalized_regret: float
    relative_regret: float
    worst_case_regret: float | None
    feasible: float | None
    mse: float | None
    cross_entropy: float | None
    auc: float | None
    seconds_per_decision: float
    seconds_per_prediction: float
    exact: bool
    confidence: float
    intervals: dict[str, tuple[float, float]] = field(repr=False)
    instances: dict[str, np.ndarray] = field(repr=False)

    @classmethod
    def of(
        cls, table: dict[str, np.ndarray], auc: float | None, seconds: dict[str, float], exact: bool,
        bootstrap: int, confidence: float, seed: int,
    ) -> Report:  # fmt: skip
        """From per-instance columns."""
        scale = np.abs(table["optimum"])
        relative = np.divide(table["regret"], scale, out=np.full(len(scale), np.nan), where=scale > 0)
        table = table | {"relative_regret": relative}
        means = {name: _mean(column) for name, column in table.items()}
        samples = {name: (column, None) for name, column in table.items()}
        samples |= {"normalized_regret": (table["regret"], scale)}
        optional = {name: means.get(name) for name in ("worst_case_regret", "feasible", "mse", "cross_entropy")}
        return cls(
            value=means["value"],
            optimum=means["optimum"],
            regret=means["regret"],
            relative_regret=means["relative_regret"],
            normalized_regret=float(ratio(table["regret"], scale)),
            **optional,
            auc=auc,
            seconds_per_decision=seconds["decision"],
            seconds_per_prediction=seconds["prediction"],
            exact=exact,
            confidence=confidence,
            intervals=intervals(samples, resamples=bootstrap, confidence=confidence, seed=seed),
            instances=table,
        )

    def __len__(self) -> int:
        return len(self.instances["value"])

    def table(self) -> Any:
        """One row for each instance, a pandas DataFrame."""
        pandas = need("pandas", "a table", "learn")
        return pandas.DataFrame(self.instances, index=pandas.RangeIndex(len(self), name="instance"))

    def to_dict(self) -> dict[str, Any]:
        """The numbers, without the instances, fit for JSON."""
        names = [*_LABELS, "seconds_per_decision", "seconds_per_prediction", "exact", "confidence"]
        return {name: getattr(self, name) for name in names} | {
            "instances": len(self),
            "intervals": {name: list(pair) for name, pair in self.intervals.items()},
        }

    def rows(self) -> list[tuple[str, str, str]]:
        """Label, number and interval, as they are shown."""
        shown = []
        for name, label in _LABELS.items():
            number = getattr(self, name)
            if number is None:
                continue
            if name == "optimum" and not self.exact:
                label = "best known value"
            pair = self.intervals.get(name)
            text = "" if pair is None else f"{_format(name, pair[0])} to {_format(name, pair[1])}"
            shown.append((label, _format(name, number), text))
        shown.append(("time per decision", f"{1e3 * self.seconds_per_decision:.3g} ms", ""))
        return shown

    def _table(self) -> Table:
        return Table(("", "mean", f"{self.confidence:.0%} interval"), self.rows(), f"{len(self)} instances")


def check_intervals(bootstrap: Any, confidence: Any) -> None:
    """Refuse what no confidence interval can be made with."""
    checks.positive_int("bootstrap", bootstrap, zero=True)
    checks.between("confidence", confidence, "(0, 1)", "95 % is 0.95")


def check_columns(reports: dict[str, Report], measure: str) -> None:
    """Reports that can be compared are of the same instances."""
    first, *others = reports.items()
    for name, report in reports.items():
        if measure not in report.instances:
            raise checks.fail("measure", f"one of {', '.join(report.instances)}", f"{measure!r} (report {name!r})")
    for name, report in others:
        mine, theirs = first[1].instances["optimum"], report.instances["optimum"]
        if len(mine) != len(theirs) or not np.allclose(mine, theirs, rtol=1e-5, atol=1e-8):
            raise checks.fail("reports", "of the same instances", f"{name!r}, whose optima differ from {first[0]!r}")


def _mean(column: np.ndarray) -> float:
    known = column[~np.isnan(column.astype(float))]
    return float(known.mean()) if len(known) else math.nan


def _format(name: str, number: float) -> str:
    return f"{number:.2%}" if name in _PERCENT else f"{number:.4g}"

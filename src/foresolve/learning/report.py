"""The value of decisions, with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from foresolve._base import checks
from foresolve._base.bootstrap import Block, intervals
from foresolve._base.extras import need
from foresolve._base.numbers import significant
from foresolve._base.table import Cell, Table, Tabular
from foresolve.data.frames.keys import Keys
from foresolve.learning.blocks import described, same_block
from foresolve.learning.measures import MEASURES
from foresolve.learning.metrics import ratio
from foresolve.learning.pictures.regrets import draw_report
from foresolve.learning.weak_reference import loses

DOUBLE = float(np.finfo(np.float64).eps)
COLUMNS = {*MEASURES, "weight"}  # the names that are taken


@dataclass(frozen=True)
class Report(Tabular):
    """Means over instances, weighted where the data is, bootstrap intervals, and one row for each instance.

    `print(report)` shows it; a notebook shows a table. Where only decisions are known, and not the true parameters,
    what they are worth is `None`, and how well they agree stands in its place.

    Attributes
    ----------
    value, optimum, regret: mean objective of the decisions, of the best ones under the truth, and what is between.
    normalized_regret: `sum regret / sum |optimum|`; NaN where all optima are zero.
    relative_regret: the mean of `regret / |optimum|` over instances (those with an optimum other than zero).
    worst_case_regret: of the worst among the best decisions under the prediction (the "unambiguous" loss); `None` for
        non-linear or inexact problems, and where a `rule` decided.
    mean_regret: of the one decision for the mean of these instances' true parameters: hindsight, and what a model must
        beat. `None` where instances have feasible sets of their own, or `theta` makes constraints.
    loses_to_mean: whether `regret` is above `mean_regret` by more than three standard errors of the paired difference.
    feasible: the share of decisions that are feasible under the true problem, before any repair; `None` where
        `problem.decide` gives no others, and where `theta` makes constraints but is not known.
    adjusted: the share of decisions that `problem.decide` had to adjust, since the problem has none for such a
        prediction: paths whose cycles of negative cost were dropped; `None` where there were none.
    mse, cross_entropy, auc: of the predictions; `None` where they do not apply.
    identical, hamming: the share of decisions that are those on record, and the mean share of their entries that
        differ; `None` where the true parameters are known.
    metrics: means of your own metrics, by name.
    seconds_per_decision, seconds_per_prediction: an instance, in batches.
    exact: whether the optimum is one; otherwise it is the best that a heuristic knows, and regret may be negative.
    intervals: `(low, high)` by name, at the level `confidence`.
    instances: a column for each per-instance number.
    targets: a digest of the decisions on record, where these alone are known.
    block: what was resampled as one: `None` for an instance, a length, or, where labels were given, the number of its
        group for each instance, by first appearance.
    keys: of the instances, where the data came from frames.
    rounding: the relative rounding error of the true parameters, by which `compare` tells equal decisions.
    """

    # Numbers to a type checker, as they are wherever the truth is known: only who learns from decisions meets `None`.
    value: float
    optimum: float
    regret: float
    normalized_regret: float
    relative_regret: float
    worst_case_regret: float | None
    mean_regret: float | None
    feasible: float | None
    adjusted: float | None
    mse: float | None
    cross_entropy: float | None
    auc: float | None
    identical: float | None
    hamming: float | None
    metrics: dict[str, float]
    seconds_per_decision: float
    seconds_per_prediction: float
    exact: bool
    confidence: float
    intervals: dict[str, tuple[float, float]] = field(repr=False)
    instances: dict[str, np.ndarray] = field(repr=False)
    targets: str = field(default="", repr=False)
    block: Block = field(default=None, repr=False)
    keys: Keys | None = field(default=None, repr=False)
    rounding: float = field(default=DOUBLE, repr=False)

    @classmethod
    def of(
        cls, table: dict[str, np.ndarray], auc: float | None, seconds: dict[str, float], exact: bool,
        bootstrap: int, confidence: float, seed: int, *, metrics: tuple[str, ...] = (), targets: str = "",
        block: Block = None,
    ) -> Report:  # fmt: skip
        """From per-instance columns; `metrics` are the names of those that are the caller's own."""
        table = dict(table)
        if "regret" in table:
            scale = np.abs(table["optimum"])
            missing = np.full(len(scale), np.nan)
            table["relative_regret"] = np.divide(table["regret"], scale, out=missing, where=scale > 0)
        pairs = _pairs(table)
        means = {name: mean(*pair) for name, pair in pairs.items()}
        numbers: dict[str, Any] = {name: means.get(name) for name in MEASURES if name != "auc"}
        numbers["adjusted"] = numbers["adjusted"] or None
        return cls(
            **numbers,
            auc=auc,
            metrics={name: means[name] for name in metrics},
            seconds_per_decision=seconds["decision"],
            seconds_per_prediction=seconds["prediction"],
            exact=exact,
            confidence=confidence,
            intervals=intervals(pairs, resamples=bootstrap, confidence=confidence, seed=seed, block=block),
            instances=table,
            targets=targets,
            block=block,
        )

    def __len__(self) -> int:
        return len(next(iter(self.instances.values())))

    def resampled(self, block: Block, *, bootstrap: int = 1000, seed: int = 0) -> Report:
        """The same report with intervals for another `block`, as `as_block` gives it."""
        settings = {"resamples": bootstrap, "confidence": self.confidence, "seed": seed, "block": block}
        return replace(self, block=block, intervals=intervals(_pairs(self.instances), **settings))

    @property
    def loses_to_mean(self) -> bool:
        """True if decisions are worse than the one for the mean of the parameters, beyond noise."""
        table = self.instances
        return "mean_regret" in table and loses(table["regret"], table["mean_regret"], table.get("weight"), self.block)

    def plot(self, ax: Any = None, *, measure: str | None = None) -> Any:
        """A histogram of a column of `instances`, "regret" by default, on matplotlib axes, which are given back."""
        return draw_report(self, measure, ax)

    def __repr__(self) -> str:
        numbers = [f"{label} {cell.figure}" for label, cell, _ in self.rows()[:4]]
        return f"Report({len(self)} instances, {', '.join(numbers)})"

    def table(self) -> Any:
        """One row for each instance, a pandas DataFrame; by their keys, where the data has keys."""
        pandas = need("pandas", "a table", "learn")
        numbers = pandas.RangeIndex(len(self), name="instance")
        return pandas.DataFrame(self.instances, index=numbers if self.keys is None else self.keys.index())

    def to_dict(self) -> dict[str, Any]:
        """The numbers, without the instances, fit for JSON."""
        names = [*MEASURES, "seconds_per_decision", "seconds_per_prediction", "exact", "confidence"]
        return {name: getattr(self, name) for name in names} | {
            "metrics": dict(self.metrics),
            "instances": len(self),
            "block": self.block if isinstance(self.block, int) else described(self.block, len(self)) or None,
            "intervals": {name: list(pair) for name, pair in self.intervals.items()},
        }

    def rows(self) -> list[tuple[str, Cell, Cell]]:
        """Label, number and interval of all that is known."""
        shown = []
        numbers = {name: getattr(self, name) for name in MEASURES} | self.metrics
        for name, number in numbers.items():
            label = MEASURES[name].label if name in MEASURES else name
            if number is None:
                continue
            if name == "optimum" and not self.exact:
                label = "best known value"
            written = "{:.2%}".format if name in MEASURES and MEASURES[name].percent else significant
            shown.append((label, Cell(number, format=written), Cell(self.intervals.get(name), format=written)))
        time = Cell(1e3 * self.seconds_per_decision, format="{:.3g} ms".format)
        return [*shown, ("time per decision", time, Cell())]

    @property
    def remarks(self) -> str:
        """Weights, blocks and a regret above the mean's, behind the number of instances; empty without any."""
        weighted = ", weighted" if "weight" in self.instances else ""
        blocks = described(self.block, len(self))
        blocks = f", resampled by {blocks}" if blocks else ""
        worse = ", worse than the mean's decision" if self.loses_to_mean else ""
        return f"{weighted}{blocks}{worse}"

    def _table(self) -> Table:
        headers = ("", "mean", f"{self.confidence:.0%} interval")
        return Table(headers, self.rows(), f"{len(self)} instances{self.remarks}")


def check_intervals(bootstrap: Any, confidence: Any) -> None:
    """Refuse what no confidence interval can be made with."""
    checks.positive_int("bootstrap", bootstrap, zero=True)
    checks.between("confidence", confidence, "(0, 1)", "95 % is 0.95")


def check_columns(reports: dict[str, Report], measure: str) -> None:
    """Reports that can be compared are of the same instances."""
    first, *others = reports.items()
    for name, report in reports.items():
        columns = [column for column in report.instances if column != "weight"]
        if measure not in columns:
            raise checks.fail("measure", f"one of {', '.join(columns)}", f"{measure!r} (report {name!r})")
    for name, report in others:
        if not _same_instances(first[1], report):
            what = "decisions on record" if report.targets else "optima"
            raise checks.fail("reports", "of the same instances", f"{name!r}, whose {what} differ from {first[0]!r}")
        if not np.allclose(_shares(first[1]), _shares(report), rtol=1e-6, atol=0.0):
            remedy = "Score all models on the same data set"
            raise checks.fail("reports", "of the same weights", f"{name!r}, weighted other than {first[0]!r}", remedy)


def common_block(reports: dict[str, Report]) -> Block:
    """The one that all reports were scored with."""
    first, *others = reports.items()
    for name, report in others:
        if not same_block(first[1].block, report.block):
            got = f"{name!r} by {_block_name(report)}, {first[0]!r} by {_block_name(first[1])}"
            if isinstance(report.block, np.ndarray) and isinstance(first[1].block, np.ndarray):
                got = f"{name!r}, whose groups differ from {first[0]!r}"
            remedy = "Say what to resample: `compare(reports, block=...)`, 1 for instances"
            raise checks.fail("reports", "scored with the same `block`", got, remedy)
    return first[1].block


def _block_name(report: Report) -> str:
    return described(report.block, len(report)) or "instances"


def _shares(report: Report) -> np.ndarray:
    """The part of a mean that each instance is; ratios of weights are all that matters."""
    weight = report.instances.get("weight", np.ones(len(report)))
    return weight / weight.sum()


def _same_instances(first: Report, second: Report) -> bool:
    """By their optima, or where none are known, by the decisions on record."""
    mine, theirs = first.instances.get("optimum"), second.instances.get("optimum")
    if mine is None or theirs is None:
        return mine is theirs and first.targets == second.targets
    return len(mine) == len(theirs) and np.allclose(mine, theirs, rtol=1e-5, atol=1e-8)


def _pairs(table: dict[str, np.ndarray]) -> dict[str, tuple[np.ndarray, np.ndarray | None]]:
    """The terms of means and their intervals, by name."""
    pairs: dict[str, tuple[np.ndarray, np.ndarray | None]] = {}
    if "regret" in table:
        pairs["normalized_regret"] = table["regret"], np.abs(table["optimum"])
    pairs |= {name: (column, None) for name, column in table.items() if name != "weight"}
    return {name: weighted(*pair, table.get("weight")) for name, pair in pairs.items()}


def weighted(
    above: np.ndarray, below: np.ndarray | None, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """A mean (`below` is `None`) or a ratio of sums as one of weighted sums; as it is without weights."""
    return (above, below) if weight is None else (weight * above, weight if below is None else weight * below)


def mean(above: np.ndarray, below: np.ndarray | None) -> float:
    """The mean of numbers, or a ratio of sums; a number that is NaN takes no part."""
    known = ~np.isnan(above.astype(float))
    if below is not None:
        return float(ratio(above[known], below[known]))
    return float(above[known].mean()) if known.any() else math.nan

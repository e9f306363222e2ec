"""Reports side by side, instance by instance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from foresolve._base import checks
from foresolve._base.bootstrap import Interval, intervals
from foresolve._base.drawing.palette import Role
from foresolve._base.drawing.rendering import with_picture
from foresolve._base.numbers import significant
from foresolve._base.randomness import Seed, as_seed
from foresolve._base.table import Cell, Table
from foresolve.errors import WeakReferenceWarning
from foresolve.learning.blocks import Blocks, as_block, counted, described
from foresolve.learning.measures import MEASURES
from foresolve.learning.paired import PairedComparison, PairedTable, gains, interval_words, paired
from foresolve.learning.pictures.differences import draw_comparison
from foresolve.learning.prediction import is_estimator
from foresolve.learning.report import Report, check_columns, check_intervals, common_block, mean, weighted


@dataclass(frozen=True, kw_only=True)
class ReportRow(PairedComparison):
    """One report beside the reference.

    Attributes
    ----------
    mean: of the measure, over instances.
    normalized_regret, normalized_interval: of the report; `None` without regret, where only decisions are known.
    """

    mean: float
    normalized_regret: float | None = None
    normalized_interval: Interval | None = None


@dataclass(frozen=True, kw_only=True)
class Comparison(PairedTable[ReportRow]):
    """Reports beside one of them; `print` it, or let a notebook show it: the best first, the reference apart.

    Attributes
    ----------
    rows: in the order they were given; each interval holds by itself, and with all others in what `together()` gives.
    measure: the column that is compared.
    more_is_better: its direction.
    """

    measure: str
    more_is_better: bool

    def together(self) -> Self:
        """The same with intervals that hold all at once, and the p-values to them (Bonferroni)."""
        return replace(self, rows=tuple(row.among(len(self.others)) for row in self.rows))

    def plot(self, ax: Any = None, *, roles: Mapping[str, Role] | None = None) -> Any:
        """A forest plot of what is gained over the reference, on matplotlib axes, which are given back.

        Parameters
        ----------
        ax: axes to draw on; by default those of a new figure.
        roles: "decision-focused", "two-stage", "heuristic" or "reference" by name, for the colors.
        """
        return draw_comparison(self, roles, ax)

    def __repr__(self) -> str:
        return f"Comparison({len(self.rows)} reports by {self.measure} against {self.reference!r})"

    def _repr_html_(self) -> str:
        draw = self.plot if len(self.rows) > 1 else None
        return with_picture(super()._repr_html_(), f"gained over {self.reference}", draw)

    def _table(self) -> Table:
        measure = self.measure.replace("_", " ")
        scores = {"normalized regret": _share, measure: lambda row: Cell(row.mean, format=significant)}
        if all(row.normalized_regret is None for row in self.rows):
            del scores["normalized regret"]
        return self.table(scores, measure=measure, more_is_better=self.more_is_better)


def _share(row: ReportRow) -> Cell:
    ends = interval_words(row.normalized_interval, "{:.2%}".format)
    return Cell(row.normalized_regret, ends, format="{:.2%}".format)


def compare(
    reports: Mapping[str, Report],
    *,
    reference: str | None = None,
    measure: str | None = None,
    more_is_better: bool | None = None,
    block: Blocks = None,
    bootstrap: int = 1000,
    confidence: float = 0.95,
    seed: Seed = 0,
) -> Comparison:
    """Compare reports of the same instances, paired: what varies between instances cancels.

    Parameters
    ----------
    reports: by name.
    reference: the one that the others are compared to; the first by default.
    measure: a column of `report.table()`: "regret" (the default), "value", "relative_regret", "mse", a metric of one's
        own, ...; where only decisions are known, "hamming" (the default) or "identical".
    more_is_better: the direction of the measure. Known for the measures of `evaluate`; a metric of one's own needs it.
    block: what is resampled as one, a length or labels as in `evaluate`; by default that of the reports, which must
        agree. 1 for instances, whatever the reports had.
    bootstrap: resamples for the interval of the normalized regret, as in `evaluate`; 0 for none.
    confidence: of the intervals.
    seed: of the resamples and of the tests.

    What is gained is above zero where a report is better than the reference. Its interval and its p-value are those of
    two tests that have to agree, as in `foresolve.study`: sign flips, and Student's t corrected for skewness. Means and
    intervals are weighted where the reports are, which must be weighted alike. Tests assume that what they count is
    independent: with a `block` that is each group, or each run of `block` instances, what is left over in the last of
    them. With fewer than two of these there is no interval, and p is 1; with fewer than six, there is no interval of
    95 % either. Each interval holds by itself; those of `comparison.together()` hold at once.

    Where the reference decides worse than the mean of the parameters (`report.loses_to_mean`), a `WeakReferenceWarning`
    says so: anything looks good beside it.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.data import DecisionDataset
    >>> from foresolve.learning import compare
    >>> from foresolve.learning import evaluate
    >>> theta = torch.rand(50, 4, generator=torch.Generator().manual_seed(0))
    >>> data = DecisionDataset(theta, theta, foresolve.TopK(4, 2))
    >>> comparison = compare({"truth": evaluate(lambda a: a, data), "nonsense": evaluate(lambda a: -a, data)})
    >>> comparison["nonsense"].gained < 0, comparison["nonsense"].p_value < 1e-3
    (True, True)
    """
    reports = _by_name(reports)
    check_intervals(bootstrap, confidence)
    reference = checks.one_of("reference", next(iter(reports)) if reference is None else reference, reports)
    valued = all("regret" in report.instances for report in reports.values())
    measure = measure or ("regret" if valued else "hamming")
    check_columns(reports, measure)
    more_is_better = _direction(measure, more_is_better)
    baseline = reports[reference]
    _warn_if_weak(reference, baseline)
    size = len(baseline)
    resampled = common_block(reports) if block is None else as_block("block", block, size)
    weight = baseline.instances.get("weight")
    settings = {"confidence": confidence, "seed": as_seed("seed", seed)}
    pairs = {name: (r.instances["regret"], np.abs(r.instances["optimum"])) for name, r in reports.items() if valued}
    shares = {name: weighted(*pair, weight) for name, pair in pairs.items()}
    normalized = intervals(shares, resamples=bootstrap, block=resampled, **settings)
    rows = []
    for name, report in reports.items():
        pair = PairedComparison(name=name, reference=reference, confidence=confidence)
        if name != reference:
            gained = report_gains(report, baseline, measure, more_is_better)
            pair = paired(name, reference, gained, weight, resampled, **settings)
        column = report.instances[measure].astype(float)
        rows.append(
            ReportRow(
                **vars(pair), mean=mean(*weighted(column, None, weight)), normalized_regret=report.normalized_regret,
                normalized_interval=normalized.get(name),
            )
        )  # fmt: skip
    return Comparison(
        reference=reference, measure=measure, more_is_better=more_is_better, confidence=confidence, rows=tuple(rows),
        blocks=described(resampled, size), instances=size, units=counted(resampled, size),
    )  # fmt: skip


def report_gains(
    report: Report, reference: Report, measure: str = "regret", more_is_better: bool = False
) -> np.ndarray:
    """The gain of each instance; equal decisions gain nothing, whatever rounding makes of their values."""
    own, other = (each.instances[measure].astype(float) for each in (report, reference))
    known, size = MEASURES.get(measure), np.abs(other)
    if known is not None and known.valued:
        size = size + np.abs(reference.instances["optimum"])
    elif known is not None and known.percent:
        size = size + 1.0
    return gains(own, other, size, max(report.rounding, reference.rounding), more_is_better=more_is_better)


def _direction(measure: str, more_is_better: bool | None) -> bool:
    """The direction of a measure, as it is given or known."""
    known = MEASURES.get(measure)
    if more_is_better is None and known is not None:
        more_is_better = known.more_is_better
    if not isinstance(more_is_better, bool):
        raise checks.fail("more_is_better", f"True or False for the measure {measure!r}", repr(more_is_better))
    return more_is_better


def _warn_if_weak(name: str, report: Report) -> None:
    if report.loses_to_mean and report.mean_regret is not None:
        checks.warn(
            f"the reference, {name!r}, decides worse than the mean of the parameters does (mean regret "
            f"{significant(report.regret)} against {significant(report.mean_regret)}): anything looks good beside it. "
            "Take the best two-stage model as the reference, or let `foresolve.study` choose it; docs/study.md",
            WeakReferenceWarning,
        )


def _by_name(reports: Any) -> dict[str, Report]:
    expected = "a dict of reports by name"
    if not isinstance(reports, Mapping):
        several = isinstance(reports, Sequence) and not isinstance(reports, str)
        got = f"{type(reports).__name__} of {len(reports)}" if several else type(reports).__name__
        remedy = 'Did you mean `compare({"two-stage": evaluate(...), "SPO+": evaluate(...)})`?'
        raise checks.fail("reports", expected, got, remedy)
    for name, report in reports.items():
        if not isinstance(report, Report):
            meant = "Did you mean `evaluate(model, data)`?" if callable(report) or is_estimator(report) else ""
            raise checks.fail("reports", expected, f"{type(report).__name__} as {name!r}", meant)
    if not reports:
        raise checks.fail("reports", "at least one report by name", "none")
    return dict(reports)

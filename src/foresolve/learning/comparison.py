"""Reports side by side, instance by instance."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from foresolve._base import checks
from foresolve._base.bootstrap import intervals
from foresolve._base.drawing.palette import Role
from foresolve._base.drawing.rendering import with_picture
from foresolve._base.extras import need
from foresolve._base.numbers import signed, significant
from foresolve._base.randomness import Seed, as_seed
from foresolve._base.table import Cell, Table, Tabular
from foresolve.errors import WeakReferenceWarning
from foresolve.learning.blocks import Blocks, as_block, block_means, counted, described
from foresolve.learning.inference import mean_difference
from foresolve.learning.pictures.differences import LESS, draw_comparison
from foresolve.learning.prediction import is_estimator
from foresolve.learning.report import Report, check_columns, check_intervals, common_block, mean, weighted

Test = Literal["mean", "t", "wilcoxon"]


@dataclass(frozen=True)
class Row:
    """One report against the reference: the difference is its own less the reference's, mean over instances.

    Without regret, where only decisions are known, `normalized_regret` is `None`.
    """

    name: str
    mean: float
    normalized_regret: float | None
    normalized_interval: tuple[float, float] | None
    difference: float
    difference_interval: tuple[float, float] | None
    p_value: float


@dataclass(frozen=True)
class Comparison(Tabular):
    """Rows in the order they were given; `print` it, or let a notebook show it: the best first, the reference apart.

    Attributes
    ----------
    reference: the name of the report that the others are compared to.
    measure: the column that is compared.
    test: what the p-values are of, two-sided, paired by instance, not corrected for several comparisons.
    blocks: what was resampled, and whose means were tested: "12 blocks of 7", "9 groups"; nothing for instances.
    instances: how many were compared.
    units: how many of them count as independent: instances, blocks or groups.
    """

    reference: str
    measure: str
    test: str
    confidence: float
    rows: tuple[Row, ...]
    blocks: str = ""
    instances: int = 0
    units: int = 0

    def __getitem__(self, name: str) -> Row:
        return {row.name: row for row in self.rows}[name]

    def plot(self, ax: Any = None, *, roles: Mapping[str, Role] | None = None) -> Any:
        """A forest plot of the paired differences on matplotlib axes, which are given back; better is to the right.

        Where less of the measure is better (regret, errors), what is drawn is what is saved against the reference.

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
        return with_picture(super()._repr_html_(), f"differences from {self.reference}", draw)

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row a report."""
        pandas = need("pandas", "a table", "learn")
        return pandas.DataFrame([vars(row) for row in self.rows]).set_index("name")

    def _table(self) -> Table:
        level = f"{self.confidence:.0%}"
        headers = ("", "normalized regret", self.measure.replace("_", " "), "difference", "p")
        rows, apart = self._ordered()
        cells, regret = self._cells(rows), any(row.normalized_regret is not None for row in self.rows)
        if not regret:
            headers, cells = (headers[0], *headers[2:]), [(row[0], *row[2:]) for row in cells]
        blocks = f" on the means of {self.blocks}" if self.blocks else ""
        title = f"difference from {self.reference}, paired {self.test}{blocks}; {level} intervals"
        return Table(headers, cells, title, apart=apart)

    def _ordered(self) -> tuple[list[Row], int]:
        """The best first, and the reference apart from them, at the end."""
        sign = 1.0 if self.measure in LESS else -1.0
        others = [row for row in self.rows if row.name != self.reference]
        others.sort(key=lambda row: math.inf if math.isnan(row.mean) else sign * row.mean)
        return [*others, *(row for row in self.rows if row.name == self.reference)], len(self.rows) - len(others)

    def _cells(self, rows: Sequence[Row]) -> list[tuple[str | Cell, ...]]:
        cells = []
        for row in rows:
            itself = row.name == self.reference
            pair = None if itself else row.difference_interval
            difference = "" if itself else signed(row.difference, 4)
            share = "" if row.normalized_regret is None else f"{row.normalized_regret:.2%}"
            cells.append((
                row.name, Cell(share, _pair(row.normalized_interval, "{:.2%}".format)), significant(row.mean),
                Cell(difference, _pair(pair, lambda end: signed(end, 4))), "" if itself else f"{row.p_value:.2g}",
            ))  # fmt: skip
        return cells


def compare(
    reports: Mapping[str, Report],
    *,
    reference: str | None = None,
    measure: str | None = None,
    test: Test = "mean",
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
    test: "mean": sign flips and Student's t corrected for skewness have to agree, as in `foresolve.study`, which gives
        the interval of the difference too. "t", or "wilcoxon": signed ranks, which are about the median of differences,
        of the other sign at times; with these the interval is a bootstrap's.
    block: what is resampled as one, a length or labels as in `evaluate`; by default that of the reports, which must
        agree. 1 for instances, whatever the reports had.
    bootstrap, confidence, seed: of the intervals, as in `evaluate`.

    Means and intervals are weighted where the reports are, which must be weighted alike; "t" and "wilcoxon" count each
    instance once. Tests assume that what they count is independent: with a `block` that is the (weighted) mean
    difference of each group, or of each run of `block` instances, what is left over in the last of them. With fewer
    than two of these there is no interval, and p is 1; with fewer than six, "mean" has no interval of 95 % either.

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
    >>> comparison["nonsense"].difference > 0, comparison["nonsense"].p_value < 1e-3
    (True, True)
    """
    reports = _by_name(reports)
    check_intervals(bootstrap, confidence)
    checks.one_of("test", test, get_args(Test))
    reference = checks.one_of("reference", next(iter(reports)) if reference is None else reference, reports)
    valued = all("regret" in report.instances for report in reports.values())
    measure = measure or ("regret" if valued else "hamming")
    check_columns(reports, measure)
    _warn_if_weak(reference, reports[reference])
    size = len(reports[reference])
    resampled = common_block(reports) if block is None else as_block("block", block, size)
    weight = reports[reference].instances.get("weight")
    columns = {name: report.instances[measure].astype(float) for name, report in reports.items()}
    differences = {name: column - columns[reference] for name, column in columns.items()}
    settings = {"resamples": bootstrap, "confidence": confidence, "seed": as_seed("seed", seed), "block": resampled}
    pairs = {name: (r.instances["regret"], np.abs(r.instances["optimum"])) for name, r in reports.items() if valued}
    normalized = intervals({name: weighted(*pair, weight) for name, pair in pairs.items()}, **settings)
    if test == "mean":
        tested = {name: _of_the_mean(column, weight, **settings) for name, column in differences.items()}
    else:
        paired = intervals({name: weighted(column, None, weight) for name, column in differences.items()}, **settings)
        tested = {
            name: (paired.get(name), _p_value(block_means(column, weight, resampled), test))
            for name, column in differences.items()
        }
    rows = tuple(
        Row(
            name,
            mean(*weighted(columns[name], None, weight)),
            report.normalized_regret,
            normalized.get(name),
            mean(*weighted(differences[name], None, weight)),
            *tested[name],
        )
        for name, report in reports.items()
    )
    shown = {"mean": "test of the mean", "t": "t test", "wilcoxon": "Wilcoxon test"}[test]
    return Comparison(
        reference, measure, shown, confidence, rows, described(resampled, size), size, counted(resampled, size)
    )  # fmt: skip


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


def _of_the_mean(
    difference: np.ndarray, weight: np.ndarray | None, *, resamples: int, confidence: float, seed: int, block: Any
) -> tuple[tuple[float, float] | None, float]:
    """The interval of the mean, where it is bounded and asked for, and the p-value of a mean of 0."""
    known = ~np.isnan(difference)
    weight = known * (1.0 if weight is None else weight)
    evidence = mean_difference(np.where(known, difference, 0.0), weight, block, confidence=confidence, seed=seed)
    bounded = resamples > 0 and evidence.units > 1 and bool(np.isfinite(evidence.interval).all())
    return (evidence.interval if bounded else None), evidence.p_value


def _p_value(difference: np.ndarray, test: str) -> float:
    """Two-sided; 1 where nothing differs, or there are fewer than two differences."""
    if len(difference) < 2 or not difference.any():
        return 1.0
    stats = importlib.import_module("scipy.stats")
    if test == "wilcoxon":
        return float(stats.wilcoxon(difference).pvalue)
    if np.ptp(difference) <= 1e-12 * np.abs(difference).max():
        return 0.0  # the same difference everywhere: no spread to compare it with
    return float(stats.ttest_1samp(difference, 0.0).pvalue)


def _pair(pair: tuple[float, float] | None, written: Callable[[float], str]) -> str:
    return "" if pair is None else f"{written(pair[0])} to {written(pair[1])}"

"""Did it reproduce? Every figure that the paper has beside ours, by one rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from foresolve._base.table import Cell, Table
from foresolve.learning.measures import MEASURES
from foresolve.report.formats import MEASURE_FORMATS, PLUS_MINUS, MeasureFormat, digits, mean_cell, percent, title
from foresolve.report.published import Published, Verdict
from foresolve.report.reasons import reasons
from foresolve.report.records import Measure
from foresolve.report.summary import TIE, Estimate
from foresolve.report.table import BlockTable
from foresolve.report.view import RunView

RULE = (
    "A figure is reproduced where ours is within h of the published one, h being the sum of both half widths; worse "
    'by more than h, it is not reproduced, better by more than h, it is "above" ("better" where small is good). With '
    "one split there is no interval, and the verdict is unknown."
)
ENDING = ("difference", "verdict")
COLUMNS = ("domain", "protocol", "method", "k", "measure", "published", "published_half_width", "ours",
           "ours_half_width", "difference", "percent", "verdict", "reasons")  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """Our figure beside the published one.

    Attributes
    ----------
    measure: of Table 2, `None` for the solution quality of Table 1.
    reasons: why they are likely to differ, where they do and it is known.
    """

    method: str
    k: int | None
    measure: Measure | None
    ours: Estimate
    published: Published
    reasons: tuple[str, ...] = ()

    @property
    def difference(self) -> float:
        """Ours minus the published figure."""
        return self.ours.mean - self.published.mean

    @property
    def percent(self) -> float:
        """The difference in percent of the published figure."""
        return 100 * self.difference / self.published.mean

    @property
    def verdict(self) -> Verdict:
        """By `judge`."""
        more_is_better = self.measure is None or MEASURES[self.measure].more_is_better
        return judge(self.ours, self.published, smaller_is_better=not more_is_better)


def judge(ours: Estimate, published: Published, *, smaller_is_better: bool = False) -> Verdict:
    """The one rule: `RULE`, in words.

    >>> judge(Estimate(5.9, 5.8, 6.0, 30), Published(6.15, 0.38))
    'reproduced'
    """
    if ours.half is None:
        return "unknown"
    gain = published.mean - ours.mean if smaller_is_better else ours.mean - published.mean
    margin = ours.half + published.half + TIE * abs(published.mean)
    if abs(gain) <= margin:
        return "reproduced"
    if gain < 0:
        return "not reproduced"
    return "better" if smaller_is_better else "above"


def comparisons(run: RunView) -> list[Comparison]:
    """Every figure of a run that the paper has too: those of Table 1, then those of Table 2."""
    return run.once("comparisons", _comparisons)


def tally(compared: Iterable[Comparison]) -> str:
    """How often each verdict was given, in a line."""
    counts = Counter(comparison.verdict for comparison in compared)
    others = [f"{counts[verdict]} {verdict}" for verdict in get_args(Verdict)[1:] if counts[verdict]]
    return ", ".join([f"{counts['reproduced']} of {counts.total()} figures reproduced", *others])


def tallies(runs: Sequence[RunView]) -> list[str]:
    """A line for each run that can be compared."""
    return [f"{run.name}: {tally(comparisons(run))}." for run in runs if comparisons(run)]


def overview(runs: Sequence[RunView]) -> str:
    """The verdicts over all runs in a line, by protocol where there are two; empty where nothing can be compared."""
    compared: dict[str, list[Comparison]] = {}
    for run in runs:
        if comparisons(run):
            compared.setdefault(run.config.protocol, []).extend(comparisons(run))
    if len(compared) < 2:
        return "".join(f"{tally(found)}." for found in compared.values())
    return " ".join(f"Protocol {protocol}: {tally(found)}." for protocol, found in compared.items())


def reproduced_table(runs: Sequence[RunView]) -> BlockTable:
    """A row for each published figure: ours, the difference, the verdict and the likely reasons."""
    runs = [run for run in runs if comparisons(run)]
    known = dict.fromkeys(text for run in runs for comparison in comparisons(run) for text in comparison.reasons)
    numbers = {text: i for i, text in enumerate(known, 1)}
    blocks: list[Table] = []
    for run in runs:
        quality = [comparison for comparison in comparisons(run) if comparison.measure is None]
        accuracy = [comparison for comparison in comparisons(run) if comparison.measure is not None]
        blocks += [_quality_block(run, quality, numbers)] if quality else []
        blocks += [_accuracy_block(run, accuracy, numbers)] if accuracy else []
    lines = [_line(run, comparison) for run in runs for comparison in comparisons(run)]
    caption = f"{overview(runs)} {RULE}" if runs else ""
    return BlockTable("Did it reproduce?", caption, tuple(blocks), Table(COLUMNS, lines), tuple(numbers))


def _comparisons(run: RunView) -> list[Comparison]:
    compared: list[Comparison] = []

    def add(method: str, k: int | None, measure: Measure | None, ours: Estimate, paper: Published | None) -> None:
        if paper is not None:
            bare = Comparison(method, k, measure, ours, paper)
            why = tuple(reasons(run.config, run.method(method), measure, bare.verdict))
            compared.append(Comparison(method, k, measure, ours, paper, why))

    for row in run.rows:
        add(row.method, row.k, None, row.shown(run.scored), run.published(row.method, row.k))
    for row in run.rows:
        if row.k == run.accuracy_k:
            for measure, ours in row.measures.items():
                add(row.method, row.k, measure, ours, run.published_accuracy(row.method, measure))
    return compared


def _quality_block(run: RunView, rows: Sequence[Comparison], numbers: dict[str, int]) -> Table:
    places, budgets = digits(run), bool(run.info.ks)
    lines = [
        (
            *((row.method, row.k) if budgets else (row.method,)),
            mean_cell(row.published, places),
            mean_cell(row.ours, places),
            *_ending(row, places, 1.0, numbers),
        )
        for row in rows
    ]
    headers = ("method", *(("k",) if budgets else ()), "published", "ours", *ENDING)
    return Table(headers, lines, f"{title(run)}, Table 1")


def _accuracy_block(run: RunView, rows: Sequence[Comparison], numbers: dict[str, int]) -> Table:
    lines: list[tuple[Any, ...]] = []
    for row in rows:
        assert row.measure is not None
        shown = MEASURE_FORMATS[row.measure]
        lines.append(
            (
                *(row.method, Cell(shown.name, shown.unit)),
                _stacked(row.published, shown),
                _stacked(row.ours, shown),
                *_ending(row, shown.digits, shown.scale, numbers),
            )
        )
    return Table(("method", "measure", "published", "ours", *ENDING), lines, f"{title(run)}, Table 2")


def _ending(row: Comparison, places: int, scale: float, numbers: dict[str, int]) -> tuple[Cell, Cell]:
    """The difference, and the verdict over the numbers of its reasons."""
    why = ", ".join(str(i) for i in sorted(numbers[text] for text in row.reasons))
    verdict = Cell(row.verdict, f"({why})" if why else "", bold=row.verdict == "not reproduced")
    gap = Cell(scale * row.difference, f"({percent(row.percent)})", format=f"{{:+.{places}f}}".format)
    return gap, verdict


def _stacked(figure: Estimate | Published, shown: MeasureFormat) -> Cell:
    """A mean over its half width where room is short."""
    written = f"{{:.{shown.digits}f}}".format
    half = None if figure.half is None else f"{PLUS_MINUS} {written(shown.scale * figure.half)}"
    return Cell(shown.scale * figure.mean, half, format=written)


def _line(run: RunView, row: Comparison) -> tuple[Any, ...]:
    config, paper, ours = run.config, row.published, row.ours
    return (
        *(config.domain, config.protocol, row.method, row.k, row.measure or "value", paper.mean, paper.half),
        *(ours.mean, ours.half, row.difference, row.percent, row.verdict, " ".join(row.reasons)),
    )

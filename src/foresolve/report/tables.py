"""The paper's tables from our records, with the published figures beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from foresolve._base import files
from foresolve._base.table import Cell, Table
from foresolve.learning.measures import MEASURES
from foresolve.report import published
from foresolve.report.claims import claims_table
from foresolve.report.formats import (
    MEASURE_FORMATS,
    PLUS_MINUS,
    best_words,
    budget,
    digits,
    mean_cell,
    number,
    title,
)
from foresolve.report.published import Published
from foresolve.report.records import Measure
from foresolve.report.summary import CHOSEN, Estimate, MethodSummary, SplitComparison
from foresolve.report.table import BlockTable
from foresolve.report.verdicts import reproduced_table
from foresolve.report.view import RunView

QUALITY, ACCURACY = "Table 1: solution quality", "Table 2: accuracy"


def quality_caption(runs: Sequence[RunView]) -> str:
    """The caption of Table 1, but for what is bold."""
    return _sentences(
        f"The value of decisions under the truth: mean over random splits {PLUS_MINUS} half the width of a "
        "bootstrapped 95 % interval.",
        _bases(runs),
        _published_note(runs),
    )


def accuracy_caption(runs: Sequence[RunView]) -> str:
    """The caption of Table 2, but for what is bold."""
    return _sentences(
        "How good predictions are, regardless of decisions; a decision-focused model is not asked to "
        f"predict well. Mean {PLUS_MINUS} half width, as in Table 1.",
        _published_note(runs),
    )


def table1(runs: Sequence[RunView]) -> BlockTable:
    """Solution quality: a row for each method, a column for each budget, a block for each domain."""
    caption = f"{quality_caption(runs)} Bold: the largest mean among learned methods."
    columns = ("domain", "protocol", "method", "k", "splits", *_names("value"), *_names("fractional"), "optimum",
               "shown", "share", "share_of", "published", "published_half_width", "seconds")  # fmt: skip
    lines = [_line1(run, row) for run in runs for row in run.rows]
    blocks = tuple(run.once("block of Table 1", _block1) for run in runs)
    return BlockTable(QUALITY, caption, blocks, Table(columns, lines))


def table2(runs: Sequence[RunView]) -> BlockTable:
    """Accuracy of the predictions: MSE, cross-entropy (CE) and AUC."""
    runs = [run for run in runs if accurate(run)]
    caption = f"{accuracy_caption(runs)} Bold: the best among learned methods (small MSE and CE, large AUC)."
    columns = ("domain", "protocol", "method", "k", "measure", "splits", *_names("value"), "published",
               "published_half_width")  # fmt: skip
    lines = [
        (run.config.domain, run.config.protocol, row.method, row.k, measure, ours.splits, *_numbers(ours),
         *_pair(run.published_accuracy(row.method, measure)))
        for run in runs for row in accurate(run) for measure, ours in row.measures.items()
        if measure in run.info.measures
    ]  # fmt: skip
    blocks = tuple(run.once("block of Table 2", _block2) for run in runs)
    return BlockTable(ACCURACY, caption, blocks, Table(columns, lines))


def difference_table(runs: Sequence[RunView]) -> BlockTable:
    """The gains of methods over their references, paired over the splits: method minus reference."""
    runs = [run for run in runs if run.differences]
    caption = (
        "Method minus reference in the same split, averaged over splits, with a bootstrapped 95 % interval. Where the "
        "interval holds zero there is no significant difference."
    )
    columns = ("domain", "protocol", "method", "reference", "k", "splits", *_names("gained"), "shown", "verdict")
    lines = [
        (run.config.domain, run.config.protocol, d.name, d.reference, d.k, d.units, d.gained,
         *(d.interval or (None, None)), d.basis, d.standing.value)
        for run in runs for d in run.differences
    ]  # fmt: skip
    blocks = tuple(run.once("block of differences", _difference_block) for run in runs)
    return BlockTable("Paired differences", caption, blocks, Table(columns, lines))


def write_tables(runs: Sequence[RunView], folder: Path) -> list[Path]:
    """Write every table as CSV and Markdown into a folder; give the paths back."""
    paths: list[Path] = []
    for name, table in (
        ("table1", table1(runs)),
        ("table2", table2(runs)),
        ("differences", difference_table(runs)),
        ("reproduced", reproduced_table(runs)),
        ("claims", claims_table(runs)),
    ):
        paths.append(files.write_text(folder / f"{name}.csv", table.csv()))
        paths.append(files.write_text(folder / f"{name}.md", table.markdown()))
    return paths


def _block1(run: RunView) -> Table:
    best = {
        k: max((r.shown(run.scored).mean for r in run.rows if r.k == k and run.learned(r.method)), default=None)
        for k in run.ks
    }
    rows: list[tuple[str | Cell, ...]] = []
    for method in run.methods:
        cells: list[Cell] = []
        for k in run.ks:
            row = run.row(method, k)
            ours = None if row is None else row.shown(run.scored)
            bold = ours is not None and run.learned(method) and ours.mean == best[k]
            cells.append(mean_cell(ours, digits(run), note=number(run.published(method, k)), bold=bold))
        rows.append((method, *cells))
    return Table(("method", *(budget(k) for k in run.ks)), rows, title(run), "paper")


def _block2(run: RunView) -> Table:
    rows = accurate(run)
    best: dict[Measure, float] = {}
    for measure in run.info.measures:
        means = [row.measures[measure].mean for row in rows if measure in row.measures and run.learned(row.method)]
        if means:
            best[measure] = max(means) if MEASURES[measure].more_is_better else min(means)
    lines: list[tuple[str | Cell, ...]] = []
    for row in rows:
        cells: list[Cell] = []
        for measure in run.info.measures:
            shown, ours = MEASURE_FORMATS[measure], row.measures.get(measure)
            paper = number(run.published_accuracy(row.method, measure), shown.digits, shown.scale)
            bold = ours is not None and run.learned(row.method) and ours.mean == best[measure]
            cells.append(mean_cell(ours, shown.digits, shown.scale, note=paper, bold=bold))
        lines.append((row.method, *cells))
    at = "" if run.accuracy_k is None else f", k = {run.accuracy_k}"
    headers = ("method", *(MEASURE_FORMATS[measure].header for measure in run.info.measures))
    return Table(headers, lines, title(run) + at, "paper")


def _difference_block(run: RunView) -> Table:
    by_pair: dict[tuple[str, str], dict[int | None, SplitComparison]] = {}
    for difference in run.differences:
        by_pair.setdefault((difference.name, difference.reference), {})[difference.k] = difference
    rows = [
        (f"{method} - {reference}", *(signed(by_k.get(k), digits(run)) for k in run.ks))
        for (method, reference), by_k in by_pair.items()
    ]
    return Table(("method", *(budget(k) for k in run.ks)), rows, title(run))


def signed(difference: SplitComparison | None, places: int = 2) -> Cell:
    """A difference with its interval, for example `+1.20 [+0.90, +1.50]`."""
    if difference is None:
        return Cell()
    ends = [f"{end:+.{places}f}" for end in difference.interval or ()]
    return Cell(difference.gained, f"[{', '.join(ends)}]" if ends else "", format=f"{{:+.{places}f}}".format)


def accurate(run: RunView) -> list[MethodSummary]:
    """The rows of Table 2; where scales are the paper's, without heuristics, which it does not have."""
    aside = (CHOSEN, *run.info.heuristics) if run.config.protocol == "paper" else (CHOSEN,)
    return [
        row
        for row in run.rows
        if row.k == run.accuracy_k and row.method not in aside and any(m in row.measures for m in run.info.measures)
    ]


def _line1(run: RunView, row: MethodSummary) -> tuple[Any, ...]:
    fractional = (None, None, None) if row.fractional is None else _numbers(row.fractional)
    config = run.config
    return (
        *(config.domain, config.protocol, row.method, row.k, row.value.splits, *_numbers(row.value), *fractional),
        *(row.optimum.mean, row.basis(run.scored), row.share(run.scored), best_words(row.by_steps(run.scored))),
        *(*_pair(run.published(row.method, row.k)), row.seconds),
    )


def _names(name: str) -> tuple[str, str, str]:
    return name, f"{name}_low", f"{name}_high"


def _numbers(estimate: Estimate) -> tuple[float, float | None, float | None]:
    return estimate.mean, estimate.low, estimate.high


def _pair(figure: Published | None) -> tuple[float | None, float | None]:
    return (None, None) if figure is None else (figure.mean, figure.half)


def _bases(runs: Sequence[RunView]) -> str:
    """The decisions that are scored: rounded or fractional."""
    fractional = [run for run in runs if run.scored == "paper"]
    sentence = "Decisions are feasible (rounded)." if len(fractional) < len(runs) else ""
    if fractional:
        names = ", ".join(run.name for run in fractional)
        sentence += f" In {names} they are those of the layer (fractional), and rounded for methods that have no layer."
    if any(row.by_steps(run.scored) for run in fractional for row in run.rows):
        sentence += " OPT there is the same layer on the true theta."
    return sentence.strip()


def _published_note(runs: Sequence[RunView]) -> str:
    """The place of the paper's figures, or the reason why there are none."""
    known = [run for run in runs if run.config.domain in published.DOMAINS]
    small = [run for run in known if not run.comparable]
    if not known:
        return ""
    if not small:
        return "The second figure, where there is one, is the paper's."
    if len(small) == len(known):
        return "A quick run has smaller instances or models than the paper, so its figures are left out."
    names = ", ".join(run.name for run in small)
    return (
        "The second figure, where there is one, is the paper's; left out, since quick runs have smaller instances or "
        f"models than the paper: {names}."
    )


def _sentences(*parts: str) -> str:
    return " ".join(part for part in parts if part)

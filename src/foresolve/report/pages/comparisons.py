"""The page of reports that are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from foresolve._base.numbers import signed, significant
from foresolve._base.table import Cell
from foresolve._base.text import some_of
from foresolve.data.dataset import DecisionDataset
from foresolve.learning.comparison import Comparison, ReportRow
from foresolve.learning.examples import examples
from foresolve.learning.history import History
from foresolve.learning.measures import MEASURES
from foresolve.learning.paired import LEAST_UNITS, Standing, interval_words
from foresolve.learning.pictures.differences import pair_rows
from foresolve.learning.report import Report
from foresolve.report.pages.document import (
    Block,
    Card,
    Folded,
    Grid,
    Line,
    Page,
    Role,
    Section,
    bolded,
    line,
    today,
)
from foresolve.report.pages.examples import example_blocks
from foresolve.report.pages.glossary import of_blocks
from foresolve.report.pages.learning import histories_curves
from foresolve.report.pages.pairs import gained_cell, p_cell, p_words
from foresolve.report.pages.pictures import forest, percent
from foresolve.report.pages.trainings import instances, report_grid

FEW = 50  # independent instances, below which a card says how few there are
LISTED = 6  # names in a sentence
CARDS = 6  # models with a card of their own; the others are in the plot and the table


def comparison_page(
    comparison: Comparison,
    *,
    reports: Mapping[str, Report] | None = None,
    histories: Mapping[str, History] | None = None,
    models: Mapping[str, Any] | None = None,
    data: DecisionDataset | None = None,
    roles: Mapping[str, Role] | None = None,
    title: str = "",
    date: str = "",
) -> Page:
    """A comparison, the answers first; `comparison_page(comparison).save("report.html")`.

    Intervals and p-values hold for all models at once (`comparison.together()`). A model is called better or worse
    where its interval leaves out zero; on fewer than 20 independent instances none is.

    Parameters
    ----------
    reports: the reports that were compared, by name; adds a table of all their numbers.
    histories: the histories of the trainings, by name; adds learning curves.
    models, data: models by name and the data to decide on; adds a section on single instances.
    roles: "decision-focused", "two-stage", "heuristic" or "reference" by name, for the colors.
    title: the title of the page.
    date: the date of the results; by default today.

    Examples
    --------
    >>> import foresolve
    >>> from foresolve.models import ConstantMean, LinearRegression
    >>> from foresolve.report import comparison_page
    >>> train, test = foresolve.data.shortest_path_data(120, seed=0).split(60, 60, seed=0)
    >>> models = {"mean": ConstantMean().fit(train), "ridge": LinearRegression("cv").fit(train)}
    >>> reports = {name: foresolve.evaluate(model, test) for name, model in models.items()}
    >>> page = comparison_page(foresolve.compare(reports), reports=reports, models=models, data=test)
    >>> page.html().startswith("<!DOCTYPE html>")
    True
    """
    contest = _Contest(comparison.together(), roles or {})
    sections = [Section("By how much", (contest.forest(), contest.grid()))]
    if models and data is not None:
        shown = example_blocks(examples(models, data), contest.roles)
        sections += [Section("One instance to look at", shown, "One instance")] if shown else []
    curves = histories_curves(histories or {}, contest.roles)
    sections += [Section("Learning curves", (curves,))] if curves is not None else []
    if reports:
        folded: list[Block] = [Folded(name, (report_grid(report),)) for name, report in reports.items()]
        sections.append(Section("All numbers", tuple(folded)))
    lead = f"{len(comparison.rows)} models compared by {contest.measure} on {instances(comparison.instances)}"
    lead += f", paired with {comparison.reference}"
    lead += f", counted in {comparison.blocks}." if comparison.blocks else "."
    heading = title or f"Compared with {comparison.reference}"
    return Page(heading, lead, contest.cards(), tuple(sections), {}, date or today())


class _Contest:
    """A comparison, and which of its models are better than the reference."""

    def __init__(self, comparison: Comparison, roles: Mapping[str, Role]) -> None:
        self.comparison, self.roles = comparison, roles
        self.measure = comparison.measure.replace("_", " ")
        self.reference, self.units = comparison.reference, comparison.units
        self.rows = comparison.others
        self.base = comparison[comparison.reference].mean
        self.enough = self.units >= LEAST_UNITS

    @property
    def caution(self) -> str:
        """A caution if instances are few."""
        what = self.comparison.blocks or instances(self.units)
        if not self.enough:
            return f"Small sample: {what}. At least {LEAST_UNITS} are needed for any claim."
        return f"Small sample: {what}." if self.units < FEW else ""

    def stands(self, row: ReportRow, side: Standing) -> bool:
        """True if enough instances put a model on this side of the reference."""
        return self.enough and row.standing is side

    def cards(self) -> tuple[Card, ...]:
        """One for each model, unless there are many; before them, where there are several, one for all."""
        each = [self.card(row) for row in self.rows] if len(self.rows) <= CARDS else []
        first, *others = [self.overall(), *each] if len(self.rows) > 1 else each
        known = MEASURES.get(self.comparison.measure)
        told = ["" if known is None else known.meaning, of_blocks(self.comparison.blocks)]
        return replace(first, more=" ".join(filter(None, told))), *others

    def overall(self) -> Card:
        """A card on all models: those that are better, and those that are worse."""
        better = [row.name for row in self.rows if self.stands(row, Standing.AHEAD)]
        worse = [row.name for row in self.rows if self.stands(row, Standing.BEHIND)]
        question, count = f"Which models are better than {self.reference}?", len(self.rows)
        if not self.enough:
            return Card(question, f"Too few instances to say so of any of {count}.", "open", self.caution)
        some = f"{len(better)} of {count}: {some_of(better, LISTED)}."
        answer = some if better else f"None of {count} significantly."
        answer += f" Significantly worse: {some_of(worse, LISTED)}." if worse else ""
        return Card(question, answer, "good" if better else "bad" if len(worse) == count else "open", self.caution)

    def card(self, row: ReportRow) -> Card:
        """The card of one model."""
        interval = "" if row.interval is None else f" {interval_words(row.interval)}"
        answer = f"{self.measure} {significant(row.mean)} against {significant(self.base)}; "
        answer += f"gained {signed(row.gained)}{interval}, {p_words(row)}."
        words, tone = "No significant difference" if self.enough else "Too few instances to say", "open"
        if self.stands(row, Standing.AHEAD):
            words, tone = "Yes", "good"
        elif self.stands(row, Standing.BEHIND):
            words, tone = "No, it is worse", "bad"
        return Card(f"Is {row.name} better than {self.reference}?", f"{words}: {answer}", tone, self.caution)

    def forest(self) -> Block:
        """The gains."""
        rows = pair_rows(self.rows, self.roles, tested=None if self.enough else False)
        what = self.comparison.blocks or instances(self.comparison.instances)
        caption = f"Mean gain over {self.reference}, paired on {what}{self.corrected}. {self.caution}"
        label, level = f"{self.measure} gained over {self.reference}", percent(self.comparison.confidence)
        return forest("Paired differences", rows, label, caption=caption.strip(), level=level)

    @property
    def corrected(self) -> str:
        count = len(self.rows)
        return f"; intervals and p-values hold for all {count} comparisons at once" if count > 1 else ""

    def grid(self) -> Grid:
        """All numbers, the best first."""
        sign = 1 if self.comparison.more_is_better else -1
        lines = [self.line(row) for row in sorted(self.comparison.rows, key=lambda row: -sign * row.mean)]
        headers = ("model", self.measure, "normalized regret", f"gained over {self.reference}", "p")
        if all(row.normalized_regret is None for row in self.comparison.rows):
            headers, lines = (
                (*headers[:2], *headers[3:]),
                [Line((*cells.cells[:2], *cells.cells[3:]), cells.role) for cells in lines],
            )
        caption = f"The best first, and bold{self.corrected}. {self.caution}"
        return Grid("All models", headers, bolded(lines, [1], [1] if sign < 0 else []), caption.strip())

    def line(self, row: ReportRow) -> Line:
        """A row of the table."""
        ends = interval_words(row.normalized_interval, "{:.2%}".format)
        return line([
            Cell(row.name, note="the reference" if row.is_reference else ""), Cell(row.mean, format=significant),
            Cell(row.normalized_regret, ends, format="{:.2%}".format), gained_cell(row), p_cell(row),
        ], self.roles.get(row.name))  # fmt: skip

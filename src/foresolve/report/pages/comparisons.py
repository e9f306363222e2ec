"""The page of reports that are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from foresolve._base.numbers import signed, significant
from foresolve._base.table import Cell
from foresolve._base.text import some_of
from foresolve.data.dataset import DecisionDataset
from foresolve.learning.comparison import Comparison, Row
from foresolve.learning.examples import examples
from foresolve.learning.history import History
from foresolve.learning.inference import holm
from foresolve.learning.report import Report
from foresolve.learning.study.verdict import LEAST_UNITS
from foresolve.report.pages.document import (
    Block,
    Card,
    Folded,
    Grid,
    Line,
    Page,
    Role,
    Section,
    Tone,
    bolded,
    line,
    today,
    unseen,
)
from foresolve.report.pages.forest import Difference, Forest, percent
from foresolve.report.pages.glossary import of_blocks
from foresolve.report.pages.learning import histories_curves
from foresolve.report.pages.picker import picker_of
from foresolve.report.pages.trainings import instances, report_grid

LEAST_P = 1e-4  # smaller ones are called so
FEW = 50  # independent instances, below which a card says how few there are
LISTED = 6  # names in a sentence
CARDS = 6  # models with a card of their own; the others are in the plot and the table
MEANINGS = {
    "regret": "Regret is what decisions lose against the best ones in hindsight.",
    "relative_regret": "Relative regret is the regret of an instance as a share of its best value.",
    "worst_case_regret": "Worst-case regret counts ties between decisions against the model.",
    "value": "Value is what decisions are worth under the truth; costs are negative.",
}
LESS_IS_BETTER = {"regret", "relative_regret", "worst_case_regret", "mse", "cross_entropy", "hamming", "adjusted"}


def comparison_page(
    comparison: Comparison,
    *,
    reports: Mapping[str, Report] | None = None,
    histories: Mapping[str, History] | None = None,
    models: Mapping[str, Any] | None = None,
    data: DecisionDataset | None = None,
    roles: Mapping[str, Role] | None = None,
    more_is_better: bool | None = None,
    title: str = "",
    date: str = "",
) -> Page:
    """A comparison, the answers first; `comparison_page(comparison).save("report.html")`.

    A model is called better or worse where its interval leaves out zero and the p-value, corrected for the number of
    comparisons (Holm), is below `1 - confidence`; on fewer than 20 independent instances none is.

    Parameters
    ----------
    reports: the reports that were compared, by name; adds a table of all their numbers.
    histories: the histories of the trainings, by name; adds learning curves.
    models, data: models by name and the data to decide on; adds a section on single instances.
    roles: "decision-focused", "two-stage", "heuristic" or "reference" by name, for the colors.
    more_is_better: whether larger values of the measure are better. Known for the measures of `evaluate`; True by
        default for others.
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
    more = comparison.measure not in LESS_IS_BETTER if more_is_better is None else more_is_better
    contest = _Contest(comparison, 1 if more else -1, roles or {})
    sections = [Section("By how much", (contest.forest(), contest.grid()))]
    if models and data is not None:
        shown = picker_of(examples(models, data), contest.roles)
        sections += [Section("One instance to look at", (shown,), "One instance")] if shown is not None else []
    curves = histories_curves(histories or {}, contest.roles)
    sections += [Section("Learning curves", (curves,))] if curves is not None else []
    if reports:
        folded: list[Block] = [Folded(name, (report_grid(report),)) for name, report in reports.items()]
        sections.append(Section("All numbers", tuple(folded)))
    lead = f"{len(comparison.rows)} models compared by {contest.measure} on {instances(comparison.instances)}"
    lead += f", paired with {comparison.reference}; {comparison.test}"
    lead += f" on the means of {comparison.blocks}." if comparison.blocks else "."
    heading = title or f"Compared with {comparison.reference}"
    return Page(heading, lead, contest.cards(), tuple(sections), {}, date or today())


class _Contest:
    """A comparison, and which of its models are better than the reference."""

    def __init__(self, comparison: Comparison, sign: int, roles: Mapping[str, Role]) -> None:
        self.comparison, self.sign, self.roles = comparison, sign, roles
        self.measure = comparison.measure.replace("_", " ")
        self.reference, self.units = comparison.reference, comparison.units
        self.rows = sorted(
            (row for row in comparison.rows if row.name != self.reference), key=lambda row: -sign * row.difference
        )
        self.base = comparison[comparison.reference].mean
        self.p_values = holm({row.name: row.p_value for row in self.rows})
        self.enough = self.units >= LEAST_UNITS

    @property
    def caution(self) -> str:
        """How few instances there are, where they are few."""
        what = self.comparison.blocks or instances(self.units)
        if not self.enough:
            return f"Small sample: {what}. At least {LEAST_UNITS} are needed for any claim."
        return f"Small sample: {what}." if self.units < FEW else ""

    def told(self, row: Row) -> int:
        """1 where the model is better, -1 where it is worse, 0 where nobody knows."""
        low, high = self.ends(row)
        if low is None or high is None or not self.enough or not self.tested(row):
            return 0
        return 1 if low > 0 else -1 if high < 0 else 0

    def tested(self, row: Row) -> bool:
        """Whether the corrected p-value is small enough, too."""
        return self.p_values[row.name] < 1 - self.comparison.confidence

    def ends(self, row: Row) -> tuple[float | None, float | None]:
        """Of the improvement."""
        if row.difference_interval is None:
            return None, None
        low, high = sorted(self.sign * end + 0.0 for end in row.difference_interval)
        return low, high

    def cards(self) -> tuple[Card, ...]:
        """One for each model, unless there are many; before them, where there are several, one for all."""
        each = [self.card(row) for row in self.rows] if len(self.rows) <= CARDS else []
        first, *others = [self.overall(), *each] if len(self.rows) > 1 else each
        told = [MEANINGS.get(self.comparison.measure, ""), of_blocks(self.comparison.blocks)]
        return replace(first, more=" ".join(filter(None, told))), *others

    def overall(self) -> Card:
        """Which models are better, and which worse."""
        better = [row.name for row in self.rows if self.told(row) > 0]
        worse = [row.name for row in self.rows if self.told(row) < 0]
        question, count = f"Which models are better than {self.reference}?", len(self.rows)
        if not self.enough:
            return Card(question, f"Too few instances to say so of any of {count}.", "open", self.caution)
        answer = (
            f"{len(better)} of {count}: {some_of(better, LISTED)}." if better else f"None of {count} significantly."
        )
        answer += f" Significantly worse: {some_of(worse, LISTED)}." if worse else ""
        return Card(question, answer, "good" if better else "bad" if len(worse) == count else "open", self.caution)

    def card(self, row: Row) -> Card:
        """Of one model."""
        low, high = self.ends(row)
        told, gain = self.told(row), self.sign * row.difference
        interval = "" if low is None or high is None else f" [{signed(low)}, {signed(high)}]"
        answer = f"{self.measure} {significant(row.mean)} against {significant(self.base)}; "
        answer += f"improvement {signed(gain)}{interval}, {self.p(row)}."
        unknown = "No significant difference" if self.enough else "Too few instances to say"
        words = {1: "Yes", -1: "No, it is worse", 0: unknown}[told]
        tones: dict[int, Tone] = {1: "good", -1: "bad", 0: "open"}
        question = f"Is {row.name} better than {self.reference}?"
        return Card(question, f"{words}: {answer}", tones[told], self.caution)

    def p(self, row: Row) -> str:
        """The corrected p-value."""
        value = self.p_values[row.name]
        return f"p {'= ' * (value >= LEAST_P)}{small_p(value)}"

    def forest(self) -> Forest:
        """The improvements."""
        drawn = tuple(
            Difference(row.name, self.reference, self.sign * row.difference + 0.0, *self.ends(row),
                       self.roles.get(row.name), note=self.p(row), tested=self.enough and self.tested(row))
            for row in self.comparison.rows if row.name != self.reference
        )  # fmt: skip
        what = self.comparison.blocks or instances(self.comparison.instances)
        caption = f"Mean improvement, paired on {what}; each interval for itself; p by a "
        caption += f"{self.comparison.test}{self.corrected}. {self.caution}"
        return Forest("Paired differences", drawn, f"improvement of {self.measure}", caption=caption.strip(),
                      level=percent(self.comparison.confidence))  # fmt: skip

    @property
    def corrected(self) -> str:
        return f", corrected for {len(self.rows)} comparisons (Holm)" if len(self.rows) > 1 else ""

    def grid(self) -> Grid:
        """All numbers, the best first."""
        lines = [self.line(row) for row in sorted(self.comparison.rows, key=lambda row: -self.sign * row.mean)]
        headers = ("model", self.measure, "normalized regret", f"difference from {self.reference}", "p")
        if all(row.normalized_regret is None for row in self.comparison.rows):
            headers, lines = (
                (*headers[:2], *headers[3:]),
                [Line((*cells.cells[:2], *cells.cells[3:]), cells.role) for cells in lines],
            )
        caption = f"The best first, and bold{'; p' + self.corrected if self.corrected else ''}. {self.caution}"
        return Grid("All models", headers, bolded(lines, [1], [1] if self.sign < 0 else []), caption.strip())

    def line(self, row: Row) -> Line:
        """A row of the table."""
        itself = row.name == self.reference
        return line([
            Cell(row.name, note="the reference" if itself else ""), Cell(row.mean, format=significant),
            Cell(row.normalized_regret, row.normalized_interval, format="{:.2%}".format),
            Cell(0.0, format=unseen) if itself else Cell(row.difference, row.difference_interval, format=signed),
            Cell(None if itself else self.p_values[row.name], format=small_p),
        ], self.roles.get(row.name))  # fmt: skip


def small_p(value: float) -> str:
    """A p-value; the least ones are not told apart."""
    return f"{value:.2g}" if value >= LEAST_P else f"< {LEAST_P:g}"

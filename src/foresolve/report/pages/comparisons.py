"""The page of reports that are compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foresolve.data.dataset import DecisionDataset
from foresolve.learning.comparison import Comparison, Row
from foresolve.learning.examples import examples
from foresolve.learning.history import History
from foresolve.learning.report import Report
from foresolve.report.pages.document import Block, Card, Entry, Folded, Grid, Page, Section, bolded, line, today
from foresolve.report.pages.forest import Difference, Forest, percent
from foresolve.report.pages.picker import picker_of
from foresolve.report.pages.trainings import histories_curves, report_grid

FEW = 50  # instances, below which a card says how few there are
LESS_IS_BETTER = {"regret", "relative_regret", "worst_case_regret", "mse", "cross_entropy", "hamming", "adjusted"}


def comparison_page(
    comparison: Comparison,
    *,
    reports: Mapping[str, Report] | None = None,
    histories: Mapping[str, History] | None = None,
    models: Mapping[str, Any] | None = None,
    data: DecisionDataset | None = None,
    more_is_better: bool | None = None,
    title: str = "",
    date: str = "",
) -> Page:
    """A comparison, the answers first; `comparison_page(comparison).save("report.html")`.

    Parameters
    ----------
    reports: the reports that were compared, by name; adds a table of all numbers and warns of small samples.
    histories: the histories of the trainings, by name; adds learning curves.
    models, data: models by name and the data to decide on; adds a section on single instances.
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
    sign = 1 if (comparison.measure not in LESS_IS_BETTER if more_is_better is None else more_is_better) else -1
    count = len(next(iter(reports.values()))) if reports else 0
    sections = [Section("By how much", (_forest(comparison, sign, count), _grid(comparison, sign)))]
    if models and data is not None:
        shown = picker_of(examples(models, data), {})
        sections += [Section("One instance to look at", (shown,), "One instance")] if shown is not None else []
    curves = histories_curves(histories or {})
    sections += [Section("Learning curves", (curves,))] if curves is not None else []
    if reports:
        folded: list[Block] = [Folded(name, (report_grid(report),)) for name, report in reports.items()]
        sections.append(Section("All numbers", tuple(folded)))
    lead = f"{len(comparison.rows)} models compared by {comparison.measure}"
    lead += f" on {count:,} instances" if count else ""
    lead += f", paired with {comparison.reference}; {comparison.test} test"
    lead += f" on the means of {comparison.blocks}." if comparison.blocks else "."
    heading = title or f"Compared with {comparison.reference}"
    return Page(heading, lead, _cards(comparison, sign, count), tuple(sections), {}, date or today())


def _cards(comparison: Comparison, sign: int, count: int) -> tuple[Card, ...]:
    caution = f"Small sample: {count} instances." if 0 < count < FEW else ""
    cards = []
    for row in sorted(comparison.rows, key=lambda row: -sign * row.difference):
        if row.name == comparison.reference:
            continue
        low, high = _ends(row, sign)
        gain = sign * row.difference
        interval = "" if low is None or high is None else f" [{min(low, high):+.3g}, {max(low, high):+.3g}]"
        answer = f"{comparison.measure} {row.mean:.4g}, {row.difference:+.3g} against {comparison.reference}; "
        answer += f"improvement {gain:+.3g}{interval}, p = {row.p_value:.2g}."
        told = low is not None and high is not None and (low > 0 or high < 0)
        words = ("Yes" if gain > 0 else "No, it is worse") if told else "No significant difference"
        tone = ("good" if gain > 0 else "bad") if told else "open"
        question = f"Is {row.name} better than {comparison.reference}?"
        cards.append(Card(question, f"{words}: {answer}", tone, caution))  # type: ignore[arg-type]
    return tuple(cards)


def _forest(comparison: Comparison, sign: int, count: int) -> Forest:
    drawn = []
    for row in comparison.rows:
        if row.name != comparison.reference:
            low, high = _ends(row, sign)
            drawn.append(Difference(row.name, comparison.reference, sign * row.difference, low, high,
                                    note=f"p {row.p_value:.2g}"))  # fmt: skip
    small = f" Small sample: {count} instances." if 0 < count < FEW else ""
    caption = f"Mean over instances, paired; intervals by bootstrap, p-values not corrected.{small}"
    return Forest("Paired differences", tuple(drawn), f"improvement of {comparison.measure}", "+.3g", caption=caption,
                  level=percent(comparison.confidence))  # fmt: skip


def _ends(row: Row, sign: int) -> tuple[float | None, float | None]:
    if row.difference_interval is None:
        return None, None
    low, high = sorted(sign * end for end in row.difference_interval)
    return low, high


def _grid(comparison: Comparison, sign: int) -> Grid:
    lines = []
    for row in sorted(comparison.rows, key=lambda row: -sign * row.mean):
        itself = row.name == comparison.reference
        share, pair = row.normalized_regret, row.difference_interval
        ends = () if itself or pair is None else (f"{pair[0]:+.3g} to {pair[1]:+.3g}",)
        lines.append(line([
            Entry(row.name, ("the reference",) if itself else ()), Entry(f"{row.mean:.4g}", value=row.mean),
            Entry("") if share is None else Entry(f"{share:.2%}", _percent(row.normalized_interval), share),
            Entry("", value=0.0) if itself else Entry(f"{row.difference:+.4g}", ends, row.difference),
            Entry("") if itself else Entry(f"{row.p_value:.2g}", value=row.p_value),
        ]))  # fmt: skip
    headers = ("", comparison.measure, "normalized regret", f"less {comparison.reference}", "p")
    return Grid("All models", headers, bolded(lines, [1], [1] if sign < 0 else []), "The best first, and bold.")


def _percent(pair: tuple[float, float] | None) -> tuple[str, ...]:
    return () if pair is None else (f"{pair[0]:.2%} to {pair[1]:.2%}",)

"""The page of one training: what the model is worth, and how it learned."""

from __future__ import annotations

import math
from typing import Any

from foresolve._base.numbers import significant
from foresolve._base.progress import duration
from foresolve._base.table import Cell, Table
from foresolve.data.dataset import DecisionDataset
from foresolve.learning.blocks import counted, described
from foresolve.learning.examples import examples
from foresolve.learning.history import History
from foresolve.learning.report import Report
from foresolve.report.pages.document import Card, Folded, Grid, Page, Section, Tone, grid, today
from foresolve.report.pages.examples import example_blocks
from foresolve.report.pages.glossary import of_blocks
from foresolve.report.pages.learning import history_curves

FEW = 50  # instances, below which a card says how few there are


def training_page(
    history: History,
    report: Report | None = None,
    *,
    model: Any = None,
    data: DecisionDataset | None = None,
    title: str = "A training run",
    date: str = "",
) -> Page:
    """How a model learned and what its decisions are worth; `training_page(history, report).save("report.html")`.

    Parameters
    ----------
    report: the evaluation of the model on test data.
    model, data: the model and the data to decide on; adds a section on single instances.
    title: the title of the page.
    date: the date of the results; by default today.

    Examples
    --------
    >>> import foresolve
    >>> from foresolve.report import training_page
    >>> train, test = foresolve.data.shortest_path_data(120, seed=0).split(60, 60, seed=0)
    >>> model = foresolve.MLP(5, 40, seed=0)
    >>> history = foresolve.fit(model, "spo+", train, epochs=2, progress=False)
    >>> page = training_page(history, foresolve.evaluate(model, test))
    >>> [card.question for card in page.cards]
    ['How good are the decisions?', 'Did training help?']
    """
    sections = []
    if report is not None:
        sections.append(Section("What decisions are worth", (report_grid(report),)))
    if model is not None and data is not None:
        shown = example_blocks(examples({"model": model}, data), {})
        sections += [Section("One instance to look at", shown, "One instance")] if shown else []
    curves = history_curves(history)
    sections += [Section("Learning curves", (curves,))] if curves is not None else []
    sections.append(_settings(history))
    cards = ([_worth(report)] if report is not None else []) + [_learned(history)]
    lead = f"{len(history)} of {history.planned} epochs, {_took(history)}."
    return Page(title, lead, tuple(cards), tuple(sections), {}, date or today())


def report_grid(report: Report) -> Grid:
    """All numbers of a report."""
    costs = (
        " What counts is maximized: a cost is a negative value."
        if report.value is not None and report.value < 0
        else ""
    )
    table = Table(("number", "mean", f"{report.confidence:.0%} interval"), report.rows())
    return grid(table, f"{instances(len(report))}{report.remarks}.{costs}")


def instances(count: int) -> str:
    """
    >>> instances(1), instances(1200)
    ('1 instance', '1,200 instances')
    """
    return "1 instance" if count == 1 else f"{count:,} instances"


def _worth(report: Report) -> Card:
    question, few = "How good are the decisions?", counted(report.block, len(report)) < FEW
    caution = f"Small sample: {described(report.block, len(report)) or instances(len(report))}." if few else ""
    if report.regret is None:
        share = report.hamming
        answer = "" if share is None else f"{share:.2%} of the entries of decisions differ from those on record."
        return Card(question, answer or "Nothing is known.", "plain", caution)
    pair = report.intervals.get("normalized_regret")
    ends = "" if pair is None else f" [{pair[0]:.2%}, {pair[1]:.2%}]"
    tone: Tone = "bad" if report.loses_to_mean else "plain"
    best = "best decisions" if report.exact else "best decisions known"
    share = f"{report.normalized_regret:.2%}{ends} of what the {best} are worth"
    if math.isnan(report.normalized_regret):
        share = f"{significant(report.regret)} each against the {best}, which are worth nothing"
    answer = f"They lose {share}, on {instances(len(report))}."
    worse = "They are worse than the one decision for the mean of the parameters: the model has learned too little."
    more = [of_blocks(described(report.block, len(report))), worse if report.loses_to_mean else ""]
    return Card(question, answer, tone, caution, more=" ".join(filter(None, more)))


def _learned(history: History) -> Card:
    question = "Did training help?"
    if history.best_epoch is None or history.start is None or history.best is None:
        if not len(history):
            return Card(question, "There are no epochs.", "open")
        loss = significant(history.train_loss[-1])
        return Card(question, f"Nothing was validated; the training loss is {loss}.", "open")
    share = history.monitor in ("regret", "agreement")
    before, after = (f"{v:.2%}" if share else significant(v) for v in (history.start, history.best))
    what = {"regret": "regret", "agreement": "distance to decisions on record"}.get(history.monitor or "", "loss")
    if history.best_epoch == 0:
        return Card(question, f"No: no epoch improved the validation {what} of the start, {before}.", "bad")
    answer = (
        f"Yes: validation {what} fell from {before} to {after}, after epoch {history.best_epoch} of {len(history)}."
    )
    return Card(question, answer, "good", more="Validation data chose the epoch, so the figure is optimistic.")


def _took(history: History) -> str:
    seconds = sum(history.seconds)
    return f"{significant(seconds, 2)} s" if seconds < 10 else duration(seconds)


def _settings(history: History) -> Section:
    known: list[tuple[str, Any]] = [("epochs planned", history.planned), ("epochs done", len(history)),
                                    ("monitored", history.monitor or "nothing"),
                                    ("stopped early", "yes" if history.stopped_early else "no")]  # fmt: skip
    known += [(f"{name}, chosen by fit", Cell(value, format="{:.3g}".format)) for name, value in history.chosen.items()]
    known += [("time", _took(history))]
    table = grid(Table(("setting", "value"), known), words=True)
    return Section("Time and settings", (Folded("Settings", (table,)),), "Settings")

"""The words of reports, on made-up results that go every way; numbers are left out.

After a change of words, `python -m pytest tests/report/test_wording.py` with WORDING=write in the environment writes
`wording.txt` anew, and its difference is there to be read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import torch

import foresolve
from foresolve.data import DecisionDataset
from foresolve.learning import History, compare, evaluate
from foresolve.report import comparison_page, training_page
from foresolve.report.findings import (
    alikeness,
    comparison_sentences,
    difference_sentences,
    headline,
    limits,
    shortfalls,
)
from foresolve.report.pages.document import Page
from foresolve.report.pages.reproduction import reproduction_page
from foresolve.report.published import Published
from foresolve.report.summary import Estimate, SplitComparison
from foresolve.report.tables import difference_table, table1, table2
from foresolve.report.verdicts import Comparison
from report.pages.test_trainings import history
from report.views import published_run
from reproduce.fakes import fake_run

WORDING = Path(__file__).with_name("wording.txt")
NUMBER = re.compile(r"(?<![\w-])[+-]?\d+(,\d{3})*(\.\d+)?(?![\w-])")


def test_the_words_of_reports() -> None:
    told = "".join(f"## {title}\n" + "".join(f"{line}\n" for line in lines) for title, lines in words())
    told = NUMBER.sub("#", told)
    if os.environ.get("WORDING") == "write":
        WORDING.write_text(told, encoding="utf-8")
    assert told == WORDING.read_text(encoding="utf-8")


def words() -> Iterator[tuple[str, Iterable[str]]]:
    gaps = [(1.2, (0.9, 1.5)), (-1.2, (-1.5, -0.9)), (0.1, (-0.2, 0.4)), (0.1, None)]
    found = [
        SplitComparison(name="A", reference="B", gained=gained, interval=interval, units=30, k=None, basis="rounded")
        for gained, interval in gaps
    ]
    yield "paired differences", difference_sentences([*found, *(replace(found[0], k=k) for k in (5, 10))])
    means = [(5.0, 0.1), (8.0, 0.1), (6.0, 0.1), (6.0, None)]
    ours = [Estimate(m, None if h is None else m - h, None if h is None else m + h, 30) for m, h in means]
    compared = [Comparison("A", None, None, figure, Published(6.15, 0.38)) for figure in ours]
    yield "beside the published figures", comparison_sentences(compared)
    run, quick = fake_run(splits=12), fake_run(splits=1, quick=True)
    yield "a run", [*headline(run), *shortfalls(run), *limits(run), *alikeness(run)]
    yield "a quick run", [*headline(quick), *shortfalls(quick), *limits(quick)]
    some = [published_run("budget"), fake_run("recommendation", splits=3, protocol="paper"), quick]
    yield "captions", [table.caption for table in (table1(some), table2(some), difference_table(some))]
    yield "reproduction", spoken(reproduction_page(some))
    yield (
        "trainings",
        [
            card.answer
            for changes in ({}, {"best_epoch": 0}, {"best_epoch": None, "monitor": None, "start": None})
            for card in training_page(history(**changes)).cards
        ]
        + [training_page(History()).cards[0].answer],
    )
    theta = torch.rand(40, 6, generator=torch.Generator().manual_seed(0))
    data, noise = DecisionDataset(theta, theta, foresolve.TopK(6, 2)), theta.roll(1, 1)
    models = {"noise": lambda x: noise[: len(x)], "truth": lambda x: x, "same": lambda x: noise[: len(x)]}
    reports = {name: evaluate(model, data) for name, model in models.items()}
    yield "comparison", spoken(comparison_page(compare(reports)))
    yield "comparison of values", spoken(comparison_page(compare(reports, measure="value", more_is_better=False)))
    yield "comparison by blocks", spoken(comparison_page(compare(reports, block=4)))
    yield "a model", spoken(training_page(history(), reports["noise"]))


def spoken(page: Page) -> Iterator[str]:
    """The lead, the cards and the headings of a page."""
    yield page.lead
    for card in page.cards:
        yield " | ".join(filter(None, (card.question, card.answer, card.caution, card.more)))
    yield from (section.title for section in page.sections)

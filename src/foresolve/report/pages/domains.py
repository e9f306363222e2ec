"""A section for each domain: its story, values, differences, accuracy, figures, an instance, time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from foresolve._base.numbers import significant
from foresolve._base.table import Cell
from foresolve._base.text import listed
from foresolve.errors import MissingExtraError
from foresolve.learning.examples import matters
from foresolve.learning.measures import MEASURES
from foresolve.report import courses, figures, findings, tables
from foresolve.report.formats import (
    MEASURE_FORMATS,
    best_words,
    budget,
    digits,
    mean_cell,
    number,
    share_cell,
)
from foresolve.report.pages.answers import small
from foresolve.report.pages.document import (
    Block,
    Bullets,
    Drawing,
    Folded,
    Grid,
    Heading,
    Section,
    Text,
    bolded,
    line,
)
from foresolve.report.pages.examples import example_blocks
from foresolve.report.pages.learning import directions, histories_curves, in_words
from foresolve.report.published import Published
from foresolve.report.roles import role_of
from foresolve.report.summary import CHOSEN, OPT, RANDOM
from foresolve.report.view import RunView

APART = (CHOSEN, RANDOM, OPT)
SHOWN = 4  # instances on the page
Picture = Mapping[str, np.ndarray]


def section(run: RunView) -> Section:
    """All of one run."""
    story = Text(run.info.story)
    if not run.rows:
        return Section(run.name, (story, Text(("There are no records yet.",))), run.info.title)
    blocks: list[Block] = [story, value_grid(run)]
    drawn = _drawings(run)
    if run.differences:
        blocks += [drawn.pop("differences")] if "differences" in drawn else []
        blocks.append(Folded("The same in words", (Bullets((*_sentences(run), *findings.choices(run))),)))
    shortfalls = (*findings.shortfalls(run), *findings.limits(run))
    blocks.append(Folded("Where it falls short", (Bullets(shortfalls or ("Nothing, by the rules.",)),)))
    blocks += _published(run)
    if tables.table2([run]).blocks:
        blocks.append(accuracy_grid(run))
    learning = [drawn.pop("learning")] if "learning" in drawn else []
    blocks += [Heading("Figures"), *drawn.values()] if drawn else []
    shown = example_blocks(instances(run), {name: role_of(run, name) for name in run.methods})
    blocks += [Heading("One instance to look at"), *shown] if shown else []
    blocks += [*learning, *_all_learning(run)]
    blocks.append(Folded("Time and cost", (_details(run),)))
    return Section(run.name, tuple(blocks), run.info.title)


def value_grid(run: RunView) -> Grid:
    """Table 1, by value, with what is a bound or a choice among the others set apart."""
    lines = []
    for method in run.methods:
        rows = [run.row(method, k) for k in run.ks]
        means = [None if row is None else row.shown(run.scored) for row in rows]
        cells = [
            mean_cell(figure, digits(run), note=_paper(run.published(method, k))) for figure, k in zip(means, run.ks)
        ]
        shares = [row.share(run.scored) for row in rows if row is not None]
        share = shares[0] if len(shares) == 1 else None
        extra = [] if len(run.ks) > 1 else [share_cell(share)]
        lines.append(line([method, *cells, *extra], role_of(run, method), method in APART))
    lines.sort(key=lambda row: -max((cell.number or 0.0 for cell in row.cells[1:2]), default=0.0))
    of_best = [] if len(run.ks) > 1 else ["of the best"]
    headers = ("method", *(budget(k) for k in run.ks), *of_best)
    bold = "Bold: the largest mean of a column; references, below the double line, are not compared."
    caption = f"{tables.quality_caption([run])} {bold} {small([run])}".strip()
    return Grid(tables.QUALITY, headers, bolded(lines, range(1, 1 + len(run.ks))), caption)


def accuracy_grid(run: RunView) -> Grid:
    """Table 2, the best first."""
    lines, formats = [], [MEASURE_FORMATS[measure] for measure in run.info.measures]
    for row in tables.accurate(run):
        cells = [
            mean_cell(row.measures.get(measure), shown.digits, shown.scale,
                      note=_paper(run.published_accuracy(row.method, measure), shown.digits, shown.scale))
            for measure, shown in zip(run.info.measures, formats)
        ]  # fmt: skip
        lines.append(line([row.method, *cells], role_of(run, row.method)))
    least = [i for i, measure in enumerate(run.info.measures, 1) if not MEASURES[measure].more_is_better]
    lines.sort(key=lambda row: (row.cells[1].number or 0.0) * (1 if 1 in least else -1))
    caption = f"{tables.accuracy_caption([run])} Bold: the best of a column: the least MSE or CE (cross-entropy), the "
    caption += "largest AUC."
    headers = ("method", *(shown.header for shown in formats))
    return Grid(tables.ACCURACY, headers, bolded(lines, range(1, 1 + len(formats)), least), caption)


def instances(run: RunView) -> dict[str, Any]:
    """Test instances of the first split, as `foresolve.learning.examples` has them; nothing in old folders."""
    pictures = {name: run.pictures[name] for name in run.methods if "decision" in run.pictures.get(name, {})}
    if not pictures:
        return {}
    main = [name for name in run.info.figure_methods if name in pictures]
    names = [*main, *(name for name in pictures if name not in main)]
    first = pictures[names[0]]
    count = min(len(first["decision"]), SHOWN)
    k = "" if run.accuracy_k is None else f", k = {run.accuracy_k}"
    summed = run.info.columns and len(first["item_truth"][0]) != _pairs(run)
    picked = f"The first {count} test instances of the first split{k}, regardless of results. Decision-focused "
    picked += "predictions may be of any size: only what is decided by them counts."
    return {
        "item": f"{run.info.rows} – {run.info.columns}" if _paired(run, len(first["item_truth"][0])) else run.info.rows,
        "parameter": f"sum over {run.info.columns}" if summed else "parameter", "picked": picked,
        "instances": [_instance(run, {name: pictures[name] for name in names}, place) for place in range(count)],
    }  # fmt: skip


def _instance(run: RunView, pictures: Mapping[str, Picture], place: int) -> dict[str, Any]:
    first = next(iter(pictures.values()))
    truth, best, optimum = (first[name][place] for name in ("item_truth", "best_decision", "best_value"))
    rows = [best, *(picture["decision"][place] for picture in pictures.values())]
    kept = matters([torch.as_tensor(row) for row in rows], torch.as_tensor(truth))
    choices = [
        {
            "method": name, "value": float(picture["decision_value"][place]), "words": "",
            "cost": float(optimum - picture["decision_value"][place]),
            "predictions": picture["item_predicted"][place][kept].tolist(),
            "chosen": picture["decision"][place][kept].tolist(),
        }
        for name, picture in pictures.items()
    ]  # fmt: skip
    return {
        "label": str(place + 1), "optimum": float(optimum), "items": [_item(run, i, len(truth)) for i in kept],
        "truth": truth[kept].tolist(), "best": best[kept].tolist(), "best_words": "", "choices": choices,
        "left_out": len(truth) - len(kept),
    }  # fmt: skip


def _pairs(run: RunView) -> int:
    """The number of entries in a table of parameters."""
    picture = next(iter(run.pictures.values()))
    return int(np.size(picture["theta"]))


def _paired(run: RunView, count: int) -> bool:
    """True if an item is a pair of a row and a column of the parameters."""
    rows, columns = np.shape(next(iter(run.pictures.values()))["theta"])
    return count == rows * columns and columns > 1 and rows > 1


def _item(run: RunView, number: int, count: int) -> str:
    """An item by its number, a pair by both of its numbers; from 1."""
    columns = np.shape(next(iter(run.pictures.values()))["theta"])[1]
    return f"{number // columns + 1} – {number % columns + 1}" if _paired(run, count) else str(number + 1)


def _sentences(run: RunView) -> list[str]:
    return findings.difference_sentences(run.differences, digits(run))


def _drawings(run: RunView) -> dict[str, Block]:
    """The figures of the run by name; without matplotlib, how to get them."""
    try:
        svgs = figures.svgs(run)
    except MissingExtraError as error:
        return {"": Text((f"There are no figures: {error}. The same command then draws them without new work.",))}
    captions, titles = figures.captions(run), {"differences": "Paired differences", "learning": "Learning curves"}
    words = {"differences": " ".join(_sentences(run)), "learning": in_words(courses.shown(run))}
    captions["differences"] += f" {small([run])}"
    captions["learning"] = _learned(run)
    return {
        name: Drawing(
            svg, captions[name].strip(), f"{run.name}. {words.get(name, captions[name])}", titles.get(name, "")
        )
        for name, svg in svgs.items()
    }


def _learned(run: RunView) -> str:
    """The directions of the curves, and the trainings that they are means of."""
    k = "" if run.accuracy_k is None else f", k = {run.accuracy_k}"
    notes = [directions(courses.shown(run)), f"Means over splits{k}, of the setting that was chosen in each."]
    notes += ["A line ends where the first of its trainings was stopped."] if courses.cut(run) else []
    left = courses.without(run)
    notes += [f"No curve: {listed(left)}, nothing of which is validated epoch by epoch."] if left else []
    return " ".join(filter(None, [*notes, small([run])]))


def _all_learning(run: RunView) -> list[Block]:
    """The curves of all networks, folded, where the figure has those of some."""
    histories = courses.histories(run)
    if len(courses.shown(run)) == len(histories):
        return []
    every = histories_curves(histories, {name: role_of(run, name) for name in histories}, title="Of all networks")
    return [Folded("All learning curves", (every,))] if every is not None else []


def _published(run: RunView) -> list[Block]:
    learned = (comparison for comparison in findings.quality(run) if run.learned(comparison.method))
    sentences = findings.comparison_sentences(learned, digits(run))
    alike = findings.alikeness(run)
    blocks: list[Block] = [Bullets(tuple(sentences))] if sentences else []
    if alike:
        blocks.append(Text(("Similarity of the data, by the value of random decisions: " + " ".join(alike),)))
    return [Folded("Beside the published figures", tuple(blocks))] if blocks else []


def _details(run: RunView) -> Grid:
    """The share of the best and the cost of each method."""
    lines = []
    for row in run.rows:
        lines.append(line([
            row.method, *(() if row.k is None else (row.k,)), share_cell(row.share(run.scored)),
            best_words(row.by_steps(run.scored)), row.value.splits,
            Cell(None if row.method == OPT else row.seconds, format=partial(significant, digits=2)),
        ], role_of(run, row.method), row.method in APART))  # fmt: skip
    budgets = () if run.ks == [None] else ("k",)
    return Grid("", ("method", *budgets, "share", "of", "splits", "seconds a split"), tuple(lines))


def _paper(figure: Published | None, places: int = 2, scale: float = 1.0) -> str:
    return "" if figure is None else f"paper {number(figure, places, scale)}"

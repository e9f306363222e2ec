"""A section for each domain: its story, values, differences, accuracy, figures, an instance, time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from foresolve._base.numbers import significant
from foresolve._base.table import Cell, Table
from foresolve.errors import MissingExtraError
from foresolve.learning.examples import matters
from foresolve.learning.measures import MEASURES
from foresolve.report import courses, figures, findings, tables
from foresolve.report.formats import (
    MEASURE_DIGITS,
    MEASURE_NAMES,
    MEASURE_SCALES,
    best_words,
    budget,
    digits,
    listed,
    number,
)
from foresolve.report.pages.answers import forest, small
from foresolve.report.pages.document import (
    Block,
    Bullets,
    Drawing,
    Entry,
    Folded,
    Grid,
    Heading,
    Role,
    Section,
    Text,
    bolded,
    entry,
    line,
)
from foresolve.report.pages.learning import histories_curves
from foresolve.report.pages.picker import Choice, Instance, Picker
from foresolve.report.roles import role_of
from foresolve.report.summary import CHOSEN, OPT, RANDOM, Estimate
from foresolve.report.view import RunView

OF_THE_PAGE = ("differences", "learning")  # which the page draws itself
APART = (CHOSEN, RANDOM, OPT)
Picture = Mapping[str, np.ndarray]


def section(run: RunView) -> Section:
    """All of one run."""
    story = Text(run.info.story)
    if not run.rows:
        return Section(run.name, (story, Text(("There are no records yet.",))), run.info.title)
    blocks: list[Block] = [story, value_grid(run)]
    if run.differences:
        blocks.append(forest(run))
        sentences = findings.difference_sentences(run.differences, digits(run))
        blocks.append(Folded("The same in words", (Bullets((*sentences, *findings.choices(run))),)))
    shortfalls = (*findings.shortfalls(run), *findings.limits(run))
    blocks.append(Folded("Where it falls short", (Bullets(shortfalls or ("Nothing, by the rules.",)),)))
    blocks += _published(run)
    if tables.table2([run]).blocks:
        blocks.append(accuracy_grid(run))
    blocks += _drawings(run)
    shown = picker(run)
    blocks += [shown] if shown is not None else []
    blocks += _learning(run)
    blocks.append(Folded("Time and cost", (_details(run),)))
    return Section(run.name, tuple(blocks), run.info.title)


def value_grid(run: RunView) -> Grid:
    """Table 1, by value, with what is a bound or a choice among the others set apart."""
    lines = []
    for method in run.methods:
        rows = [run.row(method, k) for k in run.ks]
        cells = [
            Entry("", _paper(run, method, k)) if row is None
            else _entry(row.shown(run.scored), digits(run), 1.0, _paper(run, method, k))
            for row, k in zip(rows, run.ks)
        ]  # fmt: skip
        shares = [row.share(run.scored) for row in rows if row is not None]
        share = shares[0] if len(shares) == 1 else None
        extra = [] if len(run.ks) > 1 else [Entry("" if share is None else f"{100 * share:.1f} %", value=share)]
        lines.append(line([Entry(method), *cells, *extra], role_of(run, method), method in APART))
    lines.sort(key=lambda row: -max((cell.value or 0.0 for cell in row.cells[1:2]), default=0.0))
    of_best = [] if len(run.ks) > 1 else ["of the best"]
    headers = ("method", *(budget(k) for k in run.ks), *of_best)
    table = tables.table1([run])
    caption = table.caption.replace(
        "Bold: the largest mean among learned methods.", "Bold: the largest mean of a column; "
    )
    caption += "references, below the double line, are not compared."
    columns = range(1, 1 + len(run.ks))
    text = f"{caption} {small([run])}".strip()
    return Grid(table.title, headers, bolded(lines, list(columns)), text)


def accuracy_grid(run: RunView) -> Grid:
    """Table 2, the best first."""
    block = tables.table2([run])
    lines, measures = [], run.info.measures
    for name in [str(row[0]) for row in block.blocks[0].rows]:
        row = run.row(name, run.accuracy_k)
        assert row is not None
        cells = []
        for measure in measures:
            paper = run.published_accuracy(name, measure)
            scale, places = MEASURE_SCALES[measure], MEASURE_DIGITS[measure]
            note = () if paper is None else (f"paper {number(paper.mean, paper.half, places, scale)}",)
            ours = row.measures.get(measure)
            cells.append(Entry("", note) if ours is None else _entry(ours, places, scale, note))
        lines.append(line([Entry(name), *cells], role_of(run, name)))
    least = [i for i, measure in enumerate(measures, 1) if not MEASURES[measure].more_is_better]
    lines.sort(key=lambda row: (row.cells[1].value or 0.0) * (1 if 1 in least else -1))
    caption = block.caption.replace(
        "Bold: the best among learned methods (small MSE and CE, large AUC).", "Bold: the best"
    )
    caption += " of a column: the least MSE or CE (cross-entropy), the largest AUC."
    headers = ("method", *(MEASURE_NAMES[measure] for measure in measures))
    return Grid(block.title, headers, bolded(lines, range(1, 1 + len(measures)), least), caption)


def grid(table: Table, caption: str = "", *, words: bool = False) -> Grid:
    """A table as it is; cells keep their asides."""
    lines = tuple(line([_plain(cell) for cell in row]) for row in table.rows)
    return Grid(table.title, tuple(map(str, table.headers)), lines, caption, words)


def picker(run: RunView) -> Picker | None:
    """Test instances of the first split, as the methods of the figures decide them; `None` in old folders."""
    pictures = {name: run.pictures[name] for name in run.methods if "decision" in run.pictures.get(name, {})}
    if not pictures:
        return None
    main = [name for name in run.info.figure_methods if name in pictures]
    names = [*main, *(name for name in pictures if name not in main)]
    instances = []
    for place in range(len(next(iter(pictures.values()))["decision"])):
        first = pictures[names[0]]
        truth, best = first["item_truth"][place], first["best_decision"][place]
        rows = [best, *(pictures[name]["decision"][place] for name in names)]
        kept = matters([torch.as_tensor(row) for row in rows], torch.as_tensor(truth))
        optimum = float(first["best_value"][place])
        choices = tuple(_choice(run, name, pictures[name], place, kept, optimum) for name in names)
        instances.append(Instance(
            f"test instance {place + 1}", optimum, tuple(_item(run, int(i), len(truth)) for i in kept),
            tuple(float(truth[i]) for i in kept), tuple(float(best[i]) for i in kept), choices,
            left_out=len(truth) - len(kept),
        ))  # fmt: skip
    k = "" if run.accuracy_k is None else f", k = {run.accuracy_k}"
    summed = run.info.columns and len(next(iter(pictures.values()))["item_truth"][0]) != _pairs(run)
    parameter = f"sum over {run.info.columns}" if summed else "parameter"
    picked = (
        f"The first {len(instances)} test instances of the first split{k}, regardless of results. Decision-focused "
    )
    picked += "predictions may be of any size: only what is decided by them counts."
    return Picker("One instance to look at", tuple(instances), _item_word(run, instances), parameter, "", picked)


def _choice(run: RunView, name: str, picture: Picture, place: int, kept: Sequence[int], optimum: float) -> Choice:
    value = float(picture["decision_value"][place])
    return Choice(
        name, value, optimum - value, "", tuple(float(picture["item_predicted"][place][i]) for i in kept),
        tuple(float(picture["decision"][place][i]) for i in kept), role_of(run, name),
    )  # fmt: skip


def _item_word(run: RunView, instances: Sequence[Instance]) -> str:
    """What an item is: a row of the parameters, or a pair of a row and a column."""
    paired = any(" – " in item for item in instances[0].items)
    return f"{run.info.rows} – {run.info.columns}" if paired else run.info.rows


def _pairs(run: RunView) -> int:
    """How many entries the tables of parameters have."""
    picture = next(iter(run.pictures.values()))
    return int(np.size(picture["theta"]))


def _item(run: RunView, number: int, count: int) -> str:
    """An item by its number, a pair by both of its numbers; from 1."""
    picture = next(iter(run.pictures.values()))
    rows, columns = np.shape(picture["theta"])
    if count == rows * columns and columns > 1 and rows > 1:
        return f"{number // columns + 1} – {number % columns + 1}"
    return str(number + 1)


def _drawings(run: RunView) -> list[Block]:
    try:
        svgs = figures.svgs(run)
    except MissingExtraError as error:
        told = f"There are no figures: {error}. The same command then draws them without new work."
        return [Text((told,))]
    prefix = f"{run.config.domain}-{run.config.protocol}"
    known = figures.captions(run)
    blocks: list[Block] = [Heading("Figures")] if svgs else []
    for name, svg in svgs.items():
        if name not in OF_THE_PAGE:
            caption = known[name]
            blocks.append(Drawing(figures.prefixed(svg, f"{prefix}-{name}-"), caption, f"{run.name}. {caption}"))
    return blocks


def _learning(run: RunView) -> list[Block]:
    """Curves of all networks; where these are many, of those of the figures, and of all of them folded."""
    histories = courses.histories(run)
    roles: dict[str, Role] = {name: role_of(run, name) for name in histories}
    k = "" if run.accuracy_k is None else f", k = {run.accuracy_k}"
    notes = [f"Means over splits{k}, of the setting that was chosen in each."]
    notes += ["A line ends where the first of its trainings was stopped."] if courses.cut(run) else []
    left = courses.without(run)
    notes += [f"No curve: {listed(left)}, nothing of which is validated epoch by epoch."] if left else []
    shown = courses.shown(run)
    title = "Learning curves"
    drawn = histories_curves(shown, roles, " ".join(filter(None, [*notes, small([run])])), title=title)
    every = histories_curves(histories, roles, title="Of all networks") if len(shown) < len(histories) else None
    return [*([] if drawn is None else [drawn]), *([] if every is None else [Folded("All learning curves", (every,))])]


def _published(run: RunView) -> list[Block]:
    learned = (comparison for comparison in findings.quality(run) if run.learned(comparison.method))
    sentences = findings.comparison_sentences(learned, digits(run))
    alike = findings.alikeness(run)
    blocks: list[Block] = [Bullets(tuple(sentences))] if sentences else []
    if alike:
        blocks.append(Text(("Similarity of the data, by the value of random decisions: " + " ".join(alike),)))
    return [Folded("Beside the published figures", tuple(blocks))] if blocks else []


def _details(run: RunView) -> Grid:
    """How near the best each method comes, and what it costs."""
    lines = []
    for row in run.rows:
        share = row.share(run.scored)
        lines.append(line([
            Entry(row.method), *(() if row.k is None else (row.k,)),
            Entry("" if share is None else f"{100 * share:.1f} %", value=share),
            best_words(row.by_steps(run.scored)), entry(row.value.splits),
            Entry("") if row.method == OPT else Entry(significant(row.seconds, 2), value=row.seconds),
        ], role_of(run, row.method), row.method in APART))  # fmt: skip
    budgets = () if run.ks == [None] else ("k",)
    return Grid("", ("method", *budgets, "share", "of", "splits", "seconds a split"), tuple(lines))


def _entry(ours: Estimate, places: int, scale: float, aside: tuple[str, ...]) -> Entry:
    return Entry(number(ours.mean, ours.half, places, scale), aside, scale * ours.mean)


def _paper(run: RunView, method: str, k: int | None) -> tuple[str, ...]:
    paper = run.published(method, k)
    return () if paper is None else (f"paper {number(paper.mean, paper.half)}",)


def _plain(cell: object) -> Entry:
    if not isinstance(cell, Cell):
        return entry(cell)
    bare = entry(cell.figure)
    return Entry(cell.figure, tuple(filter(None, (cell.interval, cell.note))), bare.value, cell.bold)

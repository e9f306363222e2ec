"""A section for each domain: its story, values, differences, accuracy, figures, an instance, time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import torch

from foresolve._base.numbers import significant
from foresolve._base.table import Cell
from foresolve._base.text import listed
from foresolve.errors import MissingExtraError
from foresolve.learning.examples import matters
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
from foresolve.report.pages.answers import forest, small
from foresolve.report.pages.document import (
    Block,
    Bullets,
    Drawing,
    Folded,
    Grid,
    Heading,
    Role,
    Section,
    Text,
    bolded,
    line,
)
from foresolve.report.pages.learning import histories_curves
from foresolve.report.pages.picker import Choice, Instance, Picker
from foresolve.report.published import Published
from foresolve.report.roles import role_of
from foresolve.report.summary import CHOSEN, OPT, RANDOM
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
    least = [i for i, measure in enumerate(run.info.measures, 1) if measure != "auc"]
    lines.sort(key=lambda row: (row.cells[1].number or 0.0) * (1 if 1 in least else -1))
    caption = f"{tables.accuracy_caption([run])} Bold: the best of a column: the least MSE or CE (cross-entropy), the "
    caption += "largest AUC."
    headers = ("method", *(shown.header for shown in formats))
    return Grid(tables.ACCURACY, headers, bolded(lines, range(1, 1 + len(formats)), least), caption)


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
        lines.append(line([
            row.method, *(() if row.k is None else (row.k,)), share_cell(row.share(run.scored)),
            best_words(row.by_steps(run.scored)), row.value.splits,
            Cell(None if row.method == OPT else row.seconds, format=partial(significant, digits=2)),
        ], role_of(run, row.method), row.method in APART))  # fmt: skip
    budgets = () if run.ks == [None] else ("k",)
    return Grid("", ("method", *budgets, "share", "of", "splits", "seconds a split"), tuple(lines))


def _paper(figure: Published | None, places: int = 2, scale: float = 1.0) -> str:
    return "" if figure is None else f"paper {number(figure, places, scale)}"

"""The page of a study, from the study itself or from the folder that `foresolve train` left."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from foresolve._base.numbers import significant
from foresolve._base.progress import duration
from foresolve._base.table import Cell
from foresolve.learning.history import History
from foresolve.learning.paired import LEAST_UNITS
from foresolve.learning.pictures.differences import pair_rows
from foresolve.learning.study.contrast import Contrast
from foresolve.learning.study.methods import Family
from foresolve.learning.study.result import Study
from foresolve.learning.study.running import best_trial
from foresolve.learning.study.study_pictures import study_roles
from foresolve.learning.study.trial import Trial
from foresolve.projects.run import Run
from foresolve.report.pages.document import (
    Block,
    Bullets,
    Card,
    Command,
    Folded,
    Grid,
    Page,
    Role,
    Section,
    Text,
    Tone,
    bolded,
    line,
    today,
)
from foresolve.report.pages.examples import example_blocks
from foresolve.report.pages.glossary import of_blocks, settings_words
from foresolve.report.pages.learning import histories_curves
from foresolve.report.pages.pairs import gained_cell, p_cell
from foresolve.report.pages.pictures import forest, percent

TONES: Mapping[str, Tone] = {"pays": "good", "does not pay": "bad", "too little data": "open"}
SMALL = 50  # independent units, below which a card says how few there are


def study_page(study: Study, *, title: str = "", date: str = "") -> Page:
    """The results of a study, the verdict first; `study_page(study).save("report.html")`.

    Parameters
    ----------
    title: the title of the page; by default the question.
    date: the date of the results; by default today.

    Examples
    --------
    >>> import foresolve
    >>> from foresolve.report import study_page
    >>> data = foresolve.data.shortest_path_data(200, degree=1, noise=0.5, seed=0)
    >>> study = foresolve.study(data, references=["mean", "ridge"], methods="spo+", trials=1, epochs=3, budget=None)
    >>> study_page(study).title
    'Does training on decisions pay?'
    """
    return _page(study.to_dict(), study.examples(), title or "Does training on decisions pay?", date or today(), "")


def run_page(run: Run, *, title: str = "") -> Page:
    """The results of a run of `foresolve train`, from its folder: `run_page(Run.open("town/run")).save("report.html")`.

    Parameters
    ----------
    title: the title of the page; by default the question, the kind of problem and the name of the folder.
    """
    heading = title or f"Does training on decisions pay? {run.settings.problem}, {run.folder.resolve().name}"
    return _page(run.study(), run.examples(), heading, str(run.record["finished"])[:10], _command(run))


def _command(run: Run) -> str:
    """The command that trains the same again."""
    budget, kept = run.record.get("budget"), run.record.get("policies", ())
    options = [f"--budget {budget:g}"] if budget is not None else []
    options += [f"--keep {shlex.quote(name)}" for name in kept]
    return " ".join([f"foresolve train {shlex.quote(run.settings.path.name)} --out NEW_RUN", *options])


def _page(study: Mapping[str, Any], examples: Mapping[str, Any], title: str, date: str, command: str) -> Page:
    comparison, sizes = Contrast.from_dict(study["comparison"]), study["instances"]
    trials, roles = [Trial.from_dict(trial) for trial in study["trials"]], study_roles(comparison.rows)
    told = ", ".join(f"{sizes[part]:,} {name}" for part, name in
                     (("train", "training"), ("valid", "validation"), ("test", "test")))  # fmt: skip
    sections = [Section("By how much", (_forest(comparison, study["units"]), _grid(study, comparison, trials)))]
    shown = example_blocks(examples, roles, unit=study["units"])
    sections += [Section("One instance to look at", shown, "One instance")] if shown else []
    curves = _curves(trials, roles)
    sections += [Section("Learning curves", (curves,))] if curves is not None else []
    sections += [Section("Warnings", (Bullets(_warnings(study)),))] if _warnings(study) else []
    terms = {row.name: row.method.description for row in comparison}
    sections.append(_settings(study, trials, roles, terms, command))
    lead = f"{told} instances; {len(roles)} methods, {len(trials)} trainings, {duration(study['seconds'])}."
    return Page(title, lead, _cards(study, comparison), tuple(sections), terms, date)


def _cards(study: Mapping[str, Any], comparison: Contrast) -> tuple[Card, ...]:
    verdict, reference, chosen, units = study["verdict"], study["reference"], study["chosen"], study["units"]
    level = "" if verdict["interval"] is None else _level(comparison)
    more = " ".join(filter(None, [of_blocks(comparison.blocks), level]))
    pays = Card("Does training on decisions pay?", verdict["sentence"], TONES[verdict["answer"]], small(comparison),
                (verdict["method"], reference), more)  # fmt: skip
    losses = [f"{name} loses {_amount(comparison[name].regret, units)}" for name in dict.fromkeys((chosen, reference))]
    baselines = [row for row in comparison if row.method.family is Family.BASELINE]
    simple = [f"{row.name} {_amount(row.regret, units)}" for row in baselines if not row.is_reference]
    against = f"; without a model: {', '.join(simple)}" if simple else ""
    near = Card(
        "How good are the decisions?",
        f"{' and '.join(losses)} per instance against the best decision in hindsight{against}.",
        terms=(chosen, reference, *(row.name for row in baselines)),
    )
    deploy = Card(
        "Which model to use?",
        f"The model of {chosen}" + (": the decision-focused model pays." if verdict["answer"] == "pays" else
                                    f", the best of {len(comparison.references)} two-stage models on validation data."),
        terms=(chosen,),
    )  # fmt: skip
    return pays, near, deploy


def small(comparison: Contrast) -> str:
    """A caution if test instances are few."""
    if comparison.units < LEAST_UNITS:
        return f"Small sample: {comparison.counted}. At least {LEAST_UNITS} are needed for any claim."
    return f"Small sample: {comparison.counted}. Intervals are wide." if comparison.units < SMALL else ""


def _level(comparison: Contrast) -> str:
    level = percent(comparison.confidence)
    return f"In brackets: {level} intervals that hold for all decision-focused methods at once."


def _forest(comparison: Contrast, units: str) -> Block:
    rows = pair_rows(comparison, study_roles(comparison.rows))
    counted = f" in {comparison.blocks}" if comparison.blocks else ""
    caption = (
        f"Gained over {comparison.reference}, the best two-stage model on validation data, paired on "
        f"{comparison.instances:,} test instances{counted}. Intervals and p-values of decision-focused methods hold "
        f"for all of them at once. {small(comparison)}"
    )
    label = f"{units or 'regret'} gained per instance over {comparison.reference}"
    return forest("Paired differences", rows, label, caption=caption.strip(), level=percent(comparison.confidence))


def _grid(study: Mapping[str, Any], comparison: Contrast, trials: Sequence[Trial]) -> Grid:
    units, roles, lines = study["units"], study_roles(comparison.rows), []
    for row in sorted(comparison, key=lambda row: row.regret):
        trial = best_trial(trials, row.name)
        lines.append(line([
            Cell(row.name, note="the reference" if row.is_reference else ""), _number(row.value), _number(row.regret),
            gained_cell(row), p_cell(row), _number(None if trial is None else trial.regret),
            _number(None if trial is None else trial.seconds, 2),
        ], roles[row.name]))  # fmt: skip
    value = "cost" if comparison.costs else "value"
    headers = (
        "method", f"{value} ({units})" if units else value, "regret", f"gained over {comparison.reference}", "p",
        "regret in validation", "seconds",
    )  # fmt: skip
    caption = (
        f"{value.capitalize()} and regret on test data, the least regret first and bold. Gained: the regret of "
        f"{comparison.reference} minus the regret of the row; above zero is better. p: of no gain; those of "
        f"decision-focused methods hold for all of them at once, as their intervals do. {small(comparison)}"
    )
    return Grid("Every method on test data", headers, bolded(lines, [2], [2]), caption.strip())


def _curves(trials: Sequence[Trial], roles: Mapping[str, Role]) -> Block | None:
    """The curves of the best trial of each method that is a network."""
    best = {name: best_trial(trials, name) for name in roles}
    histories = {name: History.from_dict(trial.history) for name, trial in best.items()
                 if trial is not None and trial.history}  # fmt: skip
    caption = "The best trial of each network. A decision-focused one starts from the two-stage network (epoch 0)."
    return histories_curves(histories, roles, caption, "How networks learned")


def _warnings(study: Mapping[str, Any]) -> tuple[str, ...]:
    return (*(f"{name} failed: {why}" for name, why in study["failures"].items()), *study["warnings"])


def _settings(
    study: Mapping[str, Any], trials: Sequence[Trial], roles: Mapping[str, Role], terms: Mapping[str, str], command: str
) -> Section:
    lines = tuple(
        line([
            trial.method, settings_words(trial.settings, trial.family),
            _number(trial.regret), _number(trial.seconds, 2),
        ], roles.get(trial.method))
        for trial in trials
    )  # fmt: skip
    trained = Grid("", ("method", "settings", "regret in validation", "seconds"), lines)
    plan = study["plan"]
    known = [("instances", ", ".join(f"{count} {part}" for part, count in study["instances"].items())),
             ("epochs", plan["epochs"]), ("trees", plan["trees"]), ("settings tried", plan["trials"]),
             ("time", duration(study["seconds"]))]  # fmt: skip
    blocks: list[Block] = [Grid("", ("setting", "value"), tuple(line([a, str(b)]) for a, b in known), words=True)]
    notes = tuple(note for note in plan["notes"] if note not in study["warnings"])
    blocks += [Text(notes)] if notes else []
    blocks += [Text(("To run it again, in the folder of the project:",)), Command(command)] if command else []
    names = tuple(line([name, text], roles[name]) for name, text in terms.items())
    return Section("Time, cost and settings", (
        Grid("Names", ("name", "what it stands for"), names, words=True),
        Folded("Everything that was trained: settings, time", (trained,)), Folded("Settings", tuple(blocks)),
    ), "Settings")  # fmt: skip


def _number(value: float | None, digits: int = 4) -> Cell:
    return Cell(value, format=partial(significant, digits=digits))


def _amount(number: float, units: str) -> str:
    return f"{significant(number, 3)} {units}".strip()

"""The page of a study: of one that is at hand, or of the folder that `foresolve train` left."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from functools import partial
from typing import Any

from foresolve._base.numbers import signed, significant
from foresolve._base.progress import duration
from foresolve._base.table import Cell
from foresolve.learning.history import History
from foresolve.learning.study.result import Study
from foresolve.learning.study.study_pictures import NO_FEATURES, study_role
from foresolve.learning.study.verdict import LEAST_UNITS
from foresolve.projects.run import Run
from foresolve.report.pages.curves import Curve, Curves, panel
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
    unseen,
)
from foresolve.report.pages.forest import Difference, Forest, percent
from foresolve.report.pages.glossary import of_blocks, settings_words, studied
from foresolve.report.pages.learning import histories_curves
from foresolve.report.pages.picker import picker_of

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
    """What trains the same again."""
    budget, kept = run.record.get("budget"), run.record.get("policies", ())
    options = [f"--budget {budget:g}"] if budget is not None else []
    options += [f"--keep {shlex.quote(name)}" for name in kept]
    return " ".join([f"foresolve train {shlex.quote(run.settings.path.name)} --out NEW_RUN", *options])


def roles_of(study: Mapping[str, Any]) -> dict[str, Role]:
    """Of each method of a study."""
    return {row["name"]: study_role(row["name"], row["role"]) for row in study["comparison"]["rows"]}


def _page(study: Mapping[str, Any], examples: Mapping[str, Any], title: str, date: str, command: str) -> Page:
    roles, sizes = roles_of(study), study["instances"]
    told = ", ".join(f"{sizes[part]:,} {name}" for part, name in
                     (("train", "training"), ("valid", "validation"), ("test", "test")))  # fmt: skip
    sections = [Section("By how much", (_forest(study, roles), _grid(study, roles)))]
    shown = picker_of(examples, roles, unit=study["units"])
    sections += [Section("One instance to look at", (shown,), "One instance")] if shown is not None else []
    curves = _curves(study, roles)
    sections += [Section("Learning curves", (curves,))] if curves is not None else []
    sections += [Section("Warnings", (Bullets(_warnings(study)),))] if _warnings(study) else []
    sections.append(_settings(study, roles, command))
    lead = f"{told} instances; {len(roles)} methods, {len(study['trials'])} trainings, {duration(study['seconds'])}."
    return Page(title, lead, _cards(study), tuple(sections), studied(roles), date)


def _cards(study: Mapping[str, Any]) -> tuple[Card, ...]:
    verdict, rows = study["verdict"], {row["name"]: row for row in study["comparison"]["rows"]}
    reference, chosen, units = study["reference"], study["chosen"], study["units"]
    caution = small(study["comparison"])
    level = "" if verdict["interval"] is None else _level(study["comparison"])
    more = " ".join(filter(None, [of_blocks(study["comparison"]["blocks"]), level]))
    pays = Card("Does training on decisions pay?", verdict["sentence"], TONES[verdict["answer"]], caution,
                (verdict["method"], reference), more)  # fmt: skip
    losses = [f"{name} loses {_amount(rows[name]['regret'], units)}" for name in dict.fromkeys((chosen, reference))]
    simple = [
        f"{name} {_amount(rows[name]['regret'], units)}" for name in NO_FEATURES if name in rows and name != reference
    ]
    against = f"; without a model: {', '.join(simple)}" if simple else ""
    near = Card(
        "How good are the decisions?",
        f"{' and '.join(losses)} an instance against the best decision in hindsight{against}.",
        terms=(chosen, reference, *(name for name in NO_FEATURES if name in rows)),
    )
    count = sum(row["role"] == "reference" for row in rows.values())
    deploy = Card(
        "Which model to use?",
        f"That of {chosen}" + (": the decision-focused model pays." if verdict["answer"] == "pays" else
                               f", the best of {count} two-stage models on validation data."),
        terms=(chosen,),
    )  # fmt: skip
    return pays, near, deploy


def small(comparison: Mapping[str, Any]) -> str:
    """How few test instances there are, where they are few."""
    units = comparison["units"]
    what = comparison["blocks"] or f"{units} test instances"
    if units < LEAST_UNITS:
        return f"Small sample: {what}. At least {LEAST_UNITS} are needed for any claim."
    return f"Small sample: {what}. Intervals are wide." if units < SMALL else ""


def _level(comparison: Mapping[str, Any]) -> str:
    level = percent(comparison["confidence"])
    return f"In brackets: {level} intervals that hold for all decision-focused methods at once."


def _forest(study: Mapping[str, Any], roles: Mapping[str, Role]) -> Forest:
    comparison, drawn = study["comparison"], []
    for row in comparison["rows"]:
        if row["name"] == comparison["reference"]:
            continue
        low, high = _ends(row["interval"])
        p = row["p_value"] if row["holm"] is None else row["holm"]
        drawn.append(Difference(
            row["name"], comparison["reference"], -row["difference"], low, high, roles[row["name"]],
            note="" if p is None else f"p {p:.2g}",
        ))  # fmt: skip
    counted = f" in {comparison['blocks']}" if comparison["blocks"] else ""
    caption = (
        f"Improvement over {comparison['reference']}, the best two-stage model on validation data, paired on "
        f"{comparison['instances']:,} test instances{counted}. Intervals of decision-focused methods hold for all of "
        f"them at once. {small(comparison)}"
    )
    unit = f"{study['units']} an instance".strip() if study["units"] else "regret saved an instance"
    return Forest("Paired differences", tuple(drawn), unit, caption=caption.strip(),
                  level=percent(comparison["confidence"]))  # fmt: skip


def _ends(interval: Any) -> tuple[float | None, float | None]:
    """Of the improvement: the difference's with its sign turned; what is not bounded is infinite."""
    if interval is None:
        return None, None
    low, high = interval
    return (-math.inf if high is None else -high), (math.inf if low is None else -low)


def _grid(study: Mapping[str, Any], roles: Mapping[str, Role]) -> Grid:
    comparison, units = study["comparison"], study["units"]
    lines = []
    for row in sorted(comparison["rows"], key=lambda row: row["regret"]):
        itself = row["name"] == comparison["reference"]
        ends = "" if row["interval"] is None else \
            " to ".join("not bounded" if end is None else signed(end) for end in row["interval"])  # fmt: skip
        p = row["p_value"] if row["holm"] is None else row["holm"]
        trial = _best(study, row["name"])
        valid = None if trial is None else trial["regret"]
        lines.append(line([
            Cell(row["name"], note="the reference" if itself else ""), _number(row["value"]), _number(row["regret"]),
            Cell(0.0, format=unseen) if itself else Cell(row["difference"], ends, format=signed),
            _number(p, 2), _number(valid), _number(None if trial is None else trial["seconds"], 2),
        ], roles[row["name"]]))  # fmt: skip
    value = f"value ({units})" if units else "value"
    headers = ("method", value, "regret", "difference", "p", "regret in validation", "seconds")
    caption = (
        f"Value and regret on test data, the least regret first and bold; difference: regret less that of "
        f"{comparison['reference']}, below zero is better. p: of no difference, corrected (Holm) for decision-focused "
        f"methods. {small(comparison)}"
    )
    return Grid("Every method on test data", headers, bolded(lines, [2], [2]), caption.strip())


def _curves(study: Mapping[str, Any], roles: Mapping[str, Role]) -> Curves | None:
    """Of the best trial of each method that is a network."""
    histories, losses = {}, []
    for name, role in roles.items():
        trial = _best(study, name)
        if trial is None or not trial.get("history"):
            continue
        history = histories[name] = History.from_dict(trial["history"])
        if history.train_loss and history.train_loss[0]:
            losses.append(Curve(name, tuple(v / history.train_loss[0] for v in history.train_loss), 1, role))
    caption = "The best trial of each network. A decision-focused one starts from the two-stage network (epoch 0). "
    caption += "Every method minimizes a loss of its own; only regret compares."
    more = panel("Training loss, as a share of that of the first epoch", losses)
    return histories_curves(histories, roles, caption, more, "How networks learned")


def _best(study: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    sound = [trial for trial in study["trials"] if trial["method"] == name and trial["regret"] is not None]
    return min(sound, key=lambda trial: (trial["regret"], trial["number"]), default=None)


def _warnings(study: Mapping[str, Any]) -> tuple[str, ...]:
    return (*(f"{name} failed: {why}" for name, why in study["failures"].items()), *study["warnings"])


def _settings(study: Mapping[str, Any], roles: Mapping[str, Role], command: str) -> Section:
    lines = tuple(
        line([
            trial["method"], settings_words(trial["settings"], trial["role"]),
            _number(trial["regret"]), _number(trial["seconds"], 2),
        ], roles.get(trial["method"]))
        for trial in study["trials"]
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
    names = tuple(line([name, text], roles[name]) for name, text in studied(roles).items())
    return Section("Time, cost and settings", (
        Grid("Names", ("name", "what it stands for"), names, words=True),
        Folded("Everything that was trained: settings, time", (trained,)), Folded("Settings", tuple(blocks)),
    ), "Settings")  # fmt: skip


def _number(value: float | None, digits: int = 4) -> Cell:
    return Cell(value, format=partial(significant, digits=digits))


def _amount(number: float, units: str) -> str:
    return f"{significant(number, 3)} {units}".strip()

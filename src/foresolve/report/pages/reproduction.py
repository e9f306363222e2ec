"""The page of one or more runs of the paper's experiments."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC
from pathlib import Path

from foresolve._base.progress import duration
from foresolve._base.table import Table
from foresolve.report import findings, published
from foresolve.report.claims import answers, claims_table
from foresolve.report.formats import moment
from foresolve.report.pages.answers import cards, main_forest, small
from foresolve.report.pages.document import Block, Bullets, Command, Folded, Heading, Page, Section, Text, grid
from foresolve.report.pages.domains import section
from foresolve.report.pages.glossary import terms
from foresolve.report.sessions import one_code, session_table
from foresolve.report.verdicts import RULE, overview, reproduced_table, tallies
from foresolve.report.view import RunView

TITLE = "Decision-focused against two-stage training"
IDEA = (
    "In each domain a model sees features and predicts the unknown parameters theta of a decision problem, a solver "
    "decides by the prediction, and the decision is scored under the true theta. Two-stage training fits the "
    "predictions to theta; decision-focused training maximizes what the decisions are worth, through a layer that "
    "stands in for the solver and has a gradient."
)
READING = (
    "A value is the mean over random splits of the mean over test instances. Its interval is a 95 % percentile "
    "bootstrap over splits; splits share instances, so it covers the choice of the split and of initial weights, not "
    "that of the data."
)
PROTOCOLS = {
    "exact": (
        "Protocol exact: exact layers, settings chosen on validation instances, feasible (rounded) decisions. The "
        "published figures of the two coverage domains are of fractional decisions, as far as the paper and its code "
        "tell; those of matching are of exact ones."
    ),
    "paper": (
        "Protocol paper: the published recipe. In the two coverage domains decisions are those of the layer "
        "(fractional), which need not be feasible choices; methods without a layer are scored on rounded ones, and "
        "OPT, where it has a fractional figure, is the best by the same ten ascent steps. Matchings are exact."
    ),
}
RULES = (
    'Listed in each domain under "Where it falls short", by rule: learned methods that do not reproduce the published '
    "figure, trainings that are behind their two-stage reference or not significantly ahead of it, choices that are "
    "behind a heuristic or not significantly ahead of it, and heuristics that no learned method reaches."
)


def write_report(runs: Sequence[RunView], path: Path) -> Path:
    """Write the page, whole or not at all."""
    return reproduction_page(runs).save(path)


def report_html(runs: Sequence[RunView]) -> str:
    """The page as text; it needs no other file and no network."""
    return reproduction_page(runs).html()


def reproduction_page(runs: Sequence[RunView]) -> Page:
    """Results of runs, the answers first."""
    sections = [*_differences(runs), *_reproduced(runs), *(section(run) for run in runs), _names(runs), _settings(runs)]
    title = TITLE if len(runs) != 1 else f"{TITLE}: {runs[0].name}"
    return Page(title, _lead(runs), cards(runs), tuple(sections), terms(runs), _date(runs))


def command(run: RunView) -> str:
    """What gives the same figures again; the folder of data is the reader's own."""
    if run.command:
        return run.command
    config = run.config
    words = ["foresolve", "reproduce", config.domain, "--protocol", config.protocol, "--splits", str(config.splits)]
    if config.ks:
        words += ["--k", ",".join(str(k) for k in config.ks)]
    if config.methods:
        words += ["--methods", ",".join(config.methods)]
    words += ["--seed", str(config.seed), "--device", run.devices[0]]
    words += ["--quick"] if config.quick else []
    words += ["--data", "DIR"] if config.data is not None else []
    return shlex.join(words)


def _lead(runs: Sequence[RunView]) -> str:
    sizes = {"quick run, on small instances" if run.config.quick else "full size" for run in runs}
    sources = {"generated data" if run.config.data is None else "real data" for run in runs}
    splits = {f"{run.config.splits} split{'s' if run.config.splits != 1 else ''}" for run in runs}
    told = f"{' and '.join(sorted(sizes))}; {' and '.join(sorted(sources))}; {' and '.join(sorted(splits))}."
    return f"{', '.join(dict.fromkeys(run.info.title for run in runs))}. {told[0].upper()}{told[1:]}"


def _date(runs: Sequence[RunView]) -> str:
    dates = [session.get("date") for run in runs for session in run.sessions if session.get("jobs")]
    known = [when for date in dates or [run.versions.get("date") for run in runs] if (when := moment(date))]
    return f"{max(known).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if known else ""


def _differences(runs: Sequence[RunView]) -> list[Section]:
    drawn = main_forest(runs)
    return [] if drawn is None else [Section("By how much", (drawn,))]


def _reproduced(runs: Sequence[RunView]) -> list[Section]:
    """The two sections about the paper's figures and its claims; none where nothing can be compared."""
    table, claims = reproduced_table(runs), claims_table(runs)
    if not table.blocks:
        return []
    lines = tallies(runs)
    blocks: list[Block] = [Text((overview(runs),)), *([Bullets(tuple(lines))] if len(lines) > 1 else [])]
    blocks += [grid(block) for block in table.blocks]
    blocks += [Text((RULE,), note=True), *([Bullets(table.notes, numbered=True)] if table.notes else [])]
    gaps = [f"{run.name}: {sentence}" for run in runs for sentence in findings.two_stage_gaps(run)]
    if gaps:
        blocks += [Text((f"Two-stage rows that are more than {findings.FAR} % from the published ones:",))]
        blocks += [Bullets(tuple(gaps))]
    rules = tuple(f"{answer.claim.quote}: {answer.claim.words}" for answer in answers(runs))
    told: list[Block] = [grid(block, words=True) for block in claims.blocks]
    told += [Text((claims.caption,), note=True), Folded("The rules", (Bullets(rules),))]
    return [Section(table.title, tuple(blocks)), Section(claims.title, tuple(told))]


def _names(runs: Sequence[RunView]) -> Section:
    names = Table(("name", "what it stands for"), list(terms(runs).items()))
    return Section("How to read this", (
        Text((IDEA, READING, *(PROTOCOLS[p] for p in dict.fromkeys(run.config.protocol for run in runs)), RULES)),
        Heading("Names"), grid(names, words=True),
    ))  # fmt: skip


def _settings(runs: Sequence[RunView]) -> Section:
    settings = [
        ("protocol", [run.config.protocol for run in runs]),
        ("data", [run.config.source or "generated" for run in runs]),
        ("instances", ["quick" if run.config.quick else "full size" for run in runs]),
        ("splits", [run.config.splits for run in runs]),
        ("k", [", ".join(str(k) for k in run.config.ks) or "none" for run in runs]),
        ("seed", [run.config.seed for run in runs]),
        ("device", [", ".join(run.devices) for run in runs]),
        ("time of all sessions", [duration(run.seconds) for run in runs]),
    ]
    names = [run.name for run in runs]
    blocks: list[Block] = [grid(Table(("setting", *names), [(name, *values) for name, values in settings]), words=True)]
    if small(runs):
        blocks.append(Text((small(runs),)))
    if any(run.config.domain in published.DOMAINS for run in runs):
        blocks.append(Text((f"The paper, and the published figures: {published.CITATION}",)))
    again: list[Block] = [Command("\n".join(dict.fromkeys(command(run) for run in runs)))]
    sessions: list[Block] = []
    if any(run.sessions for run in runs):
        sessions += [grid(session_table(runs), words=True)]
    sessions += [Text((said,)) for said in [one_code(runs)] if said]
    folded = [Folded("Settings", tuple(blocks)), Folded("To reproduce these figures", tuple(again))]
    folded += [Folded("Sessions", tuple(sessions))] if sessions else []
    return Section("Settings and versions", (*folded, Folded("Versions", tuple(_versions(runs)))))


def _versions(runs: Sequence[RunView]) -> list[Block]:
    names = list(dict.fromkeys(name for run in runs for name in run.versions))
    rows = [(name, *(str(run.versions.get(name, "")) for run in runs)) for name in names]
    blocks: list[Block] = [grid(Table(("", *(run.name for run in runs)), rows), words=True)]
    files = [(run.name, name, digest) for run in runs for name, digest in run.config.files.items()]
    if files:
        blocks += [Heading("Files that were read"), grid(Table(("run", "file", "sha256"), files), words=True)]
    return blocks

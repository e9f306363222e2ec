"""One page of HTML about one or more runs: whether they reproduce the paper, what was run, tables and figures."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

from foresolve._base.files import write_text
from foresolve._base.progress import duration
from foresolve._base.table import Table
from foresolve.errors import MissingExtraError
from foresolve.report import figures, findings, html, published, tables
from foresolve.report.claims import answers, claims_table
from foresolve.report.formats import best_words, budget, digits
from foresolve.report.sessions import one_code, session_table
from foresolve.report.summary import OPT
from foresolve.report.table import BlockTable
from foresolve.report.verdicts import RULE, overview, reproduced_table, tallies
from foresolve.report.view import RunView

TITLE = "Decision-focused against two-stage training"
IDEA = (
    "In each domain a model sees features and predicts the unknown parameters theta of a decision problem, a solver "
    "decides by the prediction, and the decision is scored under the true theta. Two-stage training fits the "
    "predictions to theta; decision-focused training maximizes what the decisions are worth, through a layer that "
    "stands in for the solver and has a gradient. Names: NN1 and NN2 are networks with one and two layers, RF a random "
    "forest; -Decision and -2Stage say how they were trained, brackets behind a name how a variant differs; Random "
    "decides by chance, OPT is the best decision known under the truth, and Chosen takes in each split the method that "
    "did best on validation instances."
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
NOT_COMPARABLE = (
    "Quick runs have smaller instances or models than the paper, and runs without records have no figures: neither can "
    "be compared with what was published. A run without --quick answers this."
)
RULES = (
    "Listed by rule: learned methods that do not reproduce the published figure, trainings that are behind their "
    "two-stage reference or not significantly ahead of it, choices that are behind a heuristic or not significantly "
    "ahead of it, and heuristics that no learned method reaches."
)


def write_report(runs: Sequence[RunView], path: Path) -> Path:
    """Write the page, whole or not at all."""
    return write_text(path, report_html(runs))


def report_html(runs: Sequence[RunView]) -> str:
    """The page as text; it needs no other file and no network."""
    sections = [
        *_reproduced(runs),
        ("In short", _short(runs)),
        ("Where it falls short", _short_of(runs)),
        ("What was run", _run(runs)),
        *((run.name, _domain(run)) for run in runs),
        ("Versions", _versions(runs)),
    ]
    return html.page(TITLE, sections)


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


def _reproduced(runs: Sequence[RunView]) -> list[tuple[str, list[str]]]:
    """The two sections about the paper's figures and its claims; none where no run is of the paper's domains."""
    if not any(run.config.domain in published.DOMAINS for run in runs):
        return []
    table, claims = reproduced_table(runs), claims_table(runs)
    if not table.blocks:
        return [(table.title, [html.paragraph(NOT_COMPARABLE)])]
    lines = tallies(runs)
    pieces = [f"<p><b>{escape(overview(runs))}</b></p>", *([html.bullets(lines)] if len(lines) > 1 else [])]
    gaps = [f"{run.name}: {sentence}" for run in runs for sentence in findings.two_stage_gaps(run)]
    pieces += [html.scrolled(block.html("figures")) for block in table.blocks]
    pieces += [f'<p class="note">{escape(RULE)}</p>', html.numbered(table.notes)]
    if gaps:
        pieces += [html.paragraph(f"Two-stage rows that are more than {findings.FAR} % from the published ones:")]
        pieces += [html.bullets(gaps)]
    rules = [f"{answer.claim.quote}: {answer.claim.words}" for answer in answers(runs)]
    told = [html.scrolled(block.html("words")) for block in claims.blocks]
    told += [f'<p class="note">{escape(claims.caption)}</p>', html.folded("The rules", [html.bullets(rules)])]
    return [(table.title, pieces), (claims.title, told)]


def _short(runs: Sequence[RunView]) -> list[str]:
    pieces: list[str] = []
    for run in runs:
        sentences = findings.headline(run)
        pieces += [html.subheading(run.name), html.bullets(sentences or ["There are no records yet."])]
    return pieces


def _short_of(runs: Sequence[RunView]) -> list[str]:
    pieces = [html.paragraph(RULES)]
    for run in runs:
        sentences = findings.shortfalls(run) or ["Nothing, by these rules."]
        pieces += [html.subheading(run.name), html.bullets([*sentences, *findings.limits(run)])]
    return pieces


def _run(runs: Sequence[RunView]) -> list[str]:
    protocols = dict.fromkeys(run.config.protocol for run in runs)
    settings = [
        ("protocol", [run.config.protocol for run in runs]),
        ("data", [run.config.source or "generated" for run in runs]),
        ("instances", ["quick" if run.config.quick else "full size" for run in runs]),
        ("splits", [str(run.config.splits) for run in runs]),
        ("k", [", ".join(str(k) for k in run.config.ks) or "none" for run in runs]),
        ("seed", [str(run.config.seed) for run in runs]),
        ("device", [", ".join(run.devices) for run in runs]),
        ("time of all sessions", [duration(run.seconds) for run in runs]),
    ]
    headers = ["setting", *(run.name for run in runs)]
    pieces = [html.paragraph(text) for text in (IDEA, READING, *(PROTOCOLS[p] for p in protocols))]
    if any(run.config.domain in published.DOMAINS for run in runs):
        pieces.append(html.paragraph(f"The paper, and the published figures: {published.CITATION}"))
    pieces += [html.scrolled(Table(headers, [(name, *values) for name, values in settings]).html())]
    pieces += [html.paragraph("To get these figures again:")]
    pieces += [html.code("\n".join(dict.fromkeys(command(run) for run in runs)))]
    if any(run.sessions for run in runs):
        pieces += [html.subheading("Sessions"), html.scrolled(session_table(runs).html("words"))]
    return [*pieces, *map(html.paragraph, filter(None, [one_code(runs)]))]


def _domain(run: RunView) -> list[str]:
    pieces = [html.paragraph(text) for text in run.info.story]
    if not run.rows:
        return [*pieces, html.paragraph("There are no records yet.")]
    pieces += _table(tables.table1([run]))
    if run.comparable:
        pieces += [html.subheading("Beside the published figures"), *_published(run)]
    if run.differences:
        pieces += _table(tables.difference_table([run]))
        sentences = findings.difference_sentences(run.differences, digits(run))
        pieces.append(html.folded("The same in words", [html.bullets(sentences)]))
    accuracy = tables.table2([run])
    if accuracy.blocks:
        pieces += _table(accuracy)
    pieces += _figures(run)
    return [*pieces, html.folded("Time and share of the best", [_details(run)])]


def _published(run: RunView) -> list[str]:
    learned = (comparison for comparison in findings.quality(run) if run.learned(comparison.method))
    sentences = findings.comparison_sentences(learned, digits(run))
    alike = findings.alikeness(run)
    pieces = [html.bullets(sentences)] if sentences else []
    if alike:
        pieces.append(html.paragraph("Whether the data are alike, by random decisions: " + " ".join(alike)))
    return pieces


def _figures(run: RunView) -> list[str]:
    two_stage, decision = run.info.figure_methods
    k = "" if run.accuracy_k is None else f" (k = {run.accuracy_k})"
    diamonds = " Diamonds: published figures." if run.comparable else ""
    best = best_words(any(row.by_steps(run.scored) for row in run.rows))
    captions = {
        "values": f"Table 1 as a chart: mean and 95 % interval; dashed: {best}.{diamonds}",
        "heat-maps": (
            f"Figure 1{k}: theta of one test instance, as it is and as {two_stage} and {decision} predict it; dark is "
            f"high, each map on its own scale. {run.info.rows.capitalize()} are in the order of their true row sums."
        ),
        "out-weights": (
            f"Figure 2{k}: predicted against true row sums of theta for all {run.info.rows} of the test instances of "
            "one split; r² is the squared correlation."
        ),
    }
    try:
        svgs = figures.svgs(run)
    except MissingExtraError as error:
        return [html.paragraph(f"There are no figures: {error}. The same command then draws them without new work.")]
    prefix = f"{run.config.domain}-{run.config.protocol}"
    return [html.figure(figures.prefixed(svg, f"{prefix}-{name}-"), captions[name]) for name, svg in svgs.items()]


def _details(run: RunView) -> str:
    """How near the best each method comes, and what it costs."""
    rows = [
        (
            row.method,
            budget(row.k),
            "" if (share := row.share(run.scored)) is None else f"{100 * share:.1f} %",
            best_words(row.by_steps(run.scored)),
            str(row.value.splits),
            "" if row.method == OPT else f"{row.seconds:.1f}",
        )
        for row in run.rows
    ]
    return html.scrolled(Table(("method", "k", "share", "of", "splits", "seconds a split"), rows).html())


def _versions(runs: Sequence[RunView]) -> list[str]:
    names = list(dict.fromkeys(name for run in runs for name in run.versions))
    rows = [(name, *(str(run.versions.get(name, "")) for run in runs)) for name in names]
    pieces = [html.scrolled(Table(("", *(run.name for run in runs)), rows).html())]
    files = [(run.name, name, digest) for run in runs for name, digest in run.config.files.items()]
    if files:
        pieces += [html.subheading("Files that were read")]
        pieces += [html.scrolled(Table(("run", "file", "sha256"), files).html())]
    return pieces


def _table(table: BlockTable) -> list[str]:
    pieces = [html.subheading(table.title)]
    pieces += [html.scrolled(replace(block, title="").html("figures")) for block in table.blocks]
    return [*pieces, f'<p class="note">{escape(table.caption)}</p>']

"""What a run of experiments says first: cards, and the differences in one unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from foresolve._base.drawing.intervals import Row
from foresolve._base.text import listed
from foresolve.learning.paired import Standing
from foresolve.report import findings, published
from foresolve.report.findings import FEW, difference_sentences, main_differences
from foresolve.report.formats import at, digits
from foresolve.report.pages.document import Block, Card, Tone
from foresolve.report.pages.pictures import forest
from foresolve.report.roles import role_of
from foresolve.report.summary import CHOSEN, OPT, RANDOM, SplitComparison
from foresolve.report.verdicts import overview
from foresolve.report.view import RunView

QUICK = (
    "Not asked: a quick run has smaller instances or models than the paper, so its figures cannot be compared with "
    "what was published. A run without --quick answers this."
)


def cards(runs: Sequence[RunView]) -> tuple[Card, ...]:
    """Does it pay, overall and in each run, and did it reproduce."""
    asked = [_overall(runs)] if len(runs) > 1 else []
    asked += [_single(run, runs) for run in runs]
    if any(run.config.domain in published.DOMAINS for run in runs):
        said, quick = overview(runs), any(run.config.quick and run.rows for run in runs)
        unknown = QUICK if quick else "Not yet known: no figure that was published is in the records."
        asked.append(Card("Did it reproduce the paper?", said or unknown, "plain" if said else "open"))
    return tuple(asked)


def small(runs: Sequence[RunView], *, brief: bool = False) -> str:
    """A caution about few splits; `brief` leaves out what follows from them."""
    splits = sorted({run.config.splits for run in runs if run.config.splits < FEW})
    if not splits:
        return ""
    if splits == [1]:
        return "One split has no interval: no difference can be called significant."
    counts = listed([str(count) for count in splits])
    hint = "" if brief else " Intervals are then too narrow, and verdicts only a hint."
    return f"Small sample: {counts} splits.{hint}"


def _overall(runs: Sequence[RunView]) -> Card:
    question = "Do decisions get better when models are trained on them?"
    pairs = [(run, difference) for run in runs for difference in main_differences(run)]
    counts = Counter(difference.standing for _, difference in pairs)
    ahead, behind, level, unknown = (counts[standing] for standing in Standing)
    caution, total = small(runs), len(pairs)
    if not total:
        return Card(question, "There are no records yet.", "open")
    tone: Tone = "good" if ahead == total else "bad" if behind == total else "open"
    others = f", behind in {behind}" if behind else ""
    others += f", without a significant difference in {level}" if level else ""
    others += f", without an interval in {unknown}" if unknown else ""
    word = "Yes" if tone == "good" else "No" if not ahead else "In part"
    if unknown == total or (word == "No" and level):
        word = "These data do not show it"
    answer = (
        f"{word}: in {ahead} of {total} comparisons decision-focused training is ahead of two-stage training of the "
        f"same network{others}."
    )
    sizes = [_share(run, difference, runs) for run, difference in pairs]
    more = (
        f"As a share of the way from random to best decisions: {'; '.join(filter(None, sizes))}." if any(sizes) else ""
    )
    return Card(question, answer, "open" if caution else tone, caution, more=more)


def called(run: RunView, runs: Sequence[RunView]) -> str:
    """The title of a run, with its protocol only where that tells it from another."""
    alone = sum(other.info.title == run.info.title for other in runs) == 1
    return run.info.title if alone else run.name


def _share(run: RunView, difference: SplitComparison, runs: Sequence[RunView]) -> str:
    """The difference as a share of the way, with its interval."""
    width = way(run, difference.k)
    if width is None:
        return ""
    ends = [f"{100 * end / width:+.1f}" for end in difference.interval or ()]
    interval = f" [{', '.join(ends)}]" if ends else ""
    return f"{called(run, runs)}{at(difference.k)} {100 * difference.gained / width:+.1f} %{interval}"


def _single(run: RunView, runs: Sequence[RunView]) -> Card:
    pair, question = main_differences(run), f"{called(run, runs)}: does it pay?"
    if not pair:
        return Card(question, "There are no records yet." if not run.rows else "The pair was not compared.", "open")
    standings = {difference.standing for difference in pair}
    tone: Tone = "good" if standings == {Standing.AHEAD} else "bad" if standings == {Standing.BEHIND} else "open"
    caution = small([run], brief=len(runs) > 1)
    named = [run.info.figure_methods[1], run.info.figure_methods[0], *run.info.heuristics, RANDOM, OPT]
    named += [row.method for k in run.ks if (row := findings.best_row(run, k)) is not None][:1]
    terms = tuple(name for name in dict.fromkeys(named) if name in run.methods)
    answer = " ".join(difference_sentences(pair, digits(run)))
    return Card(question, answer, "open" if caution else tone, caution, terms, " ".join(findings.best_learned(run)[:1]))


def way(run: RunView, k: int | None) -> float | None:
    """How much better the best decisions are than random ones; `None` where either is not there."""
    best, chance = run.row(OPT, k), run.row(RANDOM, k)
    if best is None or chance is None:
        return None
    gap = best.shown(run.scored).mean - chance.shown(run.scored).mean
    return gap if gap > 0 else None


def main_forest(runs: Sequence[RunView]) -> Block | None:
    """What the cards are about and the choices against heuristics, on one scale; `None` where there is nothing."""
    rows: list[Row] = []
    for run in runs:
        for paired in (*main_differences(run), *(d for d in run.differences if d.name == CHOSEN)):
            width = way(run, paired.k)
            if width is not None:
                name, place = f"{paired.name} − {paired.reference}", f"{called(run, runs)}{at(paired.k)}"
                ends = paired.interval or (None, None)
                row = Row(name, paired.gained, *ends, role_of(run, paired.name), context=place)
                rows.append(row.scaled(100 / width))
    if not rows:
        return None
    return forest(
        "Paired differences, domain by domain", rows, "difference in % of the way from random to best decisions",
        number="{:+.1f}".format,
        caption="Method minus reference in the same split, averaged over splits, with a bootstrapped 95 % interval, as "
        f"a share of how much better the best decisions known are than random ones. {small(runs)}".strip(),
    )  # fmt: skip

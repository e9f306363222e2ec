"""Results of a run, in sentences that follow from the numbers by rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from foresolve._base.text import listed
from foresolve.learning.paired import Standing
from foresolve.report import published
from foresolve.report.formats import at, best_words, digits, number
from foresolve.report.published import Verdict
from foresolve.report.summary import CHOSEN, OPT, RANDOM, MethodSummary, SplitComparison, chosen
from foresolve.report.tables import signed
from foresolve.report.verdicts import Comparison, comparisons
from foresolve.report.view import RunView

FEW = 10  # splits, below which the percentile bootstrap is known to be too narrow
FAR = 15  # percent of a published figure, above which a two-stage row is named with the likely reason


def difference_sentences(differences: Iterable[SplitComparison], places: int = 2) -> list[str]:
    """Paired differences in words, whichever way they went; budgets with the same verdict share a sentence."""
    groups: dict[tuple[str, str, Standing], list[SplitComparison]] = {}
    for difference in differences:
        groups.setdefault((difference.name, difference.reference, difference.standing), []).append(difference)
    sentences: list[str] = []
    for (method, reference, standing), group in groups.items():
        sizes = listed([f"{_size(difference, places)}{at(difference.k)}" for difference in group])
        match standing:
            case Standing.AHEAD:
                sentences.append(f"{method} is ahead of {reference} by {sizes}.")
            case Standing.BEHIND:
                sentences.append(f"{method} is behind {reference} by {sizes}.")
            case Standing.LEVEL:
                sentences.append(f"There is no significant difference between {method} and {reference}: {sizes}.")
            case _:
                sentences.append(f"{method} minus {reference}: {sizes}; one split has no interval.")
    return sentences


def comparison_sentences(compared: Iterable[Comparison], places: int = 2) -> list[str]:
    """Ours beside the published figures of Table 1 in words; budgets with the same verdict share a sentence."""
    groups: dict[tuple[str, Verdict], list[Comparison]] = {}
    for comparison in compared:
        groups.setdefault((comparison.method, comparison.verdict), []).append(comparison)
    sentences: list[str] = []
    for (method, verdict), group in groups.items():
        both = [f"{at(c.k)} ({_both(c, places)})".strip() for c in group]
        gaps = listed([f"by {abs(c.difference):.{places}f}{at(c.k)} ({_both(c, places)})" for c in group])
        match verdict:
            case "above" | "better":
                sentences.append(f"{method} is above the published figure {gaps}.")
            case "not reproduced":
                sentences.append(f"{method} does not reproduce the published figure: it is below {gaps}.")
            case "reproduced":
                sentences.append(f"{method} reproduces the published figure {listed(both)}.")
            case _:
                sentences.append(f"{method} beside the published figure {listed(both)}: one split has no interval.")
    return sentences


def two_stage_gaps(run: RunView) -> list[str]:
    """Two-stage rows that are far from the published ones, in either direction, with the likely reason."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[Comparison]] = {}
    for c in quality(run):
        if run.method(c.method).role == "two-stage" and abs(c.percent) > FAR:
            groups.setdefault((c.method, "above" if c.percent > 0 else "below", c.reasons), []).append(c)
    sentences: list[str] = []
    for (method, side, reasons), group in groups.items():
        gaps = listed([f"{abs(c.percent):.0f} %{at(c.k)} ({_both(c, digits(run))})" for c in group])
        within = all(c.verdict == "reproduced" for c in group)
        why = "Both intervals allow for it." if within else "No reason is known."
        likely = f"Likely: {' '.join(reasons)}" if reasons else why
        sentences.append(f"{method} is {side} the published figure by {gaps}. {likely}")
    return sentences


def quality(run: RunView) -> list[Comparison]:
    """The comparisons of Table 1."""
    return [comparison for comparison in comparisons(run) if comparison.measure is None]


def headline(run: RunView) -> list[str]:
    """What a reader should know first: the figures' two methods, the chosen method, how near the best it comes."""
    places = digits(run)
    against = [d for d in run.differences if d.name == CHOSEN]
    return [
        *difference_sentences(main_differences(run), places), *best_learned(run),
        *difference_sentences(against, places), *choices(run),
    ]  # fmt: skip


def main_differences(run: RunView) -> list[SplitComparison]:
    """Those of the two methods of the figures: what a run is about."""
    wanted = (run.info.figure_methods[1], run.info.figure_methods[0])
    return [difference for difference in run.differences if (difference.name, difference.reference) == wanted]


def best_learned(run: RunView) -> list[str]:
    """The learned method with the largest mean, for each budget."""
    return [sentence for k in run.ks if (sentence := _best(run, k)) is not None]


def choices(run: RunView) -> list[str]:
    """Which methods the validation data chose, and how often."""
    counts: dict[int | None, Counter[str]] = {}
    for record in chosen(run.records, run.config.methods):
        counts.setdefault(record.k, Counter())[record.setting["method"]] += 1
    sentences: list[str] = []
    for k, counter in counts.items():
        times = ", ".join(f"{method} in {count}" for method, count in counter.most_common())
        sentences.append(f"Chosen on validation data{at(k)}: {times} of {sum(counter.values())} splits.")
    return sentences


def shortfalls(run: RunView) -> list[str]:
    """All that falls short of the paper, of two-stage training or of a heuristic, and what limits the figures."""
    places = digits(run)
    below = (comparison for comparison in quality(run) if comparison.method != RANDOM and _below(comparison))
    behind = (d for d in run.differences if d.standing in (Standing.BEHIND, Standing.LEVEL) or _maybe_behind(d))
    return [*comparison_sentences(below, places), *difference_sentences(behind, places), *_below_heuristics(run)]


def limits(run: RunView) -> list[str]:
    """What the figures cannot say, because of what was run."""
    sentences: list[str] = []
    if run.config.quick:
        sentences.append("Instances or models are small (--quick): these figures are not the paper's task.")
    if run.config.data is None and run.config.domain in published.DOMAINS:
        sentences.append("The data are generated, not the paper's.")
    if run.config.splits < 2:
        sentences.append("One split has no interval: no difference can be called significant.")
    elif run.config.splits < FEW:
        sentences.append(
            f"{run.config.splits} splits are few: bootstrapped intervals are then too narrow, and verdicts only a hint."
        )
    for row in run.rows:
        if row.method != CHOSEN and row.value.splits < run.config.splits:
            sentences.append(f"{row.method}{at(row.k)}: {row.value.splits} of {run.config.splits} splits are finished.")
    missing = [method for method in run.config.methods if method not in run.methods]
    if missing:
        sentences.append(f"Without any finished split: {', '.join(missing)}.")
    return sentences


def alikeness(run: RunView) -> list[str]:
    """How our data compare with the paper's, by the value of random decisions, which depends on nothing else."""
    return comparison_sentences((c for c in quality(run) if c.method == RANDOM), digits(run))


def _below(comparison: Comparison) -> bool:
    """Not reproduced, or merely smaller where there is no interval to judge by."""
    return comparison.verdict == "not reproduced" or (comparison.verdict == "unknown" and comparison.difference < 0)


def _both(comparison: Comparison, places: int) -> str:
    return f"{number(comparison.ours, places)} against {number(comparison.published, places)}"


def _maybe_behind(difference: SplitComparison) -> bool:
    return difference.standing is Standing.UNKNOWN and difference.gained <= 0


def _best(run: RunView, k: int | None) -> str | None:
    """The learned method with the largest mean, beside random and best decisions."""
    row, protocol, places = best_row(run, k), run.scored, digits(run)
    if row is None:
        return None
    references = [
        f"{name} {reference.shown(protocol).mean:.{places}f}"
        for name in (*run.info.heuristics, RANDOM, OPT)
        if (reference := run.row(name, k)) is not None
    ]
    share = row.share(protocol)
    near = "" if share is None else f" ({100 * share:.1f} % of {best_words(row.by_steps(protocol))})"
    beside = f"; beside it {', '.join(dict.fromkeys(references))}" if references else ""
    ours = row.shown(protocol)
    return f"The largest mean among learned methods{at(k)} is {row.method}'s, {ours.mean:.{places}f}{near}{beside}."


def best_row(run: RunView, k: int | None) -> MethodSummary | None:
    """The learned method with the largest mean, if any learned."""
    rows = [row for row in run.rows if row.k == k and run.learned(row.method)]
    return max(rows, key=lambda row: row.shown(run.scored).mean, default=None)


def _below_heuristics(run: RunView) -> list[str]:
    """Where no learned method has the mean of a heuristic, whether or not there is a chosen one."""
    sentences: list[str] = []
    places = digits(run)
    for name in run.info.heuristics:
        for k in run.ks:
            row, best = run.row(name, k), best_row(run, k)
            if row is None or best is None:
                continue
            learned, heuristic = best.shown(run.scored).mean, row.value.mean
            if learned < heuristic:
                sentences.append(
                    f"No learned method reaches the heuristic {name}{at(k)}: {best.method} has "
                    f"{learned:.{places}f}, {name} {heuristic:.{places}f}."
                )
    return sentences


def _size(difference: SplitComparison, places: int) -> str:
    """How far apart, without a sign where the words have it."""
    if difference.interval is None or difference.standing not in (Standing.AHEAD, Standing.BEHIND):
        return signed(difference, places).text
    low, high = sorted(map(abs, difference.interval))
    return f"{abs(difference.gained):.{places}f} [{low:.{places}f}, {high:.{places}f}]"

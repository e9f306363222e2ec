"""What a run found, in sentences that follow from the numbers by rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from foresolve.report import published
from foresolve.report.published import PaperComparison
from foresolve.report.summary import CHOSEN, OPT, RANDOM, Difference, chosen
from foresolve.report.tables import digits, number, signed
from foresolve.report.view import RunView

FEW = 10  # splits, below which the percentile bootstrap is known to be too narrow


def comparisons(run: RunView) -> Iterator[tuple[str, int | None, PaperComparison]]:
    """Every method and budget that the paper has a figure for, ours beside it."""
    for row in run.rows:
        paper = run.published(row.method, row.k)
        if paper is not None:
            yield row.method, row.k, PaperComparison(row.shown(run.scored), paper)


def difference_sentences(differences: Iterable[Difference], places: int = 2) -> list[str]:
    """Paired differences in words, whichever way they went; budgets with the same verdict share a sentence."""
    groups: dict[tuple[str, str, str], list[Difference]] = {}
    for difference in differences:
        groups.setdefault((difference.method, difference.reference, difference.verdict), []).append(difference)
    sentences: list[str] = []
    for (method, reference, verdict), group in groups.items():
        sizes = _listed([f"{_size(difference, places)}{_at(difference.k)}" for difference in group])
        match verdict:
            case "ahead":
                sentences.append(f"{method} is ahead of {reference} by {sizes}.")
            case "behind":
                sentences.append(f"{method} is behind {reference} by {sizes}.")
            case "not told apart":
                sentences.append(f"{method} and {reference} are not told apart: {sizes}.")
            case _:
                sentences.append(f"{method} minus {reference}: {sizes}; one split has no interval.")
    return sentences


def comparison_sentences(figures: Iterable[tuple[str, int | None, PaperComparison]], places: int = 2) -> list[str]:
    """Ours beside the published figures in words; budgets with the same verdict share a sentence."""
    groups: dict[tuple[str, str], list[tuple[int | None, PaperComparison]]] = {}
    for method, k, comparison in figures:
        groups.setdefault((method, comparison.verdict), []).append((k, comparison))
    sentences: list[str] = []
    for (method, verdict), group in groups.items():
        parts: list[str] = []
        for k, comparison in group:
            ours = number(comparison.ours.mean, comparison.ours.half, places)
            paper = number(comparison.published.mean, comparison.published.half, places)
            gap = f"by {abs(comparison.difference):.{places}f}"
            both = f"({ours} against {paper})"
            parts.append(f"{gap}{_at(k)} {both}" if verdict in ("above", "below") else f"{_at(k)} {both}".strip())
        match verdict:
            case "above" | "below":
                sentences.append(f"{method} is {verdict} the published figure {_listed(parts)}.")
            case "not told apart":
                sentences.append(f"{method} is not told apart from the published figure {_listed(parts)}.")
            case _:
                sentences.append(f"{method} beside the published figure {_listed(parts)}: one split has no interval.")
    return sentences


def headline(run: RunView) -> list[str]:
    """What a reader should know first: the figures' two methods, the chosen method, how near the best it comes."""
    places = digits(run)
    wanted = (run.info.figure_methods[1], run.info.figure_methods[0])
    pair = [d for d in run.differences if (d.method, d.reference) == wanted]
    best = [sentence for k in run.ks if (sentence := _best(run, k)) is not None]
    against = [d for d in run.differences if d.method == CHOSEN]
    return [*difference_sentences(pair, places), *best, *difference_sentences(against, places), *choices(run)]


def choices(run: RunView) -> list[str]:
    """Which methods the validation data chose, and how often."""
    counts: dict[int | None, Counter[str]] = {}
    for record in chosen(run.records, run.config.methods):
        counts.setdefault(record.k, Counter())[record.setting["method"]] += 1
    sentences: list[str] = []
    for k, counter in counts.items():
        times = ", ".join(f"{method} in {count}" for method, count in counter.most_common())
        sentences.append(f"Chosen on validation data{_at(k)}: {times} of {sum(counter.values())} splits.")
    return sentences


def shortfalls(run: RunView) -> list[str]:
    """All that falls short of the paper, of two-stage training or of a heuristic, and what limits the figures."""
    places = digits(run)
    below = (figure for figure in comparisons(run) if figure[0] != RANDOM and _below(figure[2]))
    behind = (d for d in run.differences if d.verdict in ("behind", "not told apart") or _maybe_behind(d))
    return [*comparison_sentences(below, places), *difference_sentences(behind, places), *_below_heuristics(run)]


def limits(run: RunView) -> list[str]:
    """What the figures cannot say, because of what was run."""
    sentences: list[str] = []
    if run.config.quick:
        sentences.append("Instances or models are small (--quick): these figures are not the paper's task.")
    if run.config.data is None and run.config.domain in published.DOMAINS:
        sentences.append("The data are generated, not the paper's.")
    if run.config.splits < 2:
        sentences.append("One split has no interval: nothing can be told apart.")
    elif run.config.splits < FEW:
        sentences.append(
            f"{run.config.splits} splits are few: bootstrapped intervals are then too narrow, and verdicts only a hint."
        )
    for row in run.rows:
        if row.method != CHOSEN and row.value.splits < run.config.splits:
            sentences.append(
                f"{row.method}{_at(row.k)}: {row.value.splits} of {run.config.splits} splits are finished."
            )
    missing = [method for method in run.config.methods if method not in run.methods]
    if missing:
        sentences.append(f"Without any finished split: {', '.join(missing)}.")
    return sentences


def alikeness(run: RunView) -> list[str]:
    """How our data compare with the paper's, by the value of random decisions, which depends on nothing else."""
    return comparison_sentences((figure for figure in comparisons(run) if figure[0] == RANDOM), digits(run))


def _below(comparison: PaperComparison) -> bool:
    """Told to be below, or merely smaller where there is no interval to tell by."""
    return comparison.verdict == "below" or (comparison.verdict == "unknown" and comparison.difference < 0)


def _maybe_behind(difference: Difference) -> bool:
    return difference.verdict == "unknown" and difference.estimate.mean <= 0


def _best(run: RunView, k: int | None) -> str | None:
    """The learned method with the largest mean, beside random and best decisions."""
    rows = [row for row in run.rows if row.k == k and run.learned(row.method)]
    if not rows:
        return None
    protocol, places = run.scored, digits(run)
    row = max(rows, key=lambda row: row.shown(protocol).mean)
    references = [
        f"{name} {reference.shown(protocol).mean:.{places}f}"
        for name in (*run.info.heuristics, RANDOM, OPT)
        if (reference := run.row(name, k)) is not None
    ]
    share = row.share(protocol)
    near = "" if share is None else f" ({100 * share:.1f} % of the best decisions known)"
    beside = f"; beside it {', '.join(dict.fromkeys(references))}" if references else ""
    ours = row.shown(protocol)
    return f"The largest mean of what is learned{_at(k)} is {row.method}'s, {ours.mean:.{places}f}{near}{beside}."


def _below_heuristics(run: RunView) -> list[str]:
    """Where no learned method has the mean of a heuristic, whether or not there is a chosen one."""
    sentences: list[str] = []
    protocol, places = run.scored, digits(run)
    for name in run.info.heuristics:
        for k in run.ks:
            row = run.row(name, k)
            rows = [r for r in run.rows if r.k == k and run.learned(r.method)]
            if name in (RANDOM, OPT) or row is None or not rows:
                continue
            best = max(rows, key=lambda r: r.shown(protocol).mean)
            learned, heuristic = best.shown(protocol).mean, row.value.mean
            if learned < heuristic:
                sentences.append(
                    f"No learned method reaches the heuristic {name}{_at(k)}: {best.method} has "
                    f"{learned:.{places}f}, {name} {heuristic:.{places}f}."
                )
    return sentences


def _size(difference: Difference, places: int) -> str:
    """How far apart, without a sign where the words have it."""
    gap = difference.estimate
    if difference.verdict not in ("ahead", "behind"):
        return signed(difference, places).text
    low, high = sorted((abs(gap.low or 0.0), abs(gap.high or 0.0)))
    return f"{abs(gap.mean):.{places}f} [{low:.{places}f}, {high:.{places}f}]"


def _listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _at(k: int | None) -> str:
    return "" if k is None else f" at k = {k}"

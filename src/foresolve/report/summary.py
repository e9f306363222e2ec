"""Records of many splits made into means, intervals and paired differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from foresolve._base import bootstrap
from foresolve.learning.paired import ROUNDINGS, IntervalRule, PairedComparison, gains
from foresolve.report.records import Measure, MethodInfo, Protocol, Record

RESAMPLES = 10_000
CHOSEN, RANDOM, OPT = "Chosen", "Random", "OPT"
EVERYWHERE = {
    CHOSEN: MethodInfo("choice", words="takes, in each split, the method that did best on validation instances"),
    RANDOM: MethodInfo("reference", words="decides by chance; learns nothing"),
    OPT: MethodInfo("bound", words="the best decision known under the truth, which no method can know beforehand"),
}
"""Methods that mean the same in every domain."""
MEASURES: tuple[Measure, ...] = get_args(Measure)
SUMS = 2.5e-10  # the rounding of a value: two ways of adding up the same numbers
TIE = ROUNDINGS * SUMS
Basis = Literal["rounded", "fractional"]


@dataclass(frozen=True)
class Estimate:
    """A mean over splits with its bootstrapped 95 % interval, which fewer than two splits do not have."""

    mean: float
    low: float | None
    high: float | None
    splits: int

    @property
    def half(self) -> float | None:
        """Half the width of the interval: what the paper writes behind its plus-minus sign."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


@dataclass(frozen=True)
class MethodSummary:
    """What one method did with one budget, over all splits that are there.

    Attributes
    ----------
    value, fractional, optimum: of the records; `fractional` is `None` unless every split has one.
    ascent: the mean of the fractional decisions of "OPT" in the same splits, the best by the same steps; `None` unless
        every split has one.
    measures: those of the predictions that at least one split has.
    seconds: the mean of a split.
    """

    method: str
    k: int | None
    value: Estimate
    fractional: Estimate | None
    optimum: Estimate
    ascent: float | None
    measures: dict[Measure, Estimate]
    seconds: float

    def share(self, protocol: Protocol = "exact") -> float | None:
        """The mean that is shown, as a share of that of the best decisions (see `by_steps`) where it is positive."""
        ascent = self.ascent if protocol == "paper" else None
        best = self.optimum.mean if ascent is None else ascent
        return self.shown(protocol).mean / best if best > 0 else None

    def by_steps(self, protocol: Protocol) -> bool:
        """Whether `share` is of the best by the same ascent steps, not of the best decisions known."""
        return protocol == "paper" and self.ascent is not None

    def shown(self, protocol: Protocol) -> Estimate:
        """What a table shows: feasible decisions, or under the paper's protocol fractional ones where there are any."""
        return self.fractional if protocol == "paper" and self.fractional is not None else self.value

    def basis(self, protocol: Protocol) -> Basis:
        """Which of the two `shown` gives."""
        return "fractional" if protocol == "paper" and self.fractional is not None else "rounded"


@dataclass(frozen=True, kw_only=True)
class SplitComparison(PairedComparison):
    """A method beside its reference, paired over the splits that both have: `units` of them."""

    k: int | None
    basis: Basis


def estimate(sample: Iterable[float], *, seed: int = 0, resamples: int = RESAMPLES) -> Estimate:
    """The mean of one number per split, with the percentile bootstrap interval.

    >>> estimate([1.0, 2.0, 3.0]).mean
    2.0
    >>> estimate([1.0]).low is None
    True
    """
    values = np.asarray(list(sample), dtype=np.float64)
    mean = float(values.mean())
    ends = bootstrap.interval(values, resamples=resamples, seed=seed)
    if ends is None:
        return Estimate(mean, None, None, len(values))
    low, high = ends
    return Estimate(mean, min(low, mean), max(high, mean), len(values))


def summary(records: Sequence[Record], methods: Sequence[str] = (), *, seed: int = 0) -> list[MethodSummary]:
    """One row for each method and budget, "Chosen" among them.

    Parameters
    ----------
    records: of one domain; of two with the same split, method and budget the last one counts.
    methods: the order of the rows; methods that it does not name follow.
    seed: of the bootstrap.
    """
    known = [*_distinct(records), *chosen(records, methods)]
    groups: dict[tuple[str, int | None], list[Record]] = {}
    for record in known:
        groups.setdefault((record.method, record.k), []).append(record)
    order = {method: i for i, method in enumerate(_order(known, methods))}
    keys = sorted(groups, key=lambda key: (order[key[0]], key[1] or 0))
    best = {(r.k, r.split): r.fractional for r in known if r.method == OPT and r.fractional is not None}
    return [_row(groups[key], best, seed) for key in keys]


def chosen(records: Sequence[Record], methods: Sequence[str] = ()) -> list[Record]:
    """For each split and budget the record of the method with the largest validation value, under the name "Chosen".

    Every method with a validation value takes part, heuristics too, but not the best decision; ties go to the first in
    `methods`. A split counts once all that take part are finished, so that a run that was stopped does not choose among
    fewer; a choice between fewer than two is none. `setting["method"]` names the one chosen.
    """
    order = {method: i for i, method in enumerate(_order(records, methods))}
    entrants = [r for r in _distinct(records) if r.validation is not None and r.method not in (OPT, CHOSEN)]
    groups: dict[tuple[int | None, int], list[Record]] = {}
    taking_part: dict[int | None, set[str]] = {}
    for record in entrants:
        groups.setdefault((record.k, record.split), []).append(record)
        taking_part.setdefault(record.k, set()).add(record.method)
    choices: list[Record] = []
    for (k, _), group in sorted(groups.items(), key=lambda entry: (entry[0][0] or 0, entry[0][1])):
        if len(group) == len(taking_part[k]) >= 2:
            best = max(group, key=lambda r: (r.validation, -order[r.method]))
            choices.append(replace(best, method=CHOSEN, setting={"method": best.method, **best.setting}))
    return choices


def pairs(methods: Sequence[str], known: Mapping[str, MethodInfo]) -> list[tuple[str, str]]:
    """Method and reference of every difference that is tested.

    Each training of a model, its variants too, is compared with the model's two-stage training, and the method chosen
    on validation data with each heuristic.

    >>> known = {"A": MethodInfo("decision-focused", "NN1"), "B": MethodInfo("two-stage", "NN1")}
    >>> pairs(["A", "B", "TF-IDF", "Chosen"], {**known, "TF-IDF": MethodInfo("heuristic")})
    [('A', 'B'), ('Chosen', 'TF-IDF')]
    """
    facts = {name: known[name] for name in methods if name in known}
    references = {m.model: name for name, m in facts.items() if m.role == "two-stage" and m.model and not m.variant}
    trained = [(name, references[m.model]) for name, m in facts.items() if m.learned and m.model in references]
    heuristics = [name for name, m in facts.items() if m.role == "heuristic"] if CHOSEN in methods else []
    return [*((name, reference) for name, reference in trained if name != reference),
            *((CHOSEN, name) for name in heuristics)]  # fmt: skip


def differences(
    records: Sequence[Record],
    known: Mapping[str, MethodInfo],
    methods: Sequence[str] = (),
    *,
    protocol: Protocol = "exact",
    seed: int = 0,
) -> list[SplitComparison]:
    """The paired differences of `pairs`, for every budget.

    Under the paper's protocol they are those of fractional decisions where both methods have them in every split.
    """
    every = [*_distinct(records), *chosen(records, methods)]
    table: dict[tuple[str, int | None], dict[int, Record]] = {}
    for record in every:
        table.setdefault((record.method, record.k), {})[record.split] = record
    budgets = sorted({record.k for record in every}, key=lambda k: k or 0)
    gaps: list[SplitComparison] = []
    for method, reference in pairs(_order(every, methods), known):
        for k in budgets:
            scores, references = table.get((method, k), {}), table.get((reference, k), {})
            both = [(scores[split], references[split]) for split in sorted(scores.keys() & references.keys())]
            if both:
                gaps.append(_compared(both, method, reference, protocol, seed))
    return gaps


def ways(
    records: Sequence[Record], methods: Sequence[str] = (), *, protocol: Protocol = "exact", seed: int = 0
) -> dict[tuple[str, int | None], Estimate]:
    r"""Values as shares of the way from random decisions (0) to the best (1), by method and budget.

    With means over the splits that a method has in common with both, it is
    :math:`(\bar v - \bar v_{random}) / (\bar v_{best} - \bar v_{random})`. Splits are resampled with
    both ends of their ways: what makes all decisions of a split worth more cancels. Without random or best decisions,
    or where these are not better, there is no way.
    """
    worth: dict[tuple[str, int | None], dict[int, float]] = {}
    groups: dict[tuple[str, int | None], list[Record]] = {}
    for record in [*_distinct(records), *chosen(records, methods)]:
        groups.setdefault((record.method, record.k), []).append(record)
    for key, group in groups.items():
        fractional = protocol == "paper" and all(record.fractional is not None for record in group)
        worth[key] = {r.split: float((r.fractional or 0.0) if fractional else r.value) for r in group}
    shares: dict[tuple[str, int | None], Estimate] = {}
    for (method, k), values in worth.items():
        chance, best = worth.get((RANDOM, k), {}), worth.get((OPT, k), {})
        splits = sorted(values.keys() & chance.keys() & best.keys())
        gained = np.array([values[split] - chance[split] for split in splits])
        whole = np.array([best[split] - chance[split] for split in splits])
        if method not in (RANDOM, OPT) and splits and whole.mean() > 0:
            mean = float(gained.mean() / whole.mean())
            ends = bootstrap.intervals({"": (gained, whole)}, resamples=RESAMPLES, seed=seed).get("")
            low, high = (None, None) if ends is None else (min(ends[0], mean), max(ends[1], mean))
            shares[method, k] = Estimate(mean, low, high, len(splits))
    return shares


def _compared(
    both: Sequence[tuple[Record, Record]], method: str, reference: str, protocol: Protocol, seed: int
) -> SplitComparison:
    basis: Basis = "rounded"
    first = np.array([a.value for a, _ in both])
    second = np.array([b.value for _, b in both])
    if protocol == "paper" and all(r.fractional is not None for pair in both for r in pair):
        basis = "fractional"
        first = np.array([a.fractional for a, _ in both], dtype=np.float64)
        second = np.array([b.fractional for _, b in both], dtype=np.float64)
    size = np.maximum(np.abs(first), np.abs(second))
    gap = estimate(gains(first, second, size, SUMS, more_is_better=True), seed=seed)
    interval = None if gap.low is None or gap.high is None else (gap.low, gap.high)
    return SplitComparison(
        name=method, reference=reference, gained=gap.mean, interval=interval, units=gap.splits,
        rule=IntervalRule.BOOTSTRAP, k=both[0][0].k, basis=basis,
    )  # fmt: skip


def _row(records: Sequence[Record], best: Mapping[tuple[int | None, int], float], seed: int) -> MethodSummary:
    fractional = [record.fractional for record in records if record.fractional is not None]
    ascents = [best[key] for record in records if (key := (record.k, record.split)) in best]
    measures: dict[Measure, Estimate] = {}
    for measure in MEASURES:
        sample = [float(getattr(record, measure)) for record in records if getattr(record, measure) is not None]
        if sample:
            measures[measure] = estimate(sample, seed=seed)
    return MethodSummary(
        records[0].method,
        records[0].k,
        estimate((record.value for record in records), seed=seed),
        estimate(fractional, seed=seed) if len(fractional) == len(records) else None,
        estimate((record.optimum for record in records), seed=seed),
        float(np.mean(ascents)) if len(ascents) == len(records) else None,
        measures,
        float(np.mean([record.seconds for record in records])),
    )


def _distinct(records: Sequence[Record]) -> list[Record]:
    """The last record of each split, method and budget, by split: sums then do not depend on the order of arrival."""
    last = {record.key: record for record in records}
    return sorted(last.values(), key=lambda record: record.split)


def _order(records: Sequence[Record], methods: Sequence[str]) -> list[str]:
    """The names of all methods, "Chosen" before random and best decisions."""
    names = list(dict.fromkeys([*methods, *sorted({record.method for record in records})]))
    present = {record.method for record in records}
    last = [name for name in (CHOSEN, RANDOM, OPT) if name in names]
    return [name for name in names if name in present and name not in last] + [n for n in last if n in present]

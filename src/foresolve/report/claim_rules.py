"""The rules behind the paper's claims: each takes the figures of a domain, and says whether they follow it.

`claims.CLAIMS` has the words of each. All hold for the figures that the paper published.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from foresolve._base.text import listed
from foresolve.report.out_weights import r_squared, weights
from foresolve.report.published import TABLE1, Published
from foresolve.report.records import Measure
from foresolve.report.summary import RANDOM, Estimate, MethodSummary
from foresolve.report.verdicts import judge
from foresolve.report.view import RunView

NN1, NN2 = DECISION = ("NN1-Decision", "NN2-Decision")
NN1_2STAGE, NN2_2STAGE = TWO_STAGE_NETWORKS = ("NN1-2Stage", "NN2-2Stage")
FOREST = "RF-2Stage"
LEARNED = (*DECISION, *TWO_STAGE_NETWORKS, FOREST)
PAPER_ROWS = (*LEARNED, RANDOM)
TIED = 0.02  # of a mean, between which "essentially equivalently" is taken to hold


class MissingFigure(LookupError):
    """A figure that a rule needs is not there."""


@dataclass(frozen=True)
class Outcome:
    """Whether a rule is followed, and the figures that say so."""

    holds: bool
    figures: str


@dataclass(frozen=True)
class Figures:
    """The figures of one run, as Tables 1 and 2 show them; `figures(method, k)` is a mean of Table 1."""

    run: RunView | None

    def __call__(self, method: str, k: int | None = None) -> float:
        return self.estimate(method, k).mean

    @property
    def ks(self) -> tuple[int | None, ...]:
        """The paper's budgets: a claim is about all of them."""
        return tuple(k for domain, method, k in TABLE1 if (domain, method) == (self._run.config.domain, RANDOM))

    def estimate(self, method: str, k: int | None = None) -> Estimate:
        """A figure of Table 1 with its interval."""
        return self._row(method, k).shown(self._run.scored)

    def ratio(self, method: str, reference: str, k: int | None = None) -> float:
        """One mean of Table 1 divided by another."""
        return ratio(self(method, k), self(reference, k))

    def accuracy(self, method: str, measure: Measure) -> float:
        """A mean of Table 2, at the paper's budget."""
        row = self._row(method, self._run.info.table2_k)
        if measure not in row.measures:
            raise MissingFigure
        return row.measures[measure].mean

    def above(self, method: str, reference: str, k: int | None = None) -> bool:
        """Whether one is above the other by more than the sum of both half widths."""
        first, second = self.estimate(method, k), self.estimate(reference, k)
        if first.half is None or second.half is None:
            raise MissingFigure
        return judge(first, Published(second.mean, second.half)) == "above"

    def r2(self, method: str) -> float:
        """How well predicted out-weights correlate with true ones (Figure 2); 0 where all predictions are equal."""
        if method not in self._run.pictures:
            raise MissingFigure
        return r_squared(*weights(self._run.pictures[method], method)) or 0.0

    def _row(self, method: str, k: int | None) -> MethodSummary:
        """Of all splits: means over different ones are not compared."""
        row = self._run.row(method, k)
        if row is None or row.value.splits < self._run.config.splits:
            raise MissingFigure
        return row

    @property
    def _run(self) -> RunView:
        if self.run is None:
            raise MissingFigure
        return self.run


def ratio(first: float, second: float) -> float:
    """Infinite where the second is nothing."""
    return first / second if second else math.inf


def highest_across_the_board(budget: Figures, matching: Figures, recommendation: Figures) -> Outcome:
    winners: list[str] = []
    holds = True
    for figures in (budget, matching, recommendation):
        for k in figures.ks:
            decision = max(figures(method, k) for method in DECISION)
            best = max(PAPER_ROWS, key=lambda method: figures(method, k))
            if figures is budget:
                holds &= best in (*DECISION, FOREST) and abs(ratio(figures(FOREST, k), decision) - 1) <= TIED
            else:
                holds &= best in DECISION
            winners.append(best)
    counts = [f"{winners.count(method)} by {method}" for method in dict.fromkeys(winners)]
    gaps = [ratio(budget(FOREST, k), max(budget(method, k) for method in DECISION)) for k in budget.ks]
    text = f"of {len(winners)} columns {listed(counts)}; forest on budget allocation {_more(gaps)}"
    return Outcome(holds, text)


def lead_on_budget(figures: Figures) -> Outcome:
    def lead(k: int | None) -> float:
        return ratio(min(figures(m, k) for m in DECISION), max(figures(m, k) for m in TWO_STAGE_NETWORKS))

    return _at_each(figures, lead, lambda lead: lead >= 1.37)


def one_layer_ahead_of_two(figures: Figures) -> Outcome:
    return _at_each(figures, lambda k: figures.ratio(NN1, NN2, k), lambda lead: lead > 1)


def two_stage_significantly_worse(figures: Figures) -> Outcome:
    holds = all(figures.above(NN1, NN1_2STAGE, k) for k in figures.ks)
    return Outcome(holds, _more([figures.ratio(NN1_2STAGE, NN1, k) for k in figures.ks]))


def forest_equivalent(figures: Figures) -> Outcome:
    return _at_each(figures, lambda k: figures.ratio(FOREST, NN1, k), lambda lead: abs(lead - 1) <= TIED)


def worst_mse_best_quality(figures: Figures) -> Outcome:
    errors = {method: figures.accuracy(method, "mse") for method in LEARNED}
    values = {method: figures(method, 10) for method in LEARNED}
    least, most = min(errors[m] for m in DECISION), max(e for m, e in errors.items() if m not in DECISION)
    networks = max(values[m] for m in TWO_STAGE_NETWORKS)
    best = max(values, key=lambda method: values[method])
    holds = least > most and min(values[m] for m in DECISION) > networks and best in DECISION
    return Outcome(
        holds,
        f"MSE at least {least:.2e}, of two-stage methods at most {most:.2e}; values "
        f"{values[NN1]:.2f} and {values[NN2]:.2f}, two-stage networks at most {networks:.2f}, {FOREST} "
        f"{values[FOREST]:.2f}",
    )


def out_weights_correlate(figures: Figures) -> Outcome:
    decision, two_stage = figures.r2(NN1), figures.r2(NN1_2STAGE)
    return Outcome(round(decision, 2) >= 0.94 and decision > two_stage, f"{decision:.2f}, {NN1_2STAGE} {two_stage:.2f}")


def lead_on_matching(figures: Figures) -> Outcome:
    following = max((method for method in PAPER_ROWS if method != NN2), key=lambda method: figures(method))
    lead = figures.ratio(NN2, following)
    return Outcome(lead >= 1.68, f"{_more([lead])} ({figures(NN2):.2f}, {following} {figures(following):.2f})")


def one_layer_no_better_than_chance(figures: Figures) -> Outcome:
    holds = not any(figures.above(method, RANDOM) for method in (NN1, NN1_2STAGE))
    return Outcome(holds, f"{figures(NN1):.2f} and {figures(NN1_2STAGE):.2f}, Random {figures(RANDOM):.2f}")


def forest_marginally_better(figures: Figures) -> Outcome:
    return _at_each(figures, lambda k: figures.ratio(FOREST, NN2_2STAGE, k), lambda lead: 1 < lead <= 1.1)


def better_loss_worse_quality(figures: Figures) -> Outcome:
    losses = [figures.accuracy(method, "cross_entropy") for method in (NN2_2STAGE, NN2)]
    share = figures.ratio(NN2_2STAGE, NN2)
    text = f"CE {losses[0]:.3f}, {NN2} {losses[1]:.3f}; value {_more([share])}"
    return Outcome(losses[0] < losses[1] and share <= 0.75, text)


def one_layer_best_two_layers_close(figures: Figures) -> Outcome:
    shares: list[tuple[float, float]] = []
    for k in figures.ks:
        others = max(figures(method, k) for method in PAPER_ROWS if method not in DECISION)
        shares.append((figures.ratio(NN2, NN1, k), ratio(others, figures(NN1, k))))
    holds = all(1 > following >= 0.84 and following > others for following, others in shares)
    close, rest = zip(*shares)
    return Outcome(holds, f"{NN2} {_more(close)}, best of the others {_more(rest)}")


def two_stage_trails(figures: Figures) -> Outcome:
    shares = [figures.ratio(NN2_2STAGE, NN1, k) for k in figures.ks]
    mean = sum(shares) / len(shares)
    return Outcome(mean <= 0.77, f"{_more([mean])} on average ({_more(shares)})")


def several_times_two_stage(figures: Figures) -> Outcome:
    times = [figures.ratio(NN1, NN1_2STAGE, k) for k in figures.ks]
    return Outcome(min(times) >= 2.7, f"{_values(times)} times")


def forest_no_better_than_chance(figures: Figures) -> Outcome:
    holds = not any(figures.above(FOREST, RANDOM, k) for k in figures.ks)
    forest, random = ([figures(method, k) for k in figures.ks] for method in (FOREST, RANDOM))
    return Outcome(holds, f"{_values(forest)}, Random {_values(random)}")


def best_auc_worse_quality(figures: Figures) -> Outcome:
    areas = {method: figures.accuracy(method, "auc") for method in LEARNED}
    best = max(areas, key=lambda method: areas[method])
    value, least = figures(NN2_2STAGE, 10), min(figures(method, 10) for method in DECISION)
    text = f"best AUC {areas[best]:.3f} ({best}); value {value:.2f}, decision-focused at least {least:.2f}"
    return Outcome(best == NN2_2STAGE and value < least, text)


def _at_each(figures: Figures, lead: Callable[[int | None], float], follows: Callable[[float], bool]) -> Outcome:
    """A rule about a ratio at each k."""
    leads = [lead(k) for k in figures.ks]
    return Outcome(all(map(follows, leads)), _more(leads))


def _values(values: Sequence[float]) -> str:
    """One for each budget."""
    return " / ".join(f"{value:.2f}" for value in values)


def _more(ratios: Sequence[float]) -> str:
    """Ratios, one for each budget, as what is more or less.

    >>> _more([1.38, 0.5])
    '+38.0 / -50.0 %'
    """
    return " / ".join(f"{100 * (ratio - 1):+.1f}" for ratio in ratios) + " %"

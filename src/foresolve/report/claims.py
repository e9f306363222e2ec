"""The paper's claims, one by one: what it says, a rule that the figures follow or not, and what our runs answer.

A claim is put to the runs of each protocol. Two-stage networks are trained by the published recipe under "paper" and
tuned under "exact", so a claim that holds under the first alone holds against networks that nobody tuned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from foresolve._base.table import Cell, Table
from foresolve.report import claim_rules as rules
from foresolve.report.claim_rules import Figures, MissingFigure, Outcome
from foresolve.report.records import Protocol
from foresolve.report.table import BlockTable
from foresolve.report.view import RunView

PROTOCOLS: tuple[Protocol, ...] = ("paper", "exact")
CAPTION = (
    "What the paper says of its figures, put to ours: under the published recipe (protocol paper) and with tuned "
    "networks and exact layers (protocol exact). Each answer follows from the means of Tables 1 and 2 by a rule; three "
    "figures a / b / c are at k = 5, 10 and 20. An answer is unknown where figures are missing, or not of all splits."
)


@dataclass(frozen=True)
class Claim:
    """What the paper says, and what it takes to be true.

    Attributes
    ----------
    domains: those that it is about; the rule gets the figures of each.
    quote: the paper's words.
    words: the rule in words.
    two_stage: whether it is about two-stage networks, which one protocol tunes and the other does not.
    """

    domains: tuple[str, ...]
    quote: str
    words: str
    rule: Callable[..., Outcome]
    two_stage: bool = True


@dataclass(frozen=True)
class Answer:
    """A claim and what the runs at hand say to it; no outcome where figures are missing."""

    claim: Claim
    outcomes: Mapping[Protocol, Outcome | None]

    @property
    def verdict(self) -> str:
        """Whether it holds, and on what condition."""
        paper, exact = self.outcomes.get("paper"), self.outcomes.get("exact")
        for known, other, silent in ((paper, exact, "exact"), (exact, paper, "paper")):
            if known is not None and other is None:
                return f"{'holds' if known.holds else 'does not hold'} (no figures of protocol {silent})"
        if paper is None or exact is None:
            return "unknown"
        if exact.holds and not paper.holds:
            return "does not hold by the published recipe; holds under protocol exact"
        if paper.holds and not exact.holds:
            two_stage = self.claim.two_stage
            return "holds only " + ("against untuned two-stage networks" if two_stage else "by the published recipe")
        return "holds" if paper.holds else "does not hold"


def answers(runs: Sequence[RunView]) -> list[Answer]:
    """The claims about the domains at hand, in the order of the paper; quick runs say nothing about them."""
    known: dict[tuple[str, Protocol], RunView] = {
        (run.config.domain, run.config.protocol): run for run in runs if run.comparable
    }
    at_hand = {domain for domain, _ in known}
    return [
        Answer(claim, {protocol: _outcome(claim, known, protocol) for protocol in PROTOCOLS})
        for claim in CLAIMS
        if at_hand.issuperset(claim.domains)
    ]


def claims_table(runs: Sequence[RunView]) -> BlockTable:
    """A row for each claim: the figures under each protocol, and the answer."""
    titles: dict[tuple[str, ...], str] = {(run.config.domain,): run.info.title for run in runs}
    protocols: list[Protocol] = [p for p in PROTOCOLS if any(run.config.protocol == p for run in runs)]
    given = answers(runs)
    headers = ("claim", *(f"protocol {protocol}" for protocol in protocols), "answer")
    blocks = tuple(
        Table(
            headers,
            [
                (f'"{a.claim.quote}"', *(_text(a.outcomes[p]) for p in protocols), Cell(a.verdict, bold=True))
                for a in given
                if a.claim.domains == domains
            ],
            titles.get(domains, "All domains"),
        )
        for domains in dict.fromkeys(answer.claim.domains for answer in given)
    )
    columns = ("domains", "claim", "rule", *PROTOCOLS, "answer")
    lines = [
        (" ".join(a.claim.domains), a.claim.quote, a.claim.words, *(_text(a.outcomes[p]) for p in PROTOCOLS), a.verdict)
        for a in given
    ]
    return BlockTable("The paper's claims", CAPTION if given else "", blocks, Table(columns, lines), words=True)


def _outcome(claim: Claim, runs: Mapping[tuple[str, Protocol], RunView], protocol: Protocol) -> Outcome | None:
    try:
        return claim.rule(*(Figures(runs.get((domain, protocol))) for domain in claim.domains))
    except MissingFigure:
        return None


def _text(outcome: Outcome | None) -> str:
    return "figures missing" if outcome is None else f"{'yes' if outcome.holds else 'no'}: {outcome.figures}"


BUDGET, MATCHING, RECOMMENDATION = ("budget",), ("matching",), ("recommendation",)
CLAIMS: tuple[Claim, ...] = (
    Claim(
        ("budget", "matching", "recommendation"),
        "The decision-focused methods obtain the highest-performance across the board, tied with random forests on "
        "[...] budget allocation",
        "In each column of Table 1 the largest mean of the paper's rows is a decision-focused network's; on budget "
        "allocation it is that or the forest's, and the two are within 2 %.",
        rules.highest_across_the_board,
    ),
    Claim(
        BUDGET,
        "Both decision-focused methods substantially outperform the two-stage neural networks, [...] at least 37%",
        "At each k the smaller decision-focused mean is at least 1.37 times the larger mean of the two-stage networks.",
        rules.lead_on_budget,
    ),
    Claim(
        BUDGET,
        "NN1-Decision performs somewhat better than NN2-Decision",
        "At each k its mean is larger.",
        rules.one_layer_ahead_of_two,
        two_stage=False,
    ),
    Claim(
        BUDGET,
        "NN1-2Stage performs significantly worse than NN1-Decision",
        "At each k its mean is smaller by more than the sum of both half widths.",
        rules.two_stage_significantly_worse,
    ),
    Claim(
        BUDGET,
        "RF-2Stage performs essentially equivalently to NN1-Decision",
        "At each k their means differ by at most 2 % of NN1-Decision's.",
        rules.forest_equivalent,
        two_stage=False,
    ),
    Claim(
        BUDGET,
        "The two decision-focused networks have the worst MSE but the best solution quality",
        "Both MSEs are larger than those of all two-stage methods; at k = 10 both means are larger than those of the "
        "two-stage networks, and the largest mean of all is one of theirs.",
        rules.worst_mse_best_quality,
    ),
    Claim(
        BUDGET,
        "NN1-Decision's predicted out-weights are extremely well correlated [...] (r^2 = 0.94) [...] NN1-2Stage has "
        "poorer correlation",
        "In the first split r^2 of NN1-Decision is 0.94 or more in two places, and larger than NN1-2Stage's.",
        rules.out_weights_correlate,
    ),
    Claim(
        MATCHING,
        "NN2-Decision [...] making nearly over 70% more matches than the next best method",
        "Its mean is at least 1.68 times (the published 6.15 / 3.66) the next of the paper's rows.",
        rules.lead_on_matching,
    ),
    Claim(
        MATCHING,
        "Both 1-layer models perform extremely poorly",
        "Neither mean is above Random's by more than the sum of both half widths.",
        rules.one_layer_no_better_than_chance,
        two_stage=False,
    ),
    Claim(
        MATCHING,
        "RF-2Stage does only marginally better than NN2-2Stage",
        "Its mean is larger, by at most 10 %.",
        rules.forest_marginally_better,
    ),
    Claim(
        MATCHING,
        "NN2-2Stage has better cross-entropy loss but much worse solution quality than NN2-Decision",
        "Its cross-entropy is smaller, and its mean at least a quarter smaller.",
        rules.better_loss_worse_quality,
    ),
    Claim(
        RECOMMENDATION,
        "NN1-Decision has the best performance, followed closely by NN2-Decision",
        "At each k it has the largest mean of the paper's rows and NN2-Decision the next, at most 16 % smaller (15.6 % "
        "in the paper at k = 5).",
        rules.one_layer_best_two_layers_close,
        two_stage=False,
    ),
    Claim(
        RECOMMENDATION,
        "NN2-2Stage trails by 23%",
        "Its mean is smaller than NN1-Decision's by at least 23 % on average over k.",
        rules.two_stage_trails,
    ),
    Claim(
        RECOMMENDATION,
        "NN1-Decision obtains approximately 2.7 times greater objective value than NN1-2Stage",
        "At each k its mean is at least 2.7 times as large.",
        rules.several_times_two_stage,
    ),
    Claim(
        RECOMMENDATION,
        "RF-2Stage [...] unable to extract any signal which boosts decision quality above that of random",
        "At no k is its mean above Random's by more than the sum of both half widths.",
        rules.forest_no_better_than_chance,
        two_stage=False,
    ),
    Claim(
        RECOMMENDATION,
        "NN2-2Stage has the best AUC but worse solution quality than either decision-focused network",
        "Its AUC is the largest of the paper's rows, and its mean at k = 10 smaller than both decision-focused ones.",
        rules.best_auc_worse_quality,
    ),
)

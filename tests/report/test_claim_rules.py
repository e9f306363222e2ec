"""Each rule on the paper's own figures, which follow all of them, and just beyond its boundary."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from foresolve.report import claim_rules as rules
from foresolve.report.claim_rules import Figures, MissingFigure
from foresolve.report.claims import CLAIMS, Claim
from foresolve.report.view import RunView
from report.views import correlated, published_run
from reproduce.fakes import record


def claim_of(rule: str) -> Claim:
    (claim,) = [claim for claim in CLAIMS if claim.rule is getattr(rules, rule)]
    return claim


def outcome(rule: str, **changes: Any) -> rules.Outcome:
    runs = (published_run(domain, **changes) for domain in claim_of(rule).domains)
    return claim_of(rule).rule(*(Figures(run) for run in runs))


BOUNDARIES: list[tuple[str, tuple[str, int | str | None], float, float]] = [
    # rule, method and budget or measure, a figure that still follows the rule, one that does not
    ("lead_on_budget", ("NN2-Decision", 5), 32.13 * 1.371, 32.13 * 1.369),
    ("lead_on_budget", ("NN2-2Stage", 20), 68.3, 68.4),
    ("one_layer_ahead_of_two", ("NN2-Decision", 20), 98.94, 98.96),
    ("two_stage_significantly_worse", ("NN1-2Stage", 20), 94.3, 94.8),
    ("forest_equivalent", ("RF-2Stage", 10), 72.62 * 1.019, 72.62 * 1.021),
    ("forest_equivalent", ("RF-2Stage", 10), 72.62 * 0.981, 72.62 * 0.979),
    ("worst_mse_best_quality", ("RF-2Stage", "mse"), 0.0086, 0.0087),
    ("worst_mse_best_quality", ("RF-2Stage", 10), 72.61, 72.63),
    ("worst_mse_best_quality", ("NN1-2Stage", 10), 67.63, 67.65),
    ("lead_on_matching", ("NN1-2Stage", None), 3.66, 3.67),
    ("one_layer_no_better_than_chance", ("NN1-2Stage", None), 3.7, 4.0),
    ("one_layer_no_better_than_chance", ("NN1-Decision", None), 3.5, 3.8),
    ("forest_marginally_better", ("RF-2Stage", None), 3.83, 3.85),
    ("forest_marginally_better", ("RF-2Stage", None), 3.50, 3.48),
    ("better_loss_worse_quality", ("NN2-2Stage", None), 4.61, 4.62),
    ("better_loss_worse_quality", ("NN2-2Stage", "cross_entropy"), 0.688, 0.690),
    ("one_layer_best_two_layers_close", ("NN2-Decision", 5), 13.29, 13.27),
    ("one_layer_best_two_layers_close", ("NN2-Decision", 10), 29.8, 29.9),
    ("one_layer_best_two_layers_close", ("Random", 20), 47.7, 47.8),
    ("two_stage_trails", ("NN2-2Stage", 5), 11.65, 11.67),
    ("several_times_two_stage", ("NN1-2Stage", 20), 19.4, 19.5),
    ("forest_no_better_than_chance", ("RF-2Stage", 20), 32.9, 33.1),
    ("best_auc_worse_quality", ("NN1-Decision", "auc"), 0.673, 0.675),
    ("best_auc_worse_quality", ("NN2-2Stage", 10), 26.3, 26.4),
]


@pytest.mark.parametrize(("rule", "key", "within", "beyond"), BOUNDARIES)
def test_boundaries(rule: str, key: tuple[str, Any], within: float, beyond: float) -> None:
    which = "measures" if isinstance(key[1], str) else "means"
    assert outcome(rule, **{which: {key: within}}).holds
    assert not outcome(rule, **{which: {key: beyond}}).holds


@pytest.mark.parametrize(
    ("decision", "two_stage", "holds"),
    [(0.936, 0.93, True), (0.934, 0.5, False), (0.97, 0.96, True), (0.97, 0.98, False)],
)
def test_correlations(decision: float, two_stage: float, holds: bool) -> None:
    found = outcome("out_weights_correlate", r2={"NN1-Decision": decision, "NN1-2Stage": two_stage})
    assert found.holds == holds
    assert found.figures == f"{decision:.2f}, NN1-2Stage {two_stage:.2f}"


def board(**means: dict) -> bool:
    runs = [published_run(domain, means=means.get(domain)) for domain in ("budget", "matching", "recommendation")]
    return rules.highest_across_the_board(*map(Figures, runs)).holds


def test_the_highest_across_the_board() -> None:
    assert board(budget={("RF-2Stage", 10): 72.62 * 1.01})  # a tie, whoever is ahead
    assert not board(budget={("RF-2Stage", 10): 72.62 * 1.03})
    assert not board(budget={("RF-2Stage", 10): 72.62 * 0.97})
    assert not board(budget={("NN2-2Stage", 10): 72.62 * 1.01})  # tied by a network is not what it says
    assert not board(matching={("RF-2Stage", None): 6.2})
    assert not board(recommendation={("Random", 20): 52.5})
    found = outcome("highest_across_the_board").figures
    assert found.startswith(
        "of 7 columns 6 by NN1-Decision and 1 by NN2-Decision; forest on budget allocation -0.8 / -"
    )


def without(run: RunView, method: str, k: int | None) -> RunView:
    return replace(run, records=[r for r in run.records if (r.method, r.k) != (method, k)])


def test_what_is_missing_is_said() -> None:
    budget = published_run("budget")
    for run, rule in (
        (without(budget, "NN2-Decision", 20), rules.lead_on_budget),
        (without(budget, "RF-2Stage", 10), rules.worst_mse_best_quality),
        (replace(budget, pictures={"NN1-Decision": correlated(0.95)}), rules.out_weights_correlate),
        (replace(budget, records=[r for r in budget.records if r.split == 0]), rules.two_stage_significantly_worse),
        (None, rules.lead_on_budget),
        (replace(published_run("matching"), records=[record(0, "NN2-2Stage", 1.0)]), rules.better_loss_worse_quality),
    ):
        with pytest.raises(MissingFigure):
            rule(Figures(run))


def test_variants_and_heuristics_are_no_rows_of_the_paper() -> None:
    run = published_run("matching")
    more = [record(split, name, 30.0) for split in range(30) for name in ("TF-IDF", "NN2-Decision (exact layer)")]
    assert rules.lead_on_matching(Figures(replace(run, records=[*run.records, *more]))).holds


def test_equal_predictions_have_no_correlation_and_nothing_is_divided_by_nothing() -> None:
    flat = correlated(0.5) | {"predicted_weight": correlated(0.5)["true_weight"] * 0 + 1}
    run = replace(published_run("budget"), pictures={"NN1-Decision": correlated(0.95), "NN1-2Stage": flat})
    assert rules.out_weights_correlate(Figures(run)).figures == "0.95, NN1-2Stage 0.00"
    run = published_run("matching")
    nothing = replace(run, records=[replace(r, value=0.0) if r.method == "NN2-2Stage" else r for r in run.records])
    assert not rules.forest_marginally_better(Figures(nothing)).holds

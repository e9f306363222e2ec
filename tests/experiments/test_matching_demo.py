from __future__ import annotations

from dataclasses import replace

import torch

from experiments.configs import MATCHING
from foresolve.experiments.comparison import DECISION_FOCUSED, compare
from foresolve.experiments.matching_demo import Rule


def test_decision_focused_training_improves_the_validation_value() -> None:
    config = replace(MATCHING, epochs=15, side=8, train=40, validation=20, two_stage_epochs=1)
    trial = compare(config).chosen[DECISION_FOCUSED]
    assert trial.best > trial.history[0] + 0.1


def test_matchings_for_the_truth_are_the_best() -> None:
    rows = compare(MATCHING).rows
    assert all(0 <= row.normalised_regret <= 1 for row in rows)
    assert all(row.value <= rows[-1].value for row in rows)


def test_what_is_common_to_all_perfect_matchings_makes_most_of_the_variance() -> None:
    generator = torch.Generator().manual_seed(0)
    theta = Rule(6, generator).instances(50, 20, generator).theta.reshape(-1, 20, 20)
    common = theta.mean(1, keepdim=True) + theta.mean(2, keepdim=True) - theta.mean((1, 2), keepdim=True)
    assert (theta > 0).all()
    assert (theta - common).var() < 0.25 * theta.var()

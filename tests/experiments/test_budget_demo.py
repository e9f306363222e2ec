from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from experiments.configs import BUDGET
from foresolve import InvalidInputError
from foresolve.experiments.budget_demo import BudgetConfig
from foresolve.experiments.comparison import DECISION_FOCUSED, TWO_STAGE, UNTRAINED, compare


def test_both_methods_learn() -> None:
    config = replace(
        BUDGET, epochs=10, channels=30, customers=100, train=60, validation=30, test=60, two_stage_rates=(0.01,),
        decision_rates=(0.01,), gammas=(0.3,),
    )  # fmt: skip
    result = compare(config)
    value = {row.name: row.value for row in result.rows}
    for method in (TWO_STAGE, DECISION_FOCUSED):
        assert value[method] > value[UNTRAINED] > value[result.story.random]
        assert value[method] > 0.85 * value[result.story.best]


def test_the_demo_is_the_size_of_the_paper() -> None:
    config = BudgetConfig()
    assert (config.channels, config.customers, config.k) == (100, 500, 10)


def test_predictions_start_near_the_mean_probability() -> None:
    domain = replace(BUDGET, hidden=8).domain(torch.Generator().manual_seed(0))
    train = domain.instances[0]
    with torch.no_grad():
        predicted = domain.model(torch.Generator().manual_seed(1))(train.features)
    assert predicted.shape == train.theta.shape
    assert (predicted >= 0).all()
    assert 0.5 < predicted.median() / train.theta.mean() < 2


def test_a_budget_beyond_the_channels_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="`k` must be"):
        compare(replace(BUDGET, k=13))

from __future__ import annotations

import pytest
import torch

from foresolve.data import knapsack_data
from mistakes import mistake


def test_further_instances_of_the_same_rule() -> None:
    data = knapsack_data(3, items=6, seed=0)
    weights = data.problem.weights  # type: ignore[attr-defined]
    more = knapsack_data(3, items=6, seed=1, coefficients=data.rule.coefficients, weights=weights)
    assert torch.equal(more.rule.coefficients, data.rule.coefficients)
    assert torch.equal(more.problem.weights, weights)  # type: ignore[attr-defined]


def test_knapsacks_bind() -> None:
    data = knapsack_data(6, items=8, dimensions=3, capacity=0.4)
    weights, capacity = data.problem.weights, data.problem.capacity  # type: ignore[attr-defined]
    torch.testing.assert_close(capacity, 0.4 * weights.sum(-1))
    assert weights.min() >= 3.0
    assert weights.max() <= 8.0
    assert data.problem.check(data.decisions)
    assert (data.decisions.sum(-1) < 8).all()


def test_bad_arguments() -> None:
    with mistake("capacity", "got 2.0"):
        knapsack_data(3, capacity=2.0)
    with mistake("weights", "(2, 32)", "(2, 2)"):
        knapsack_data(3, weights=torch.ones(2, 2))


def test_values_that_are_known() -> None:
    """The same instances as where all are predicted: decisions, values, and the rule of what is left."""
    whole, part = knapsack_data(12, items=6, seed=2), knapsack_data(12, items=6, known=2, seed=2)
    torch.testing.assert_close(part.theta, whole.theta[:, :4])
    torch.testing.assert_close(part.problem.gain(part.theta), whole.theta)
    torch.testing.assert_close(part.values, whole.values)
    torch.testing.assert_close(part.decisions, whole.decisions)
    torch.testing.assert_close(part.rule.expected(part.features), whole.rule.expected(whole.features)[:, :4])
    some = part.subset([7, 3])
    torch.testing.assert_close(some.problem.gain(some.theta), whole.theta[[7, 3]])


@pytest.mark.parametrize("known", [6, -1, 1.5])
def test_not_all_values_are_known(known: float) -> None:
    with mistake("known", f"got {known}"):
        knapsack_data(3, items=6, known=known)  # type: ignore[arg-type]

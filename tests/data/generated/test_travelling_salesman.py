from __future__ import annotations

import torch

from foresolve.data import travelling_salesman_data
from mistakes import mistake


def test_tours() -> None:
    data = travelling_salesman_data(4, cities=7)
    assert data.problem.check(data.decisions)
    assert (torch.as_tensor(data.rule.base) > 0).all()
    value = data.problem.objective(data.problem.solve(data.rule.expected(data.features)), data.theta)
    assert (data.values - value).sum() >= -1e-6 * data.values.abs().sum()


def test_bad_places() -> None:
    with mistake("places", "(20, 2)", "(2, 2)"):
        travelling_salesman_data(3, places=torch.ones(2, 2))

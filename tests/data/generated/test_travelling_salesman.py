from __future__ import annotations

import pytest
import torch

from foresolve.data.generated.travelling_salesman import travelling_salesman_data
from foresolve.errors import InvalidInputError


def test_tours() -> None:
    data = travelling_salesman_data(4, cities=7)
    assert data.problem.check(data.decisions)
    assert (torch.as_tensor(data.rule.base) > 0).all()
    value = data.problem.objective(data.problem.solve(data.rule.expected(data.features)), data.theta)
    assert (data.values - value).sum() >= -1e-6 * data.values.abs().sum()


def test_bad_places() -> None:
    with pytest.raises(InvalidInputError, match="`places` must be"):
        travelling_salesman_data(3, places=torch.ones(2, 2))

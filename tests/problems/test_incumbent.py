from __future__ import annotations

import numpy as np
import pytest
import torch

from foresolve.problems import Incumbent
from foresolve.solvers.exact.outcome import Ending, Outcome


def test_what_is_known_of_each_instance() -> None:
    x = np.array([1.0, 0.0])
    outcomes = [
        Outcome(Ending.OPTIMAL, x),
        Outcome(Ending.NODE_LIMIT, x, 3.0),
        Outcome(Ending.TIME_LIMIT, None, 9.0),
        Outcome(Ending.INFEASIBLE),
        Outcome(Ending.UNBOUNDED),
        Outcome(Ending.WITHIN_GAP, x, 2.0 - 1e-12),
    ]
    gains = torch.tensor([[2.0, 1.0]] * 6, dtype=torch.float64)
    known = Incumbent.of(outcomes, gains, torch.zeros(1), torch.Size([2, 3]))
    inf = float("inf")
    assert known.x.dtype == torch.float32
    assert known.x.isnan().all(-1).tolist() == [[False, False, True], [True, True, False]]
    assert known.value.tolist() == [[2.0, 2.0, -inf], [-inf, -inf, 2.0]]
    assert known.bound.tolist() == [[2.0, 3.0, 9.0], [-inf, inf, 2.0]]
    assert known.status.tolist() == [[0, 2, 3], [4, 5, 1]]
    assert known.optimal.tolist() == [[True, False, False], [False, False, False]]
    assert known.gap.tolist() == [[0.0, 0.5, inf], [inf, inf, 0.0]]


def test_a_gap_relative_to_nothing() -> None:
    known = Incumbent(torch.zeros(1), torch.tensor(0.0), torch.tensor(1.0), torch.tensor(2))
    assert float(known.gap) == float("inf")
    assert float(Incumbent(torch.zeros(1), torch.tensor(0.0), torch.tensor(0.0), torch.tensor(0)).gap) == 0.0


@pytest.mark.parametrize("batch", [(0,), (2, 0)])
def test_no_instances(batch: tuple[int, ...]) -> None:
    known = Incumbent.of([], torch.zeros(0, 4).double(), torch.zeros(1), torch.Size(batch))
    assert known.x.shape == (*batch, 4)
    assert known.status.shape == known.gap.shape == batch

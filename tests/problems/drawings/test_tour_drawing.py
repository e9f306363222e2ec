from __future__ import annotations

import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgba

from foresolve._base.drawing.palette import CHOSEN
from foresolve.problems import TravellingSalesman
from mistakes import mistake


def test_cities_are_as_far_apart_as_theta_says() -> None:
    places = torch.rand(9, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    problem = TravellingSalesman(9)
    axes = problem.plot(problem.edge_costs(torch.cdist(places, places)))
    drawn = np.concatenate([marks.get_offsets() for marks in axes.collections if len(marks.get_offsets()) == 9])  # type: ignore[arg-type]
    apart = np.linalg.norm(drawn[:, None] - drawn[None], axis=-1)
    np.testing.assert_allclose(apart, torch.cdist(places, places).numpy(), atol=0.02)
    assert sum(patch.get_edgecolor() == to_rgba(CHOSEN) for patch in axes.patches) == 9


def test_cities_stand_where_the_user_says_or_on_a_circle() -> None:
    problem = TravellingSalesman(4)
    x = torch.tensor([1.0, 0, 1, 1, 0, 1])
    square = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    drawn = problem.draw(x, positions=square).collections[-1].get_offsets()
    assert np.asarray(drawn).tolist() == square
    assert np.linalg.norm(np.asarray(problem.draw(x).collections[-1].get_offsets()), axis=1) == pytest.approx(
        np.ones(4)
    )
    with mistake("positions", "(4, 2)", "(1, 2)"):
        problem.draw(x, positions=[[0.0, 0.0]])

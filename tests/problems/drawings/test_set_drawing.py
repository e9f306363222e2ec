from __future__ import annotations

import numpy as np
import pytest
import torch
from tools.gallery import Diminishing

from drawn import labels
from foresolve.problems import SubmodularProblem
from foresolve.sets import FacilityLocation, InfluenceSpread, ProbabilisticCoverage, UniformMatroid

THETA = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.75, 0.0], [0.5, 0.25, 0.0]])
X = torch.tensor([1.0, 1.0, 0.0])


@pytest.mark.parametrize(
    ("function", "got"), [(ProbabilisticCoverage(), [0.5, 0.875, 0.0]), (FacilityLocation(), [0.5, 0.75, 0.0])]
)
def test_targets_are_as_dark_as_they_are_covered(function: object, got: list[float]) -> None:
    problem = SubmodularProblem(function, UniformMatroid(3, 2), names=["a", "b", "c"], targets=["u", "v", "w"])  # type: ignore[arg-type]
    axes = problem.draw(X, THETA)
    shades = axes.collections[1].get_array()
    assert shades is not None
    assert shades.tolist() == pytest.approx(got)
    assert len(axes.get_lines()) == 3  # what the chosen ones offer
    assert {"a", "b", "c", "u", "v", "w"} == {text.get_text() for text in axes.texts}


def test_large_sets_are_rows_and_all_together() -> None:
    theta = torch.rand(40, 90, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 0.3
    problem = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(40, 3))
    axes, x = problem.plot(theta), problem.solve(theta)
    table = np.asarray(axes.images[0].get_array())
    assert table.shape == (4, 90)
    np.testing.assert_allclose(table[-1], 1 - np.prod(1 - table[:-1], axis=0))
    assert table.sum() - table[:-1].sum() == pytest.approx(float(problem.objective(x, theta)))
    assert (np.diff(table[-1]) <= 0).all()
    assert axes.get_yticklabels()[-1].get_text() == "all together"


def test_seeds_on_their_graph() -> None:
    problem = SubmodularProblem(InfluenceSpread([(0, 1), (1, 2), (0, 3)]), UniformMatroid(4, 1))
    axes = problem.plot(torch.tensor([0.9, 0.5, 0.9]))
    assert "chosen as a seed" in labels(axes.get_legend())


def test_other_functions_show_what_each_item_adds() -> None:
    problem = SubmodularProblem(Diminishing(), UniformMatroid(3, 2))
    axes = problem.draw(torch.tensor([1.0, 0.0, 1.0]), torch.tensor([9.0, 7.0, 16.0]))
    added = {bar.get_y() + bar.get_height() / 2: bar.get_width() for bar in axes.patches}
    assert [added[height] for height in sorted(added)] == pytest.approx([2.0, 1.0, 32**0.5 - 5.0])
    assert labels(axes.get_legend()) == ["chosen", "left out"]
    assert problem.draw(X).get_title() == ""

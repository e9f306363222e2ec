"""What every drawing promises, for every problem of the gallery and for those of your own."""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
import pytest
import torch
from tools.gallery import PROBLEMS

import foresolve
from drawn import labels, overlaps
from foresolve import problems
from foresolve._base.drawing.canvas import new_figure
from foresolve.problems import Feasibility
from foresolve.problems.feasibility import inspect
from mistakes import mistake


@pytest.mark.parametrize("picture", PROBLEMS, ids=lambda picture: picture.__name__)
def test_every_picture_explains_itself(picture: Any) -> None:
    before = dict(matplotlib.rcParams)
    axes = picture()
    assert axes.get_title().startswith(("worth ", "costs "))
    assert labels(axes.get_legend())
    crowded = {"shortest_path_graph", "shortest_path_map", "max_flow", "min_cost_flow", "influence",
               "travelling_salesman"}  # fmt: skip
    if picture.__name__ not in crowded:  # names of nodes are where the nodes are
        assert overlaps(axes.get_figure()) == []
    assert dict(matplotlib.rcParams) == before


class Own(foresolve.Problem):
    """A problem of your own."""

    n, exact, linear = 3, True, True

    def objective(self, x: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        return (x * theta).sum(-1)

    def argmax(self, gains: torch.Tensor) -> torch.Tensor:
        return (gains > 0).to(gains)

    def check(self, x: torch.Tensor, tol: float = 1e-6, *, relaxed: bool = False) -> Feasibility:
        return inspect({"upper": x - 1}, tol, x.shape[:-1], lambda kind, index: "")


def test_problems_of_ones_own_are_drawn_as_bars() -> None:
    axes = Own().plot(torch.tensor([1.0, -1.0, 2.0]))
    assert [bar.get_width() for bar in axes.patches] == [1.0, 0.0, 1.0]
    assert labels(axes.get_legend()) == ["decision x", "theta (upper axis)"]
    assert axes.get_title() == "worth 3"
    assert labels(Own().draw(torch.ones(3)).get_legend()) == ["decision x"]


def test_the_callers_axes_are_drawn_on() -> None:
    mine = new_figure(4, 3).subplots()
    assert Own().draw(torch.ones(3), ax=mine) is mine
    assert Own().draw(torch.ones(1, 3), torch.ones(1, 3)).get_title() == "worth 3"


def test_what_may_not_be_is_said() -> None:
    assert Own().draw(torch.tensor([2.0, 0, 0]), torch.ones(3)).get_title() == "worth 2, not feasible"
    assert Own().draw(torch.tensor([2.0, 0, 0])).get_title() == "not feasible"


def test_rounding_in_single_precision_breaks_no_row() -> None:
    problem = foresolve.LinearProgram(A_ub=[[1.0, 0.6, 0.7]], b_ub=[600000.7], bounds=(0, 4e5))
    theta = torch.rand(20, 3, generator=torch.Generator().manual_seed(0))[1]
    x = problem.solve(theta)
    assert not problem.check(x.double())  # by 0.003 of 600,000, the rounding of x
    assert "feasible" not in problem.draw(x, theta).get_title()


@pytest.mark.parametrize(
    ("x", "theta", "about"),
    [
        (torch.ones(2, 3), None, ("x", "problem.draw(x[i], theta[i])")),
        (torch.ones(4), None, ("x", "(4,)")),
        (torch.ones(3), torch.ones(2, 3), ("theta", "(2, 3)")),
        (torch.ones(3), torch.ones(4), ("theta", "(4,)")),
    ],
)
def test_what_cannot_be_drawn_is_refused(x: torch.Tensor, theta: Any, about: tuple[str, ...]) -> None:
    with mistake(*about):
        Own().draw(x, theta)


def test_instances_with_data_of_their_own_are_drawn_one_by_one() -> None:
    problem = foresolve.Knapsack(torch.ones(2, 1, 3), torch.tensor([[1.0], [2.0]]))
    theta = torch.tensor([[3.0, 2.0, 1.0]]).expand(2, 3)
    with mistake("problem", "(2,)"):
        problem.draw(torch.ones(3))
    one = problem.select(torch.tensor([1]))
    assert one.draw(problem.solve(theta)[1], theta[1]).get_title() == "worth 5"


def test_constraints_that_theta_makes_are_those_of_theta() -> None:
    from foresolve.problems import Affine

    problem = problems.LinearProgram(
        A_ub=[[1.0, 1.0]], b_ub=[1.0], bounds=(0, 9)
    ).parametrized(torch.tensor([1.0, 2.0]), b_ub=Affine(torch.ones(1, 1)))  # fmt: skip
    assert problem.plot(torch.tensor([3.0])).get_title() == "worth 6"
    assert problem.draw(torch.tensor([9.0, 0.0]), torch.tensor([3.0])).get_title() == "worth 9, not feasible"
    assert problem.draw(torch.tensor([9.0, 0.0])).get_title() == ""  # who knows


def test_of_many_variables_the_largest_are_shown() -> None:
    problem = problems.LinearProgram(bounds=(0, 1), n=100)
    x = torch.linspace(0, 1, 100)
    axes = problem.draw(x)
    assert len(axes.patches) == 30
    assert axes.get_xlabel() == "x, the 30 largest of 100"
    np.testing.assert_allclose([bar.get_width() for bar in axes.patches], x[70:].numpy(), atol=1e-6)


def test_a_notebook_shows_facts_and_escapes_names() -> None:
    html = foresolve.TopK(3, 1, names=["<b>tea</b>", "milk", "rum"])._repr_html_()
    assert "&lt;b&gt;tea" in html
    assert "<b>tea" not in html
    assert "3 variables" in html
    assert "exactly" in html
    assert "by a heuristic" in foresolve.SubmodularProblem(
        foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(3, 1)
    )._repr_html_()  # fmt: skip


def test_bars_show_coefficients_where_parameters_are_something_else() -> None:
    """As many parameters as variables, and none of them in its place: a load, then a price behind two columns."""
    plain = foresolve.LinearProgram([[1.0, 1.0]], [0.0], bounds=(0, 9), sense="min", names=["buy", "sell"])
    prices = problems.Affine([[0.0, 1.0], [0.0, -1.0]], known=[0.5, 0.0])
    program = plain.parametrized(prices, b_ub=problems.Affine([[1.0, 0.0]]), names=["load", "price"])
    theta = torch.tensor([7.0, 3.0])
    axes = program.draw(program.solve(theta), theta)
    assert labels(axes.get_legend()) == ["decision x", "coefficient (upper axis)"]
    figure = axes.get_figure()
    assert figure is not None
    (upper,) = [other for other in figure.axes if other is not axes]
    marked = np.concatenate([np.asarray(line.get_xdata(), dtype=float) for line in upper.lines])
    offsets = [np.asarray(c.get_offsets())[:, 0] for c in upper.collections]
    assert sorted(np.concatenate([marked, *offsets]).tolist()) == [-3.0, 3.5]

from __future__ import annotations

import pytest
import torch

import foresolve
from foresolve import LinearProgram, QuadraticRelaxation
from foresolve.testing.margins import margin, margins


def double(values: object) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_slack_where_it_is_slack_and_multiplier_where_it_is_tight() -> None:
    """x = clip(theta) in a box [0, 1], with a row |a| = 5 that is slack: the projection is the clipped point."""
    problem = LinearProgram(double([[3.0, 4.0]]), [5.0], bounds=(0, 1))
    theta = double([[0.3, 0.4], [0.5, -0.25], [1.02, 0.1]])  # gamma = 1/2: x is the projection of theta itself
    least = margin(QuadraticRelaxation(0.5), problem, theta)
    assert least is not None
    # inside: 0.3 from x_0 = 0, before 0.5 to the row; at 0 with a multiplier of 0.25; at 1 with one of 0.02
    assert least.tolist() == pytest.approx([0.3, 0.25, 0.02], abs=1e-9)


def test_rows_count_per_unit_of_their_norm() -> None:
    for factor in (1e-4, 1.0, 1e4):
        problem = LinearProgram(double([[3.0 * factor, 4.0 * factor]]), [factor], bounds=(-9, 9))
        tight, slack = double([[3.0, 4.0]]), double([[-0.3, -0.4]])
        layer = QuadraticRelaxation(0.5)
        # |theta - x| = (25 - 1) / 5 on the far side of the row, and (1 + 2.5) / 5 to it
        assert float(margin(layer, problem, tight)) == pytest.approx(4.8, rel=1e-8)  # type: ignore[arg-type]
        assert float(margin(layer, problem, slack)) == pytest.approx(0.7, rel=1e-8)  # type: ignore[arg-type]


def test_empty_rows_and_fixed_variables_make_no_kink() -> None:
    problem = LinearProgram(double([[0.0, 0.0, 0.0]]), [0.0], bounds=([0.5, 0.0, 0.0], [0.5, 1.0, 1.0]))
    assert float(margin(QuadraticRelaxation(0.5), problem, double([[3.0, 0.6, 0.5]]))) == pytest.approx(0.4)  # type: ignore[arg-type]


def test_rows_of_each_instance() -> None:
    problem = LinearProgram(double([[[1.0, 0.0]], [[0.0, 1.0]]]), double([[1.0], [2.0]]), bounds=(-9, 9))
    least = margin(QuadraticRelaxation(0.5), problem, double([[0.25, 0.0], [0.0, 0.5]]))
    assert least is not None
    assert least.tolist() == pytest.approx([0.75, 1.5])


def test_gamma_of_each_instance_and_batches_of_any_shape() -> None:
    problem, theta = foresolve.TopK(4, 2), torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0)).double()
    gamma = torch.rand(2, 3, generator=torch.Generator().manual_seed(1)).double() + 0.1
    solution = QuadraticRelaxation(gamma).solve(theta, problem)
    together = margins(problem, solution, gamma)
    for i, (row, single) in enumerate(zip(theta.reshape(6, 4), gamma.flatten(), strict=True)):
        alone = QuadraticRelaxation(single).solve(row, problem)
        assert float(together[i]) == pytest.approx(float(margins(problem, alone, single)), abs=1e-9)


def test_multipliers_count_in_units_of_the_curvature() -> None:
    """`max theta'x - x'Qx / 2` in a box, `Q` = 4: the optimum is clip(theta / 4), and a multiplier counts per 4."""
    theta = double([[1.0, 5.0]])
    for form in ({"diagonal": [4.0, 4.0]}, {"Q": [[4.0, 0.0], [0.0, 4.0]]}, {"diagonal": [2.0, 2.0]}):
        problem = foresolve.QuadraticProgram(**form, bounds=(0, 1))
        gamma = 0.0 if sum(map(sum, problem.Q.tolist())) == 8 else 1.0
        least = margin(QuadraticRelaxation(gamma), problem, theta)
        assert least is not None
        assert least.tolist() == pytest.approx([0.25])  # x = (0.25, 1): the multiplier of the second is 1


def test_layers_without_duals_have_none() -> None:
    theta = torch.rand(2, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert margin(foresolve.layers.RegularizedFrankWolfe(0.5), foresolve.TopK(4, 2), theta) is None

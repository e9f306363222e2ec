from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

import foresolve
from foresolve import LinearProgram, QuadraticRelaxation
from foresolve.problems import Affine
from foresolve.testing import ConformanceError, check_gradient
from mistakes import mistake
from testing.test_layers import Soft, TenPercentOff, Turned


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def double(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


class Clamped(foresolve.Layer):
    """Each entry of theta, between 0 and 1: a kink for every entry at each end, and a decision of no problem."""

    def forward(self, theta: Tensor, problem: foresolve.Problem) -> Tensor:
        return theta.clamp(0.0, 1.0)


class Rounded(foresolve.Layer):
    """Steps, with the gradient of the identity."""

    def forward(self, theta: Tensor, problem: foresolve.Problem) -> Tensor:
        return theta + ((4 * theta).round() / 4 - theta).detach()


class Jumps(foresolve.Layer):
    """Right beside a step, where no difference settles."""

    def forward(self, theta: Tensor, problem: foresolve.Problem) -> Tensor:
        return theta + (theta > 0.5).to(theta)


@pytest.mark.parametrize("scale", [1e-7, 1.0, 1e7])
@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
def test_sound_gradients(scale: float, batch: tuple[int, ...]) -> None:
    theta = scale * draw(*batch, 6)
    report = check_gradient(QuadraticRelaxation(0.5 * scale), foresolve.TopK(6, 2), theta)
    assert report.error.shape == report.kink.shape == (math.prod(batch),)
    assert float(report.error.max()) <= 1e-8
    assert float(report.doubt.max()) <= 1e-8
    assert float(report.kink.min()) > 0
    assert report.margin is not None
    assert report["gradient for theta"].verdict == "passed"


def test_a_wrong_gradient_is_told_by_how_much_and_where() -> None:
    theta = draw(3, 5)
    report = check_gradient(TenPercentOff, foresolve.TopK(5, 1), theta, raise_errors=False)
    assert not report
    assert report.error.tolist() == pytest.approx([0.1 / 1.1] * 3, rel=1e-6)
    finding = report["gradient for theta"]
    assert finding.measured == pytest.approx(0.1 / 1.1, rel=1e-6)
    assert "15 of 15 slopes are wrong; most at entry [" in finding.detail
    with pytest.raises(ConformanceError) as caught:
        check_gradient(Turned, foresolve.TopK(5, 1), theta)
    assert caught.value.report["gradient for theta"].failed
    assert finding.remedy in str(caught.value)


def test_one_wrong_entry_is_found() -> None:
    class OneEntry(Soft):
        def smoothed(self, gains: Tensor) -> Tensor:
            factor = torch.ones_like(gains)
            factor[..., 3] = 1.05
            moved = gains * factor
            return super().smoothed(gains.detach() + moved - moved.detach())

    report = check_gradient(OneEntry(), foresolve.TopK(40, 1), draw(2, 40), raise_errors=False)
    assert "most at entry [3] of instance" in report["gradient for theta"].detail


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_decision_at_a_kink_is_not_called_wrong(dtype: torch.dtype) -> None:
    theta = torch.tensor([[0.0, 1.0]], dtype=dtype)
    report = check_gradient(Clamped(), foresolve.TopK(2, 1), theta, directions=2)
    finding = report["gradient for theta"]
    assert finding.verdict == "not applicable"
    assert "2 at a kink (instance 0: " in finding.detail
    assert report.kink.tolist() == [0.0]
    assert report["distance to the nearest kink (at a kink)"].measured == 0


def test_a_kink_of_the_relaxation_is_seen_with_margin_zero() -> None:
    """Two of three entries tie exactly where the smaller leaves its bound."""
    problem, layer = LinearProgram(np.ones((1, 2)), [1.0], bounds=(0, 1)), QuadraticRelaxation(0.5)
    report = check_gradient(layer, problem, double(1.0, 0.0).reshape(1, 2), raise_errors=False)
    assert report.margin is not None
    assert float(report.margin) == pytest.approx(0, abs=1e-9)
    assert report.kink.tolist() == [0.0]
    assert not report.failures


@pytest.mark.parametrize("distance", [1e-4, 1e-2, 0.2])
def test_the_distance_to_a_kink_is_that_along_the_directions(distance: float) -> None:
    """With two entries each is moved by itself, and the nearest end is `distance` away."""
    theta = double(0.5, 1 - distance).reshape(1, 2)
    report = check_gradient(Clamped(), foresolve.TopK(2, 1), theta)
    assert float(report.kink) == pytest.approx(distance, rel=1e-6)


def test_a_smooth_layer_has_no_kink() -> None:
    report = check_gradient(Soft(), foresolve.TopK(5, 1), draw(3, 5))
    assert report.kink.tolist() == [math.inf] * 3
    assert report.margin is None


def test_decisions_that_step_have_no_gradient_to_agree_with() -> None:
    with pytest.raises(ConformanceError) as caught:
        check_gradient(Rounded(), foresolve.TopK(3, 1), double(0.2, 0.6, 0.9).reshape(1, 3))
    assert caught.value.report["gradient for theta"].measured == 1.0
    theta = double(0.5 + 1e-13, 0.5 + 1e-13).reshape(1, 2)
    report = check_gradient(Jumps(), foresolve.TopK(2, 1), theta, directions=2, raise_errors=False)
    assert "the differences settle at no step" in report["gradient for theta"].detail
    assert report["gradient for theta"].failed


@pytest.mark.parametrize("others", [0.0, 0.8])
def test_a_decision_of_nothing_has_a_gradient_of_nothing(others: float) -> None:
    """x = 0, a vertex, with the value and every slope 0: no scale to compare with, and nothing wrong."""
    program = LinearProgram(np.ones((1, 3)), [1.0], bounds=(0, 1))
    theta = double(-1.0, -2.0, -3.0, -1.0, -2.0, others or -3.0).reshape(2, 3)
    report = check_gradient(QuadraticRelaxation(0.5), program, theta)
    assert report.error.tolist() == [0.0, 0.0]
    assert report["gradient for theta"].verdict == "passed"


def test_no_gradient_at_all_is_said() -> None:
    class Detached(Soft):
        def smoothed(self, gains: Tensor) -> Tensor:
            return super().smoothed(gains).detach()

    with pytest.raises(ConformanceError) as caught:
        check_gradient(Detached(), foresolve.TopK(3, 1), draw(2, 3))
    finding = caught.value.report["gradient for theta"]
    assert finding.failed
    assert finding.measured is None  # there is no slope to compare


def program(A_ub: Tensor, b_ub: Tensor, A_eq: Tensor, b_eq: Tensor, lower: Tensor, upper: Tensor) -> LinearProgram:
    return LinearProgram(A_ub, b_ub, A_eq, b_eq, bounds=(lower, upper))


def test_gradients_of_predicted_constraints() -> None:
    """All of them at once: matrices, right-hand sides, bounds, each instance by itself."""
    inside = torch.full((5,), 0.4, dtype=torch.float64)
    A_ub, A_eq = draw(2, 5, seed=1), draw(1, 5, seed=2)
    parameters = (A_ub, A_ub @ inside, A_eq, A_eq @ inside, torch.zeros(5).double(), torch.ones(5).double())
    report = check_gradient(QuadraticRelaxation(0.5), program, draw(3, 5), parameters=parameters, tol=1e-6)
    names = [f"gradient for {name}" for name in ("theta", *(f"parameters[{k}]" for k in range(6)))]
    assert [report[name].verdict for name in names] == ["passed"] * 7
    assert float(report.error.max()) <= 1e-7


def test_a_wrong_gradient_of_a_constraint_is_named() -> None:
    def build(budget: Tensor) -> LinearProgram:
        wrong = 2 * budget - budget.detach()  # the same number, with twice the gradient
        return LinearProgram(torch.ones(1, 3), wrong, bounds=(0, 1))

    def forgets(budget: Tensor) -> LinearProgram:
        return LinearProgram(torch.ones(1, 3), [float(budget.detach())], bounds=(0, 1))

    theta, layer, budget = double(0.9, 0.8, 0.7).reshape(1, 3), QuadraticRelaxation(0.5), double(1.5)
    report = check_gradient(layer, build, theta, parameters=(budget,), raise_errors=False)
    assert report["gradient for theta"].verdict == "passed"
    assert report["gradient for parameters[0]"].measured == pytest.approx(0.5, rel=1e-6)
    report = check_gradient(layer, forgets, theta, parameters=(budget,), raise_errors=False)
    assert report["gradient for parameters[0]"].detail == "no gradient reaches parameters[0]"


def test_constraints_of_each_instance() -> None:
    budget = double(1.2, 1.7).reshape(2, 1)
    report = check_gradient(
        QuadraticRelaxation(0.5),
        lambda budget: LinearProgram(torch.ones(1, 3), budget, bounds=(0, 1)),
        double(0.9, 0.8, 0.7).reshape(1, 3) + 0.1 * draw(2, 3),
        parameters=(budget,),
    )
    assert report["gradient for parameters[0]"].verdict == "passed"


def test_probabilities_stay_probabilities() -> None:
    problem = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(4, 2))
    theta = 0.01 + 0.98 * torch.rand(2, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    layer = foresolve.MultilinearRelaxation(gamma=0.5, tol=1e-12)
    assert check_gradient(layer, problem, theta)
    theta[1, 2, 0] = 1.0
    with mistake("theta", "(0, 1)", "instance 1"):
        check_gradient(layer, problem, theta)


def test_what_it_refuses() -> None:
    layer, problem, theta = QuadraticRelaxation(0.5), foresolve.TopK(3, 1), draw(2, 3)
    with mistake("problem", "`parameters`", "TopK"):
        check_gradient(layer, problem, theta, parameters=(double(1.0),))
    with mistake("problem", "`parameters`", "function"):
        check_gradient(layer, lambda: problem, theta)
    with mistake("directions", ">= 1"):
        check_gradient(layer, problem, theta, directions=0)


def test_where_theta_makes_constraints() -> None:
    """Two rows, at most `theta_1` and at least `theta_2`: half of a unit farther out they contradict each other."""
    theta = torch.tensor([[0.2, 0.1, 1.5, 1.2], [2.0, 1.0, 1.5, 1.0]], dtype=torch.float64)
    plain = foresolve.LinearProgram([[1.0, 1.0], [-1.0, -1.0]], [0.0, 0.0], bounds=(0, 3))
    sides = Affine([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, -1.0]])
    problem = plain.parametrized(Affine.block(0, 2, size=4), b_ub=sides)
    report = check_gradient(QuadraticRelaxation(0.5), problem, theta)
    assert report
    # x is (0.65, 0.55) on the lower row, with a multiplier of 0.45; then (1.25, 0.25) on the upper one, with 0.75.
    # |a| = sqrt(2) and h = 1, and the other row is 0.3 / sqrt(2) and 0.5 / sqrt(2) away; so is x from 0, by 0.25
    assert report.margin is not None
    assert report.margin.tolist() == pytest.approx([0.3 / 2**0.5, 0.25], abs=1e-7)

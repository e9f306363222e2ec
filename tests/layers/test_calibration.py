from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import foresolve
from foresolve.layers import (
    CalibratedGamma,
    MultilinearRelaxation,
    QuadraticRelaxation,
    RegularizedFrankWolfe,
    SmoothedLayer,
)
from foresolve.layers.calibration import MOST_INSTANCES, Calibration, Shares, sample
from foresolve.losses import DecisionLoss, FenchelYoung
from foresolve.problems import Affine, Problem
from mistakes import caution, mistake


def uniform(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def mean_share(layer: SmoothedLayer, problem: Problem, theta: Tensor) -> float:
    """From the exact decisions, and the point of smallest norm as the layer's decision where theta hardly counts."""
    worth = lambda x: problem.objective(x, theta)  # noqa: E731
    best, flat = worth(problem.solve(theta)), worth(QuadraticRelaxation(1e7)(theta, problem))
    return float(((worth(layer(theta, problem)) - flat) / (best - flat)).mean())


PROBLEMS: list[Problem] = [
    foresolve.TopK(6, 2),
    foresolve.BipartiteMatching(4, 3),
    foresolve.ShortestPath.grid(3, 4),
    foresolve.LinearProgram(A_ub=[[1.0, 2.0, 3.0]], b_ub=[90.0], bounds=(10.0, 20.0)),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: type(problem).__name__)
@pytest.mark.parametrize("keep", [0.3, 0.9, 0.99])
def test_decisions_keep_the_share_that_was_asked_for(problem: Problem, keep: float) -> None:
    assert problem.n is not None
    theta = uniform(40, problem.n) * 50 + 7
    layer = QuadraticRelaxation()
    known = layer.calibrate(problem, theta, keep)
    assert known is not None
    assert known.kept == pytest.approx((keep, keep), abs=2e-3)
    assert mean_share(layer, problem, theta) == pytest.approx(keep, abs=2e-3)
    assert mean_share(layer.with_gamma(1.02 * known.gamma), problem, theta) < keep  # the largest that does


@settings(max_examples=10)
@given(st.integers(0, 1000), st.floats(0.1, 100.0), st.floats(-50.0, 50.0))
def test_neither_units_nor_an_offset_of_all_values_matter(seed: int, unit: float, offset: float) -> None:
    """An offset of all coefficients moves no decision where as many are always chosen."""
    problem, theta = foresolve.TopK(5, 2), uniform(12, 5, seed=seed)
    first, second = QuadraticRelaxation(), QuadraticRelaxation()
    one, other = first.calibrate(problem, theta, 0.8), second.calibrate(problem, unit * (theta + offset), 0.8)
    assert one is not None
    assert other is not None
    assert other.kept == pytest.approx(one.kept, abs=5e-3)
    assert other.gamma == pytest.approx(unit * one.gamma, rel=5e-2)


def test_two_shares_are_the_ends_of_a_geometric_path() -> None:
    problem, theta = foresolve.TopK(6, 2), uniform(30, 6)
    layer = QuadraticRelaxation(CalibratedGamma(keep=(0.6, 0.97)))
    known = layer.calibrate(problem, theta)
    assert known is not None
    assert known.anneals
    assert known.kept == pytest.approx((0.6, 0.97), abs=2e-3)
    assert known.first > known.gamma > known.last
    assert known.gamma == pytest.approx((known.first * known.last) ** 0.5)
    assert layer.calibrated == known.gamma
    for progress, number in ((0.0, known.first), (0.5, known.gamma), (1.0, known.last)):
        layer.progress = progress
        assert float(layer.smoothing(theta, problem)) == pytest.approx(number)
        torch.testing.assert_close(layer(theta, problem), QuadraticRelaxation(number)(theta, problem))
    doubled = known.times(2.0)
    assert (doubled.first, doubled.last) == (2 * known.first, 2 * known.last)


def test_a_gamma_of_ones_own_is_left_alone() -> None:
    problem, theta = foresolve.TopK(4, 2), uniform(5, 4)
    for gamma in (0.3, torch.tensor(0.3), foresolve.layers.RelativeGamma(0.3)):
        layer = QuadraticRelaxation(gamma)
        assert layer.calibrate(problem, theta) is None
        assert layer.gamma is gamma or layer.gamma == gamma
    layer = QuadraticRelaxation()
    assert layer.calibrate(problem, theta[:0]) is None
    assert layer.calibrate(problem, theta) is not None
    layer.gamma = 0.5
    assert layer.calibration is None
    assert float(layer.smoothing(theta, problem)) == 0.5


def test_a_problem_that_needs_no_smoothing_gets_none() -> None:
    problem = foresolve.problems.QuadraticProgram(diagonal=[1.0, 2.0], A_eq=[[1.0, 1.0]], b_eq=[1.0])
    layer = QuadraticRelaxation()
    assert layer.calibrate(problem, uniform(5, 2)) is None
    assert float(layer.smoothing(uniform(5, 2), problem)) == 0.0


def test_nothing_to_gain() -> None:
    layer = QuadraticRelaxation()
    known = layer.calibrate(foresolve.TopK(3, 1), torch.ones(4, 3))
    assert known is not None
    assert known.kept == (1.0, 1.0)
    assert torch.isfinite(layer(torch.ones(4, 3), foresolve.TopK(3, 1))).all()


def test_shares_of_each_instance() -> None:
    shares = Shares(torch.tensor([0.0, 1.0, 2.0]), torch.tensor([4.0, 1.0, 1.0]))
    assert shares(torch.tensor([1.0, 1.0, 2.0])).tolist() == [0.25, 1.0, 1.0]
    assert shares.mean(torch.tensor([1.0, 1.0, 2.0])) == 0.25  # in the others there is nothing to gain


@pytest.mark.parametrize("keep", [0.5, 0.9])
def test_sets_are_calibrated_on_a_grid(keep: float) -> None:
    data = foresolve.data.facility_location_data(8, sites=6, customers=5, k=2)
    layer = MultilinearRelaxation()
    known = layer.calibrate(data.problem, data.theta, keep)
    assert known is not None
    assert known.kept[0] >= keep
    assert torch.isfinite(layer(data.theta, data.problem)).all()


def test_frank_wolfe_is_calibrated_too() -> None:
    problem, theta = foresolve.TopK(5, 2), uniform(6, 5)
    known, other = (layer.calibrate(problem, theta, 0.8) for layer in (RegularizedFrankWolfe(), QuadraticRelaxation()))
    assert known is not None
    assert other is not None
    assert known.gamma == pytest.approx(other.gamma, rel=1e-2)


def test_a_sample_of_large_data() -> None:
    _, theta = sample(foresolve.TopK(2, 1), torch.arange(400.0).reshape(200, 2))
    assert theta.shape == (MOST_INSTANCES, 2)
    assert theta[0].tolist() == [0.0, 1.0]
    assert theta[-1].tolist() == [398.0, 399.0]
    budgets = foresolve.LinearProgram(A_ub=[[1.0, 2.0, 3.0]], b_ub=1 + uniform(200, 1), bounds=(0, 1))
    chosen, theta = sample(budgets, uniform(200, 3))
    assert chosen.batch_shape == (MOST_INSTANCES,)
    known = QuadraticRelaxation().calibrate(budgets, uniform(200, 3))
    assert known is not None
    assert known.instances == MOST_INSTANCES


def test_losses_calibrate_their_layers_on_training_data_alone() -> None:
    data = foresolve.data.shortest_path_data(60, grid=(3, 3))
    train, valid = data.split(30, 30)
    for loss, keep in (
        (DecisionLoss(QuadraticRelaxation()), (0.85, 0.98)),
        (FenchelYoung(QuadraticRelaxation()), 0.95),
    ):
        assert loss.keep == keep
        loss.prepare(train)
        known = loss.layer.calibration
        assert isinstance(known, Calibration)
        assert known.instances == 30
        loss.prepare(valid, valid=True)
        assert loss.layer.calibration is known
    decisions = foresolve.DecisionDataset(train.features, decisions=train.decisions, problem=train.problem)
    loss = FenchelYoung(QuadraticRelaxation())
    loss.prepare(decisions)
    assert loss.layer.calibration is None  # the model learns the scale


def test_fit_goes_from_smooth_to_sharp() -> None:
    data = foresolve.data.shortest_path_data(80, grid=(3, 3))
    loss = DecisionLoss(QuadraticRelaxation())
    history = foresolve.fit(foresolve.MLP(5, 12, seed=0), loss, data, epochs=5)
    known = loss.layer.calibration
    assert history.gamma == pytest.approx([known.at(epoch / 4) for epoch in range(5)])
    assert loss.layer.calibrated == pytest.approx(known.last)
    history = foresolve.fit(
        foresolve.MLP(5, 12, seed=0), loss, data, epochs=3, anneal=foresolve.schedules.geometric(4, 1)
    )
    assert history.gamma == pytest.approx([4.0, 2.0, 1.0])
    assert loss.layer.gamma == pytest.approx(1.0)


def test_what_smoothing_costs_and_gives() -> None:
    problem, theta = foresolve.TopK(6, 2), uniform(3, 4, 6)
    flat = theta.reshape(-1, 6)
    for layer in (QuadraticRelaxation(0.2), RegularizedFrankWolfe(0.2)):
        solution = layer.solve(theta, problem)
        assert solution.kept.shape == (3, 4)
        assert float(solution.kept.mean()) == pytest.approx(mean_share(layer, problem, flat), abs=1e-4)
        assert solution.passing == pytest.approx(float((solution.free > 0).double().mean()))
    assert 0 < QuadraticRelaxation(0.2).solve(theta, problem).passing <= 1
    sharp = QuadraticRelaxation(1e-6).solve(theta, problem)
    assert sharp.passing == 0.0
    torch.testing.assert_close(sharp.kept, torch.ones(3, 4, dtype=torch.float64))
    data = foresolve.data.facility_location_data(4, sites=6, customers=5, k=2)
    smooth, sharp = (MultilinearRelaxation(gamma).solve(data.theta, data.problem) for gamma in (1e4, 1e-3))
    assert float(smooth.kept.max()) < 0.05
    assert float(sharp.kept.min()) > 0.95
    assert smooth.passing == 1.0


def test_shares_out_of_range_are_refused() -> None:
    for keep in (0.0, 1.0, (0.5, 1.2)):
        with mistake("keep", "(0, 1)"):
            CalibratedGamma(keep=keep)


def test_a_truth_without_decisions_is_an_error_or_said() -> None:
    plant = foresolve.LinearProgram(A_eq=[[1.0, 1.0]], b_eq=[0.0], bounds=(0, 1), sense="min")
    problem = plant.parametrized([1.0, 3.0], b_eq=Affine([[1.0]]))
    theta = torch.tensor([[0.5], [3.0], [1.0]])  # no two units give 3
    data = foresolve.DecisionDataset(torch.zeros(3, 1), theta, problem)
    loss = DecisionLoss(QuadraticRelaxation(), repair=lambda x, problem: x)
    with pytest.raises(foresolve.InfeasibleError):
        loss.prepare(data)
    with caution("CalibratedGamma()", "instance 1"):
        loss.prepare(data, on_failure="skip")
    assert loss.layer.calibration is None

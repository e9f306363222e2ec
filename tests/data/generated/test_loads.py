from __future__ import annotations

import torch

import foresolve
from foresolve.data import load_data
from foresolve.problems import Affine
from mistakes import mistake


def test_the_past_stands_in_the_features() -> None:
    data = load_data(40, seed=3)
    torch.testing.assert_close(data.features[1:, :24], data.theta[:-1])
    torch.testing.assert_close(data.features[7:, 24:48], data.theta[:-7])
    assert torch.equal(data.labels["day"], torch.arange(7, 47))
    assert torch.equal(data.features[:, 72:79].argmax(-1), data.labels["day"] % 7)


def test_loads_have_a_profile_and_grow_with_the_cold() -> None:
    data = load_data(730, seed=0)
    loads = data.theta
    assert loads.min() > 0
    assert loads[:, 18].mean() > 1.3 * loads[:, 3].mean()
    sunday = data.labels["day"] % 7 == 6
    assert loads[sunday].mean() < 0.95 * loads[~sunday].mean()
    cold = data.features[:, 48:72].mean(-1) < 2.0
    mild = (data.features[:, 48:72].mean(-1) - 17.0).abs() < 2.0
    assert loads[cold & ~sunday].mean() > 1.1 * loads[mild & ~sunday].mean()


def test_one_seed_one_data_set() -> None:
    assert torch.equal(load_data(9, seed=5).theta, load_data(9, seed=5).theta)
    assert not torch.equal(load_data(9, seed=5).theta, load_data(9, seed=6).theta)
    assert load_data(9, seed=5).problem.n == 24


def test_a_problem_of_ones_own() -> None:
    plant = foresolve.LinearProgram(A_eq=[[1.0, 1.0]] * 24, b_eq=[0.0] * 24, bounds=(0, 4000), sense="min")
    peak = plant.parametrized([1.0, 3.0], b_eq=Affine([[1.0 / 24] * 24] * 24))
    data = load_data(3, problem=peak)
    torch.testing.assert_close(data.decisions.sum(-1), data.theta.mean(-1), rtol=1e-5, atol=1e-3)


def test_bad_arguments() -> None:
    with mistake("days", ">= 1"):
        load_data(0)
    with mistake("theta", "(*batch, 5)", "(3, 24)"):
        load_data(3, problem=foresolve.TopK(5, 1))

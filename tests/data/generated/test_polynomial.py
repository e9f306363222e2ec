from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from foresolve.data import (
    PolynomialDataset,
    facility_location_data,
    knapsack_data,
    shortest_path_data,
    travelling_salesman_data,
)
from mistakes import mistake

Generator = Callable[..., PolynomialDataset]
GENERATORS: list[Generator] = [shortest_path_data, knapsack_data, travelling_salesman_data]


@pytest.mark.parametrize("make", GENERATORS)
def test_seeds_decide(make: Generator) -> None:
    first, again, different = (make(5, seed=seed) for seed in (0, torch.Generator().manual_seed(0), 1))
    assert torch.equal(first.theta, again.theta)
    assert torch.equal(first.features, again.features)
    assert not torch.equal(first.theta, different.theta)
    assert first.theta.dtype == torch.float32
    assert first.rule.coefficients.shape == (first.theta.shape[1], first.features.shape[1])


@pytest.mark.parametrize("make", GENERATORS)
def test_a_generator_goes_on_where_it_was(make: Generator) -> None:
    source = torch.Generator().manual_seed(0)
    first, second = make(5, seed=source), make(5, seed=source)
    assert torch.equal(first.theta, make(5).theta)
    assert not torch.equal(first.theta, second.theta)


@pytest.mark.parametrize("make", [*GENERATORS, facility_location_data])
def test_the_rule_stays_with_every_part(make: Generator) -> None:
    data = make(6)
    train, test = data.split(4, 2)
    assert train.rule is test.rule is data.with_problem(data.problem).rule is data.rule
    torch.testing.assert_close(train.rule.expected(train.features).shape, train.theta.shape)


@pytest.mark.parametrize("make", GENERATORS)
def test_noise_has_the_stated_width_and_no_bias(make: Generator) -> None:
    data = make(4000, noise=0.3)
    expected = data.rule.expected(data.features)
    base = torch.as_tensor(data.rule.base)
    ratio = ((data.theta - base) / (expected - base))[(expected - base).abs() > 0.05]
    assert 0.69 < ratio.min() < 0.71
    assert 1.29 < ratio.max() < 1.31
    assert ratio.mean().item() == pytest.approx(1.0, abs=0.005)
    exact = make(10, noise=0.0)
    torch.testing.assert_close(exact.theta, exact.rule.expected(exact.features).float(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize(
    ("options", "about"),
    [
        ({"count": 0}, ("count", ">= 1")),
        ({"degree": 0}, ("degree", ">= 1")),
        ({"noise": 1.5}, ("noise", "[0, 1]")),
        ({"features": 0}, ("features", ">= 1")),
        ({"seed": None}, ("seed", ">= 0", "None")),
        ({"coefficients": torch.ones(2, 2)}, ("coefficients", "(2, 2)")),
    ],
)
def test_bad_arguments(make: Generator, options: dict, about: tuple[str, ...]) -> None:
    arguments = {"count": 3} | options
    with mistake(*about):
        make(arguments.pop("count"), **arguments)

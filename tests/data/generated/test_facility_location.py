from __future__ import annotations

import itertools

import pytest
import torch

from foresolve.data import facility_location_data
from mistakes import mistake


def test_formula() -> None:
    data = facility_location_data(4, sites=6, customers=7, features=3, noise=0.0, seed=0)
    b, x = data.rule.coefficients, data.features.double()
    assert set(b.unique().tolist()) == {0.0, 1.0}
    for i, s, c in itertools.product(range(4), range(6), range(7)):
        expected = (((b[c] @ x[i, s]) / 3**0.5 + 3) ** 4 + 1) / 3.5**4
        assert data.theta[i, s, c].item() == pytest.approx(expected.item(), rel=1e-5)


def test_noise_has_the_stated_width_and_no_bias() -> None:
    data = facility_location_data(100, noise=0.3, seed=0)
    ratio = data.theta / data.rule.expected(data.features)
    assert 0.69 < ratio.min() < 0.71
    assert 1.29 < ratio.max() < 1.31
    assert ratio.mean().item() == pytest.approx(1.0, abs=0.002)


def test_seeds_decide_and_rules_go_on() -> None:
    first, again, third = (facility_location_data(5, seed=s) for s in (0, 0, 1))
    assert torch.equal(first.theta, again.theta)
    assert not torch.equal(first.theta, third.theta)
    assert first.theta.dtype == first.features.dtype == torch.float32
    further = facility_location_data(5, seed=7, coefficients=first.rule.coefficients)
    assert torch.equal(further.rule.coefficients, first.rule.coefficients)


def test_features_are_worth_knowing_and_sites_compete() -> None:
    """Deciding by the mean values beats ignorance by far, and the k best sites by themselves are not the best set."""
    data = facility_location_data(40, seed=0)
    problem, theta = data.problem, data.theta

    def value(theta_hat: torch.Tensor) -> float:
        return problem.objective(problem.solve(theta_hat), theta).mean().item()

    best = data.values.mean().item()
    informed = value(data.rule.expected(data.features).float())
    blind = problem.objective(torch.eye(30)[:5].sum(0).expand(40, -1), theta).mean().item()
    alone = torch.zeros(40, 30).scatter(1, theta.sum(-1).topk(5).indices, 1.0)
    assert best > informed > blind + 0.5 * (best - blind)
    assert problem.objective(alone, theta).mean().item() < 0.99 * best


def test_odd_degrees_stay_non_negative() -> None:
    data = facility_location_data(50, degree=1, noise=1.0, seed=0)
    assert data.theta.min() >= 0


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        ({"sites": 0}, ("sites", ">= 1")),
        ({"customers": 0}, ("customers", ">= 1")),
        ({"features": 0}, ("features", ">= 1")),
        ({"k": 31}, ("k", "(30)", "got 31")),
        ({"noise": 2.0}, ("noise", "[0, 1]")),
        ({"coefficients": [[1.0]]}, ("coefficients", "(60, 5)", "(1, 1)")),
    ],
)
def test_bad_arguments(arguments: dict[str, object], about: tuple[str, ...]) -> None:
    with mistake(*about):
        facility_location_data(2, **arguments)  # type: ignore[arg-type]

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from foresolve.data import DecisionDataset, movie_data
from foresolve.models import most_rated
from foresolve.problems import SubmodularProblem
from foresolve.sets import ProbabilisticCoverage, UniformMatroid
from mistakes import mistake


@pytest.fixture(scope="module")
def movies() -> DecisionDataset:
    return movie_data(60, seed=0)


def ridge(inputs: Tensor, outputs: Tensor, penalty: float) -> Tensor:
    """Weights of a linear model."""
    gram = inputs.T @ inputs + penalty * torch.eye(inputs.shape[1])
    return torch.linalg.solve(gram, inputs.T @ outputs)


def test_figures_are_like_those_of_the_data(movies: DecisionDataset) -> None:
    """Random choice, greedy on the truth and the most rated; four standard errors of 60 instances are about 6 %."""
    theta = movies.theta
    assert theta.sum(-1).mean().item() == pytest.approx(1.65, abs=0.1)
    assert (theta.sum(-1) == 0).float().mean().item() == pytest.approx(0.37, abs=0.07)
    assert (movies.features > 0).sum(-1).float().mean().item() == pytest.approx(84.6, rel=0.15)
    for k, random, best, rated in ((5, 8.3, 35.0, 16.8), (10, 16.2, 57.7, 31.1), (20, 31.9, 89.7, 52.6)):
        problem = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(100, k))
        draws = torch.stack([theta.roll(shift, 1)[:, :k].amax(1).sum(-1).mean() for shift in range(0, 100, k)])
        assert draws.mean().item() == pytest.approx(random, rel=0.06)
        value = problem.objective(problem.solve(theta), theta).mean().item()
        assert value == pytest.approx(best, rel=0.08)
        heuristic = problem.objective(problem.solve(most_rated(movies.features)), theta).mean().item()
        assert heuristic == pytest.approx(rated, rel=0.1)


def test_ratings_look_like_ratings(movies: DecisionDataset) -> None:
    ratings = movies.features[movies.features > 0]
    assert set((2 * ratings).unique().tolist()) <= set(range(1, 11))
    assert ratings.mean().item() == pytest.approx(3.5, abs=0.15)
    counts = (movies.features > 0).sum(-1).flatten().double()
    assert counts.quantile(0.95) > 10 * counts.median()
    assert set(movies.theta.unique().tolist()) == {0.0, 1.0}


def test_who_rated_says_more_than_how_many(movies: DecisionDataset) -> None:
    """A linear model of the ratings foretells stars better than popularity does, on instances it has not seen."""
    rated = (movies.features > 0).float()
    popularity = torch.log1p(rated.sum(-1, keepdim=True))
    known = torch.cat([popularity, popularity**2, torch.ones_like(popularity)], -1)
    groups = torch.cat([rated, known], -1)
    stars = movies.theta.sum(-1)

    def explained(inputs: Tensor, penalty: float) -> float:
        weights = ridge(inputs[:48].flatten(0, 1), stars[:48].flatten(), penalty)
        guess = (inputs[48:] @ weights).flatten()
        return torch.corrcoef(torch.stack([guess, stars[48:].flatten()]))[0, 1].item() ** 2

    assert 0.05 < explained(known, 1.0) < 0.2
    assert explained(groups, 1000.0) > explained(known, 1.0) + 0.05


def test_the_seed_decides_and_global_state_is_left_alone() -> None:
    before = torch.get_rng_state()
    first, again, third = (movie_data(2, size=20, topics=30, users=50, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first.features, again.features)
    assert torch.equal(first.theta, again.theta)
    assert not torch.equal(first.theta, third.theta)
    assert torch.equal(before, torch.get_rng_state())


def test_small_sizes_still_have_ratings_and_stars() -> None:
    data = movie_data(40, size=30, topics=60, users=200, seed=0)
    assert data.features.shape == (40, 30, 200)
    assert data.theta.sum(-1).mean().item() == pytest.approx(1.65, rel=0.15)
    assert (data.features > 0).sum(-1).float().median() >= 3
    tiny = movie_data(1, size=1, topics=1, users=1, k=1, seed=0)
    assert tiny.theta.shape == (1, 1, 1)


@pytest.mark.parametrize("name", ["count", "size", "topics", "users"])
def test_sizes_are_positive(name: str) -> None:
    sizes = {"count": 1, "size": 2, "topics": 3, "users": 4, "k": 1} | {name: 0}
    count = sizes.pop("count")
    with mistake(name, ">= 1"):
        movie_data(count, **sizes, seed=0)


def test_bad_seeds() -> None:
    with mistake("seed", ">= 0", "0.5"):
        movie_data(1, seed=0.5)  # type: ignore[arg-type]

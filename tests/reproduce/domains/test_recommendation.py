from __future__ import annotations

import pytest
import torch

from foresolve.report.records import Config
from foresolve.reproduce import InstanceCache, RuleMethod, plan
from foresolve.reproduce.domains import recommendation
from reproduce import tiny
from reproduce.values import DATA, assert_largest_are_chosen, by_chance, by_rule, real


def test_sizes_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    generate = recommendation.movie_data
    monkeypatch.setattr(recommendation, "movie_data", lambda count, **sizes: (count, generate(2, **sizes)))
    count, data = recommendation.data(plan("recommendation"))  # type: ignore[misc]
    assert (count, data.features.shape[1:], data.theta.shape[1:]) == (101, (100, 2113), (100, 500))


@pytest.mark.parametrize("k", [2, 5])
def test_the_most_rated_movies_are_chosen(k: int) -> None:
    data = tiny.data("recommendation")
    rule = recommendation.methods(Config("recommendation", ks=(k,)))["Most rated"]
    assert isinstance(rule, RuleMethod)
    problem = tiny.problem("recommendation", k)
    assert_largest_are_chosen((data.features > 0).sum(-1), rule.model(data)(data.features), problem)


@pytest.mark.slow
@real("hetrec2011-movielens-2k/movie_actors.dat")
def test_the_published_movies() -> None:
    config, cache = plan("recommendation", data=DATA), InstanceCache()
    assert set(config.files) == {"user_ratedmovies.dat", "movie_actors.dat"}
    assert config.share == pytest.approx(375_088 / 855_598)
    budgets = [cache.data(config, k) for k in config.ks]
    assert budgets[0].theta.shape == (101, 100, 500)
    domain = recommendation.DOMAIN
    values = {
        "best": [data.values.mean().item() for data in budgets],
        "most rated": [by_rule(domain, data, config, "Most rated") for data in budgets],
        "random": [by_chance(domain, data) for data in budgets],
    }
    expected = {"best": [35.0, 58.0, 90.0], "most rated": [17.2, 31.4, 53.1], "random": [8.2, 16.2, 32.1]}
    for name, points in expected.items():
        torch.testing.assert_close(
            torch.tensor(values[name]), torch.tensor(points), rtol=0.06, atol=0, msg=f"{name}: {values[name]}"
        )

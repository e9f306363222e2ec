from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from foresolve.problems import TopK
from foresolve.report.records import Config, Protocol
from foresolve.reproduce import best_for_noise
from foresolve.reproduce.domains import budget, matching, recommendation
from foresolve.reproduce.domains.registry import find_domain


def test_decisions_by_chance_are_feasible_and_differ() -> None:
    problem = TopK(8, 3)
    x = best_for_noise(problem, 2000, torch.Generator().manual_seed(0))
    assert problem.check(x).feasible.all()
    assert (x.mean(0) - 3 / 8).abs().max().item() < 0.04


@pytest.mark.parametrize("protocol", ["exact", "paper"])
def test_stories_have_the_sizes_of_the_run(protocol: Protocol) -> None:
    for domain, size in ((budget, "50 channels and 200 customers"), (matching, "30 papers on each of two sides"),
                         (recommendation, "50 movies, 100 actors")):  # fmt: skip
        config = Config(domain.INFO.name, protocol, quick=True)
        quick = " ".join(domain.DOMAIN.told(config).story)
        data = domain.data(config)
        assert f"{len(data)} instances" in quick
        assert size in quick
        assert all(str(side) in quick for side in data.theta.shape[1:] if domain is not matching)
        assert "generated" in quick
        assert "MovieLens" not in quick
        full = replace(config, quick=False)
        assert size not in " ".join(domain.DOMAIN.told(full).story)
        assert "are generated" not in domain.DOMAIN.told(replace(full, data="somewhere")).story[0]


def test_what_is_said_of_a_domain_is_its_own_where_it_has_no_story() -> None:
    domain = find_domain("knapsack")
    assert domain.told(Config("knapsack")) is domain.info


def test_a_data_set_may_be_given_by_its_own_folder(tmp_path: Path) -> None:
    for folder, names, domain in (
        ("cora", ("cora.content", "cora.cites"), matching),
        ("hetrec2011-movielens-2k", ("user_ratedmovies.dat", "movie_actors.dat"), recommendation),
        ("edges", ("edges.txt",), budget),
    ):
        place = tmp_path / folder
        place.mkdir()
        for name in names:
            (place / name).touch()
        assert domain.files(tmp_path) == domain.files(place) == [place / name for name in names]

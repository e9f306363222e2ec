from __future__ import annotations

from pathlib import Path

import torch

from foresolve.problems.top_k import TopK
from foresolve.reproduce.domains import budget, matching, recommendation
from foresolve.reproduce.domains.domain import best_for_noise


def test_decisions_by_chance_are_feasible_and_differ() -> None:
    problem = TopK(8, 3)
    x = best_for_noise(problem, 2000, torch.Generator().manual_seed(0))
    assert problem.check(x).feasible.all()
    assert (x.mean(0) - 3 / 8).abs().max().item() < 0.04


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

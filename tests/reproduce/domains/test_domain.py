from __future__ import annotations

from pathlib import Path

import pytest
import torch

from foresolve.errors import InvalidInputError
from foresolve.problems.top_k import TopK
from foresolve.reproduce.domains import budget, matching, recommendation
from foresolve.reproduce.domains.domain import best_for_noise, find_files


def test_decisions_by_chance_are_feasible_and_differ() -> None:
    problem = TopK(8, 3)
    x = best_for_noise(problem, 2000, torch.Generator().manual_seed(0))
    assert problem.check(x).feasible.all()
    assert (x.mean(0) - 3 / 8).abs().max().item() < 0.04


def test_files_are_looked_for_in_the_folder_and_in_those_it_has(tmp_path: Path) -> None:
    inner = tmp_path / "b"
    inner.mkdir()
    (tmp_path / "x.dat").touch()
    assert find_files(tmp_path, ("a", "b"), ("y.dat", "x.*")) == [tmp_path / "x.dat"]
    (inner / "x.txt").touch()
    assert find_files(tmp_path, ("a", "b"), ("y.dat", "x.*")) == [inner / "x.txt"]
    (inner / "y.dat").mkdir()  # no file
    assert find_files(tmp_path, ("a", "b"), ("y.dat", "x.*")) == [inner / "x.txt"]
    with pytest.raises(InvalidInputError, match=r"`data` must be a folder with z\.dat, in it or in a or b; got"):
        find_files(tmp_path, ("a", "b"), ("z.dat",))


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

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from foresolve.data import MovieTable, load_movielens, movielens_data
from foresolve.data.real.movielens import frequent_actors
from foresolve.models import most_rated
from foresolve.problems import SubmodularProblem
from foresolve.sets import ProbabilisticCoverage, UniformMatroid
from mistakes import mistake

DATA = Path(os.environ.get("FORESOLVE_DATA", "")) / "hetrec2011-movielens-2k"
RATINGS = "userID\tmovieID\trating\n75\t3\t1\n75\t32\t4.5\n9\t3\t5\n"
ACTORS = "movieID\tactorID\n3\tzoe\n3\tann\n10\tann\n32\tann\n10\tbob\n"


def write(folder: Path, ratings: str = RATINGS, actors: str = ACTORS, movies: str | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "user_ratedmovies.dat").write_bytes(ratings.encode("latin-1"))
    (folder / "movie_actors.dat").write_bytes(actors.encode("latin-1"))
    if movies is not None:
        (folder / "movies.dat").write_bytes(movies.encode("latin-1"))
    return folder


def covered(theta: Tensor, chosen: Tensor) -> float:
    """Mean number of topics that the movies `chosen` `(N, k)` bring."""
    rows = theta.gather(1, chosen[..., None].expand(-1, -1, theta.shape[-1]))
    return rows.amax(1).sum(-1).mean().item()


def same(a: MovieTable, b: MovieTable) -> bool:
    equal = (a.ratings != b.ratings).nnz == 0 and (a.actors != b.actors).nnz == 0
    return equal and (a.movies, a.users, a.actor_names) == (b.movies, b.users, b.actor_names)


def test_rows_are_movies_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    table = load_movielens(write(tmp_path))
    assert table.movies == ("3", "10", "32")
    assert table.users == ("9", "75")
    assert table.actor_names == ("ann", "bob", "zoe")
    np.testing.assert_array_equal(table.ratings.toarray(), [[5.0, 1.0], [0.0, 0.0], [0.0, 4.5]])
    np.testing.assert_array_equal(table.actors.toarray(), [[1, 0, 1], [1, 1, 0], [1, 0, 0]])
    assert repr(table) == "MovieTable(3 movies, 3 ratings by 2 users, 3 actors)"


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    """The publisher's files have more columns, Windows line ends and letters beyond ASCII."""
    plain = load_movielens(write(tmp_path / "plain"))
    ratings = "date_day\trating\tmovieID\tuserID\r\n29\t1\t3\t75\r\n1\t4.5\t32\t75\r\n7\t5.0\t3\t9\r\n"
    actors = "movieID\tactorID\tactorName\tranking\n" + "".join(
        f'{line}\tPen\u00e9lope \x85 "Cruz\t7\n' for line in ACTORS.splitlines()[1:]
    )
    write(tmp_path / "data" / "hetrec2011-movielens-2k", ratings, actors)
    assert same(load_movielens(tmp_path / "data"), plain)


def test_movies_dat_adds_movies_without_ratings_and_actors(tmp_path: Path) -> None:
    table = load_movielens(write(tmp_path, movies="id\ttitle\n3\tA\n5\tB\n10\tC\n32\tD\n"))
    assert table.movies == ("3", "5", "10", "32")
    assert table.ratings[[1]].nnz == table.actors[[1]].nnz == 0


def test_repeated_rows(tmp_path: Path) -> None:
    """The last rating counts; an actor is in a movie once."""
    table = load_movielens(write(tmp_path, RATINGS + "75\t3\t2\n", ACTORS + "3\tann\n"))
    assert table.ratings.toarray()[0].tolist() == [5.0, 2.0]
    assert table.actors.toarray().max() == 1


@pytest.mark.parametrize(
    ("ratings", "actors", "facts"),
    [
        ("userID\tmovie\trating\n1\t2\t3\n", ACTORS, ("user_ratedmovies.dat", "movieID", "'movie'")),
        (RATINGS + "7\t3\n", ACTORS, ("user_ratedmovies.dat", "line 5", r"'7\t3'")),
        (RATINGS + "7\t3\tgood\n", ACTORS, ("line 5", "'good'")),
        (RATINGS + "7\t3\t0\n", ACTORS, ("line 5", "'0'")),
        (RATINGS + "7\t3\tnan\n", ACTORS, ("line 5", "'nan'")),
        (RATINGS, ACTORS + "\n3\tann\n", ("movie_actors.dat", "line 7")),
        (RATINGS, ACTORS + "3\t \n", ("movie_actors.dat", "line 7")),
        (RATINGS, "movieID\tactorID\n\n", ("movie_actors.dat", "one row")),
        (RATINGS, "", ("movie_actors.dat", "movieID, actorID")),
    ],
)
def test_bad_files_are_named_with_the_line(tmp_path: Path, ratings: str, actors: str, facts: tuple[str, ...]) -> None:
    with mistake(None, *facts):
        load_movielens(write(tmp_path, ratings, actors))


def test_missing_files_are_named(tmp_path: Path) -> None:
    with mistake("folder", "nowhere"):
        load_movielens(tmp_path / "nowhere")
    write(tmp_path)
    (tmp_path / "movie_actors.dat").unlink()
    with mistake("folder", "movie_actors.dat", "`foresolve data fetch movielens`"):
        load_movielens(tmp_path)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> MovieTable:
    """43 movies, 11 users, 9 actors; actor a has every movie whose number it divides."""
    ratings = "".join(f"{u}\t{m}\t{0.5 * (1 + (u + m) % 10)}\n" for m in range(43) for u in range(11) if u * m % 4 < 2)
    actors = "".join(f"{m}\ta{a}\n" for m in range(43) for a in range(1, 10) if m % a == 0)
    folder = tmp_path_factory.mktemp("movies")
    return load_movielens(write(folder, "userID\tmovieID\trating\n" + ratings, "movieID\tactorID\n" + actors))


def test_instances_are_rows_of_the_table(small: MovieTable) -> None:
    data = movielens_data(small, count=4, size=10, topics=5, seed=3)
    assert data.features.shape == (4, 10, 11)
    assert data.theta.shape == (4, 10, 5)
    assert data.features.dtype == data.theta.dtype == torch.float32
    assert len(data.labels["movies"].unique()) == 40
    topics = [small.actor_names.index(f"a{a}") for a in range(1, 6)]
    for i, j in ((0, 0), (3, 9), (1, 4)):
        movie = int(data.labels["movies"][i, j])
        np.testing.assert_array_equal(data.features[i, j], small.ratings[[movie]].toarray()[0])
        np.testing.assert_array_equal(data.theta[i, j], small.actors[[movie]].toarray()[0, topics])


def test_topics_are_the_actors_with_the_most_movies(small: MovieTable) -> None:
    """a7, a8 and a9 have 7, 6 and 5 movies; of equals the first by name comes first."""
    assert [small.actor_names[a] for a in frequent_actors(small, 9)] == [f"a{a}" for a in range(1, 10)]
    tied = MovieTable(small.ratings, small.actors.minimum(0), small.movies, small.users, small.actor_names)
    assert frequent_actors(tied, 3).tolist() == [0, 1, 2]


def test_as_many_instances_as_fit_and_the_seed_decides(small: MovieTable) -> None:
    first, again, different = (movielens_data(small, size=10, topics=5, seed=seed) for seed in (0, 0, 1))
    assert first.labels["movies"].shape == (4, 10)
    assert torch.equal(first.labels["movies"], again.labels["movies"])
    assert torch.equal(first.theta, again.theta)
    assert not torch.equal(first.labels["movies"], different.labels["movies"])


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        ({"size": 44}, ("size", "(43)")),
        ({"size": 10, "topics": 10}, ("topics", "(9)")),
        ({"size": 10, "topics": 3, "count": 0}, ("count", ">= 1")),
    ],
)
def test_bad_sizes(small: MovieTable, arguments: dict[str, int], about: tuple[str, ...]) -> None:
    with mistake(*about):
        movielens_data(small, **arguments)


@pytest.mark.parametrize("k", [1, 3, 7])
def test_the_most_rated_movies_are_chosen(small: MovieTable, k: int) -> None:
    data = movielens_data(small, size=10, topics=5, k=k)
    counts = (data.features > 0).sum(-1)
    assert data.problem.n == 10
    chosen = data.problem.solve(most_rated(data.features, topics=5))
    assert chosen.sum(-1).tolist() == [k] * 4
    torch.testing.assert_close((chosen * counts).sum(-1), counts.topk(k).values.sum(-1).float())


@pytest.mark.skipif(not (DATA / "movie_actors.dat").is_file(), reason="needs the real data: FORESOLVE_DATA")
def test_reference_points_of_the_real_data() -> None:
    table = load_movielens(DATA.parent)
    assert len(table.users) == 2113
    assert len(table.actor_names) == 95321
    assert table.actors.nnz == 231742
    assert ((table.actors.sum(1) > 0).sum()) == 10174
    everything = movielens_data(table)
    assert everything.features.shape == (101, 100, 2113)
    assert everything.theta.shape == (101, 100, 500)
    assert everything.theta.sum(-1).mean().item() == pytest.approx(1.65, abs=0.02)
    order = torch.rand(101, 100, generator=torch.Generator().manual_seed(0)).argsort(1)
    for k, random, best, rated in ((5, 8.2, 35.0, 17.2), (10, 16.2, 58.0, 31.4), (20, 32.1, 90.0, 53.1)):
        draws = [covered(everything.theta, order.roll(shift, 1)[:, :k]) for shift in range(0, 100, k)]
        assert np.mean(draws) == pytest.approx(random, rel=0.02)
        data = everything.with_problem(SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(100, k)))
        assert data.values.mean().item() == pytest.approx(best, rel=0.02)
        heuristic = data.problem.objective(data.problem.solve(most_rated(everything.features)), everything.theta)
        assert heuristic.mean().item() == pytest.approx(rated, rel=0.05)


def test_a_generator_will_do_for_a_seed(tmp_path: Path) -> None:
    ratings = "userID\tmovieID\trating\n" + "".join(f"1\t{i}\t3\n" for i in range(40))
    (tmp_path / "user_ratedmovies.dat").write_text(ratings)
    (tmp_path / "movie_actors.dat").write_text("movieID\tactorID\n3\tann\n")
    table = load_movielens(tmp_path)
    draw = torch.Generator().manual_seed(5)
    first, second = (movielens_data(table, 1, size=20, topics=1, seed=draw).labels["movies"] for _ in range(2))
    assert torch.equal(first, movielens_data(table, 1, size=20, topics=1, seed=5).labels["movies"])
    assert not torch.equal(first, second)

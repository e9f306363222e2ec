"""Diverse recommendation: movies, the actors they bring, and the users who rated them (MovieLens, HetRec 2011).

The third domain of Wilder, Dilkina and Tambe (AAAI 2019). Topics are the actors with the most movies, `theta_ij` is 1
where actor `j` plays in movie `i`, a movie's features are its ratings. The task is to predict who plays in which movie
and to choose `k` movies that bring the most different actors.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch

from foresolve._base import checks, reading
from foresolve._base.randomness import Seed, as_generator
from foresolve.data.dataset import DecisionDataset
from foresolve.data.real.registry import locate
from foresolve.errors import InvalidInputError
from foresolve.problems.submodular import SubmodularProblem
from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.matroids.laminar import UniformMatroid


@dataclass(frozen=True)
class MovieTable:
    """The contents of the files, with a row for each movie.

    Attributes
    ----------
    ratings: `(movies, users)` sparse, float32: 0.5 to 5 where a user rated a movie.
    actors: `(movies, actors)` sparse, 1 where an actor plays in a movie.
    movies, users, actor_names: the labels in the files, in the order of rows and columns: by number where all are
        numbers, else by letter.
    """

    ratings: sp.csr_array
    actors: sp.csr_array
    movies: tuple[str, ...]
    users: tuple[str, ...]
    actor_names: tuple[str, ...]

    def __repr__(self) -> str:
        counts = f"{self.ratings.nnz} ratings by {len(self.users)} users, {len(self.actor_names)} actors"
        return f"{type(self).__name__}({len(self.movies)} movies, {counts})"


def load_movielens(folder: str | Path) -> MovieTable:
    """The published files of HetRec 2011, or files of the same form.

    Parameters
    ----------
    folder: holds `user_ratedmovies.dat` (columns userID, movieID, rating) and `movie_actors.dat` (movieID, actorID), or
        has a subfolder `hetrec2011-movielens-2k` that does. Tab-separated, latin-1; columns are found by the names in
        the first line, further ones are passed over. The movies are those that are rated, have an actor, or stand in
        `movies.dat` (column id) where that is there too: 10,197 as published. A movie that a user rated twice keeps the
        last rating.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "user_ratedmovies.dat").write_text("userID\\tmovieID\\trating\\n75\\t3\\t1\\n7\\t4\\t5\\n")
    ...     _ = Path(folder, "movie_actors.dat").write_text("movieID\\tactorID\\n3\\tann\\n5\\tann\\n")
    ...     load_movielens(folder)
    MovieTable(3 movies, 2 ratings by 2 users, 1 actors)
    """
    ratings_file, actors_file, *movies_file = locate("movielens", folder)
    user, rated, rating = _columns(ratings_file, ("userID", "movieID", "rating"))
    played, actor = _columns(actors_file, ("movieID", "actorID"))
    further = _columns(movies_file[0], ("id",))[0] if movies_file else []
    movies, users, actors = _positions([*rated, *played, *further]), _positions(user), _positions(actor)
    ratings = _matrix((rated, movies), (user, users), _numbers(ratings_file, rating))
    plays = _matrix((played, movies), (actor, actors), np.ones(len(actor), dtype=np.float32))
    return MovieTable(ratings, plays, tuple(movies), tuple(users), tuple(actors))


def movielens_data(
    table: MovieTable | str | Path, count: int = 101, *, size: int = 100, topics: int = 500, k: int = 10, seed: Seed = 0
) -> DecisionDataset:
    """Choose `k` movies that bring the most actors: instances of different movies, drawn at random.

    Movies that do not fill an instance are left out.

    Parameters
    ----------
    table: of movies, or the folder that `load_movielens` reads one from.
    count: how many instances; fewer where the table has fewer than `count * size` movies.
    size: movies in an instance.
    topics: the actors with the most movies in the table; among equals, the first by name.
    k: how many movies are chosen; `data.with_problem(problem)` for others.
    seed: decides which movies come together, and which are left out.

    Returns
    -------
    A data set with features `(count, size, users)`, ratings and 0 where there is none, and theta
    `(count, size, topics)`, 1 where an actor plays in a movie, both float32; `data.labels["movies"]` `(count, size)`
    are the rows of the table, and no movie occurs twice.
    """
    for name, value in (("count", count), ("size", size), ("topics", topics)):
        checks.positive_int(name, value)
    generator = as_generator("seed", seed, cpu=True)
    table = table if isinstance(table, MovieTable) else load_movielens(table)
    movies, actors = len(table.movies), len(table.actor_names)
    if size > movies:
        raise checks.fail("size", f"at most the number of movies ({movies})", str(size))
    if topics > actors:
        raise checks.fail("topics", f"at most the number of actors ({actors})", str(topics))
    count = min(count, movies // size)
    order = torch.randperm(movies, generator=generator)[: count * size]
    frequent = table.actors[:, frequent_actors(table, topics)]
    features, theta = (
        torch.from_numpy(part[order.numpy()].toarray().astype(np.float32)).reshape(count, size, -1)
        for part in (table.ratings, frequent)
    )
    problem = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(size, k))
    return DecisionDataset(features, theta, problem, labels={"movies": order.reshape(count, size)})


def frequent_actors(table: MovieTable, count: int) -> np.ndarray:
    """Columns of the `count` actors with the most movies, most first; among equals, the first by name."""
    played = np.asarray(table.actors.sum(0)).ravel()
    return np.argsort(-played, kind="stable")[:count]


def _columns(path: Path, names: tuple[str, ...]) -> list[list[str]]:
    """Some columns of a tab-separated file by the names in its first line."""
    # Not `splitlines`: to it some latin-1 letters, and the separators of other alphabets, end a line.
    header, *lines = reading.read_text(path, encoding="latin-1").replace("\r\n", "\n").split("\n")
    titles = [title.strip() for title in header.split("\t")]
    missing = [name for name in names if name not in titles]
    if missing:
        got = f"a first line with {', '.join(map(repr, titles[:10]))}"
        raise InvalidInputError(f"{path} must have the columns {', '.join(names)} (tab-separated); got {got}")
    places = [titles.index(name) for name in names]
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise InvalidInputError(f"{path} must have at least one row below its first line; got none")
    rows = [line.split("\t") for line in lines]
    try:
        columns = [[row[place].strip() for row in rows] for place in places]
    except IndexError:
        columns = []
    if not columns or not all(map(all, columns)):
        number = next(
            i for i, row in enumerate(rows) if len(row) <= max(places) or not all(row[p].strip() for p in places)
        )
        expected = f"{', '.join(names)} in every row"
        raise InvalidInputError(f"{path} must have {expected}; line {number + 2} is {lines[number][:60]!r}")
    return columns


def _numbers(path: Path, column: list[str]) -> np.ndarray:
    """Ratings; those that are not above zero would look like missing ones."""
    try:
        values = np.array(list(map(float, column)), dtype=np.float32)
        sound = bool(((values > 0) & np.isfinite(values)).all())
    except ValueError:
        values, sound = np.empty(0, dtype=np.float32), False
    if not sound:
        number, field = next((i, field) for i, field in enumerate(column) if not _is_rating(field))
        raise InvalidInputError(f"{path} must have ratings above 0; line {number + 2} has {field!r}")
    return values


def _is_rating(field: str) -> bool:
    try:
        return 0 < float(field) < float("inf")
    except ValueError:
        return False


def _positions(labels: Iterable[str]) -> dict[str, int]:
    """Each label once, with its place: by number where all are numbers, else by letter."""
    distinct = set(labels)
    numeric = all(label.isdecimal() for label in distinct)
    return {label: i for i, label in enumerate(sorted(distinct, key=(lambda s: (int(s), s)) if numeric else str))}


def _matrix(
    rows: tuple[list[str], dict[str, int]], columns: tuple[list[str], dict[str, int]], values: np.ndarray
) -> sp.csr_array:
    """Labels with their places, and values, as a sparse matrix; of several values for one entry the last stays."""
    i, j = (np.array([places[label] for label in labels], dtype=np.int64) for labels, places in (rows, columns))
    shape = (len(rows[1]), len(columns[1]))
    entries, last = np.unique((i * shape[1] + j)[::-1], return_index=True)
    return sp.csr_array((values[::-1][last], (entries // shape[1], entries % shape[1])), shape=shape)

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
from torch import Tensor

from foresolve._base import checks
from foresolve._base.randomness import Seed, as_generator
from foresolve.data.dataset import DecisionDataset
from foresolve.data.real.registry import locate
from foresolve.errors import InvalidInputError
from foresolve.problems.submodular import SubmodularProblem
from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.matroids.laminar import UniformMatroid


@dataclass(frozen=True)
class MovieTable:
    """What the files say, with a row for each movie.

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


@dataclass(frozen=True)
class MovieInstances:
    """Instances of the domain.

    Attributes
    ----------
    features: `(N, size, users)`, float32: a movie's ratings, 0 where there is none.
    theta: `(N, size, topics)`, float32, 0 or 1.
    movies: `(N, size)`, the rows of the table that they are; no movie occurs twice.
    """

    features: Tensor
    theta: Tensor
    movies: Tensor

    def dataset(self, k: int) -> DecisionDataset:
        """A data set for the choice of `k` movies that bring the most topics."""
        problem = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(self.theta.shape[1], k))
        return DecisionDataset(self.features, self.theta, problem)


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


def movie_instances(
    table: MovieTable, *, instances: int = 101, size: int = 100, topics: int = 500, seed: Seed = 0
) -> MovieInstances:
    """Instances of different movies, drawn at random; movies that do not fill an instance are left out.

    Parameters
    ----------
    instances: how many; fewer where the table has fewer than `instances * size` movies.
    size: movies in an instance.
    topics: the actors with the most movies in the table; among equals, the first by name.
    seed: an integer or a generator, decides which movies come together, and which are left out.
    """
    for name, value in (("instances", instances), ("size", size), ("topics", topics)):
        checks.positive_int(name, value)
    movies, actors = len(table.movies), len(table.actor_names)
    if size > movies:
        raise checks.fail("size", f"at most the number of movies ({movies})", str(size))
    if topics > actors:
        raise checks.fail("topics", f"at most the number of actors ({actors})", str(topics))
    count = min(instances, movies // size)
    order = torch.randperm(movies, generator=as_generator("seed", seed, cpu=True))[: count * size]
    chosen = table.actors[:, frequent_actors(table, topics)]
    features, theta = (
        torch.from_numpy(part[order.numpy()].toarray().astype(np.float32)).reshape(count, size, -1)
        for part in (table.ratings, chosen)
    )
    return MovieInstances(features, theta, order.reshape(count, size))


def frequent_actors(table: MovieTable, count: int) -> np.ndarray:
    """Columns of the `count` actors with the most movies, most first; among equals, the first by name."""
    played = np.asarray(table.actors.sum(0)).ravel()
    return np.argsort(-played, kind="stable")[:count]


def most_rated(features: Tensor, topics: int = 500) -> Tensor:
    """A prediction without learning: greedy on it chooses the movies with the most ratings.

    Every topic of a movie gets the share of users who rated it, divided by the number of movies. All columns being
    equal, the gain of a movie is that number times what is left uncovered, a factor which all movies have in common and
    which the division keeps away from zero: greedy goes through the movies from the most rated to the least, for every
    `k`, and takes the first among equals.

    Shapes
    ------
    `features` `(*batch, movies, users)` of ratings, 0 where there is none; the result is `(*batch, movies, topics)`.

    Examples
    --------
    >>> import torch
    >>> most_rated(torch.tensor([[0.0, 3.5], [4.0, 5.0]]), topics=3)
    tensor([[0.2500, 0.2500, 0.2500],
            [0.5000, 0.5000, 0.5000]])
    """
    if features.ndim < 2:
        raise checks.fail("features", "(*batch, movies, users)", str(tuple(features.shape)))
    share = (features != 0).to(torch.get_default_dtype()).mean(-1, keepdim=True)
    share /= max(1, features.shape[-2])
    return share.repeat(*(1 for _ in features.shape[:-1]), checks.positive_int("topics", topics))


def _columns(path: Path, names: tuple[str, ...]) -> list[list[str]]:
    """Some columns of a tab-separated file by the names in its first line."""
    # Not `splitlines`: to it some latin-1 letters, and the separators of other alphabets, end a line.
    header, *lines = path.read_text(encoding="latin-1").split("\n")
    titles = [title.strip() for title in header.split("\t")]
    missing = [name for name in names if name not in titles]
    if missing:
        found = f"a first line with {', '.join(map(repr, titles[:10]))}"
        raise InvalidInputError(f"{path} must have the columns {', '.join(names)} (tab-separated); got {found}")
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
    """Ratings; those that are not above zero could not be told from none."""
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

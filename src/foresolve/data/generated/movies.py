r"""Generated instances of diverse recommendation, with statistics like those of MovieLens (HetRec 2011).

Actors and users belong to groups (genres, say), a movie to two of them. With `z_i` the popularity of movie `i` and
`w_ih` the weight of group `h` in it (0.7 and 0.3 for its two groups), of GROUPS groups,

    stars of a movie      s_i = STARS exp(POPULAR z_i + CHANCE e_i) sum_h w_ih rich_h
    actor j plays in i    P   = 1 - exp(-s_i f_j (1 - CAST + CAST GROUPS w_ih)),      h the group of j
    user u rates i        P   = min(MOST, SHARE b_i a_u (1 - TASTE + TASTE GROUPS w_ih)),   h the group of u

where `rich_h = (2 h / (GROUPS - 1))^GENRE` for `h = 0, 1, ...`, `f_j` falls slowly with the rank of the actor and sums
to 1, `b_i` is `exp(SPREAD z_i)` and `a_u` lognormal, both of mean 1, and `z`, `e` are standard normal. So popular
movies have more of the frequent actors, but who rated a movie says more than how many did: its groups, hence which
actors, and how many. Knowing the groups also helps not to choose the same actors twice.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.randomness import Seed, as_generator
from foresolve.data.dataset import DecisionDataset
from foresolve.problems.submodular import SubmodularProblem
from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.matroids.laminar import UniformMatroid

GROUPS = 12
MAIN = 0.7  # the weight of the first of a movie's two groups
# Set by hand to the figures of the data for k = 5, 10, 20 (means over seeds of 101 instances, here and there). Random:
# 8.3, 16.2, 31.9, here 8.3, 16.3, 32.1. Greedy on the truth: 35.0, 57.7, 89.7, here 35.9, 57.8, 87.7. Most rated: 16.8,
# 31.1, 52.6, here 17.2, 29.7, 50.6. A movie has 1.64 topics with a variance of 4.0, here 1.66 and 4.0.
STARS, POPULAR, GENRE, CHANCE = 1.27, 0.385, 1.4, 0.45
CAST, TASTE = 0.7, 0.4
# After the cut at MOST a movie has about 85 ratings by 2,113 users, as published. Fewer users rate more each: small
# instances would otherwise have little but movies that nobody rated.
SHARE, USERS, SPREAD, ACTIVITY, MOST = 0.06, 2113, 1.8, 1.0, 0.8
MEAN, BIAS, QUALITY, LIKING, NOISE = 3.45, 0.35, 0.45, 0.3, 0.75  # of ratings, from 0.5 to 5 in halves


def movie_data(
    count: int, *, size: int = 100, topics: int = 500, users: int = 2113, k: int = 10, seed: Seed = 0
) -> DecisionDataset:
    """Choose `k` movies that bring the most actors, as in `movielens_data`; all instances share actors and users.

    Parameters
    ----------
    count: how many instances; the published data give 101.
    size, topics, users: movies in an instance, actors that count, and users who rate.
    k: how many movies are chosen; `data.with_problem(problem)` for others.
    seed: of all randomness, a number or a generator on the CPU.

    Returns
    -------
    A data set with features `(count, size, users)`, ratings and 0 where there is none, and theta
    `(count, size, topics)`, 1 where an actor plays in a movie.

    Examples
    --------
    >>> from foresolve.data import movie_data
    >>> data = movie_data(3, size=20, topics=50, users=40, seed=0)
    >>> data.features.shape, data.theta.shape
    (torch.Size([3, 20, 40]), torch.Size([3, 20, 50]))
    """
    for name, value in (("count", count), ("size", size), ("topics", topics), ("users", users)):
        checks.positive_int(name, value)
    generator = as_generator("seed", seed, cpu=True)
    problem = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(size, k))
    actors = torch.randint(GROUPS, (topics,), generator=generator)
    fans = torch.randint(GROUPS, (users,), generator=generator)
    activity = _lognormal(ACTIVITY * torch.randn(users, generator=generator), ACTIVITY)
    bias = BIAS * torch.randn(users, generator=generator)
    features, theta = torch.empty(count, size, users), torch.empty(count, size, topics)
    for i in range(count):
        popularity = torch.randn(size, 1, generator=generator)
        genres = _genres(size, generator)
        theta[i] = _cast(popularity, genres, actors, generator)
        features[i] = _ratings(popularity, genres[:, fans], activity, bias, generator)
    return DecisionDataset(features, theta, problem)


def _genres(size: int, generator: torch.Generator) -> Tensor:
    """Weights of the groups in each movie, `(size, groups)`, with a mean of 1."""
    first = torch.randint(GROUPS, (size, 1), generator=generator)
    second = (first + torch.randint(1, GROUPS, (size, 1), generator=generator)) % GROUPS
    shares = torch.zeros(size, GROUPS).scatter(1, first, MAIN).scatter(1, second, 1.0 - MAIN)
    return GROUPS * shares


def _cast(popularity: Tensor, genres: Tensor, actors: Tensor, generator: torch.Generator) -> Tensor:
    """Who plays where, 0/1 `(size, topics)`."""
    topics = len(actors)
    rich = torch.linspace(0.0, 2.0, GROUPS).pow(GENRE)
    chance = CHANCE * torch.randn(len(popularity), 1, generator=generator)
    stars = STARS * torch.exp(POPULAR * popularity + chance) * (genres @ rich / GROUPS)[:, None]
    rank = torch.arange(topics) * (500 / topics)
    frequency = (rank + 10.0).pow(-0.26)
    rate = stars * frequency / frequency.sum() * (1.0 - CAST + CAST * genres[:, actors])
    return (torch.rand(rate.shape, generator=generator) < -torch.expm1(-rate)).float()


def _ratings(popularity: Tensor, taste: Tensor, activity: Tensor, bias: Tensor, generator: torch.Generator) -> Tensor:
    """Ratings `(size, users)`, 0 where there is none."""
    share = SHARE * math.sqrt(USERS / len(activity))
    seen = share * _lognormal(SPREAD * popularity, SPREAD) * activity * (1.0 - TASTE + TASTE * taste)
    rated = torch.rand(seen.shape, generator=generator) < seen.clamp(max=MOST)
    quality = QUALITY * torch.randn(popularity.shape, generator=generator)
    noise = NOISE * torch.randn(seen.shape, generator=generator)
    liking = LIKING * (taste > 0).float()
    stars = MEAN + quality + bias + liking + noise
    return (2.0 * stars).round().div(2.0).clamp(0.5, 5.0) * rated


def _lognormal(exponent: Tensor, spread: float) -> Tensor:
    """`exp` of normal numbers of this spread, with a mean of 1."""
    return torch.exp(exponent - 0.5 * spread**2)

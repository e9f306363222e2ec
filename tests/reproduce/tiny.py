"""The domains with instances so small, and trainings so short, that a job takes a fraction of a second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from foresolve._base.randomness import generator
from foresolve.data import (
    DecisionDataset,
    budget_data,
    citation_data,
    facility_location_data,
    knapsack_data,
    movie_data,
    portfolio_data,
    shortest_path_data,
    tracking_data,
)
from foresolve.problems import Problem
from foresolve.report.records import Config, Record
from foresolve.reproduce import DOMAINS, InstanceCache, Method, NetworkMethod, RecipeMethod, list_jobs, plan, work
from foresolve.reproduce.domains.matching import with_words

EPOCHS, DRAWS = 2, 6
KS = (2, 4)
SMALL: dict[str, Callable[..., DecisionDataset]] = {
    "budget": partial(budget_data, 20, channels=12, customers=30),
    "matching": lambda seed: with_words(citation_data(11, side=8, words=60, seed=seed)),
    "recommendation": partial(movie_data, 20, size=12, topics=20, users=30),
    "shortest-path": partial(shortest_path_data, 20, grid=(3, 3)),
    "knapsack": partial(knapsack_data, 20, items=6, dimensions=1, weights=[[3, 4, 5, 6, 7, 8]]),
    "facility": partial(facility_location_data, 15, sites=8, customers=10),
    "portfolio": partial(portfolio_data, 20, assets=6, degree=16),
    "tracking": partial(tracking_data, 15),
}


def data(domain: str, seed: int = 0) -> DecisionDataset:
    """Tiny instances of a domain."""
    return SMALL[domain](seed=generator(seed, 0))


def problem(domain: str, k: int) -> Problem:
    """That of a budget, for tiny instances."""
    return DOMAINS[domain].at(data(domain), k).problem


def shrink(patch: pytest.MonkeyPatch, *, epochs: int = EPOCHS) -> None:
    """Make all domains tiny; networks, losses, folds and settings stay as they are."""
    for name in SMALL:
        domain = DOMAINS[name]
        short = partial(_shortened, domain.methods, epochs)
        patch.setitem(DOMAINS, name, replace(domain, data=_small, methods=short))


def _small(config: Config) -> DecisionDataset:
    return data(config.domain, config.seed)


def _shortened(methods: Callable[[Config], dict[str, Method]], epochs: int, config: Config) -> dict[str, Method]:
    table = methods(config)
    for name, method in table.items():
        if isinstance(method, NetworkMethod):
            table[name] = replace(method, epochs=min(method.epochs, epochs))
        if isinstance(method, RecipeMethod) and method.draws is not None:
            table[name] = replace(method, draws=DRAWS)
    return table


def config(domain: str, **wanted: object) -> Config:
    """A plan with one or two budgets, where the domain has budgets."""
    ks = KS if DOMAINS[domain].info.ks else None
    arguments = {"ks": ks, "quick": True, "splits": 2} | wanted
    return plan(domain, **arguments)  # pyright: ignore[reportArgumentType]


def done(config: Config, *, backwards: bool = False) -> dict[tuple[int, str, int | None], Record]:
    """All jobs, from the first to the last or the other way, by what they are about; without times."""
    jobs, cache = list_jobs(config), InstanceCache()
    records: dict[tuple[int, str, int | None], Record] = {}
    for job in reversed(jobs) if backwards else jobs:
        result = work(config, job, cache)
        records |= {record.key: replace(record, seconds=0.0) for record in result.records}
    return records

"""The domains with instances so small, and trainings so short, that a job takes a fraction of a second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
import torch

from foresolve._base.randomness import generator
from foresolve.data.generated.budget import generate_budget
from foresolve.data.generated.citations import generate_citations
from foresolve.data.generated.facility_location import facility_location_data
from foresolve.data.generated.knapsack import knapsack_data
from foresolve.data.generated.movies import generate_movies
from foresolve.data.generated.shortest_path import shortest_path_data
from foresolve.problems.base import Problem
from foresolve.report.records import Config, Outcome, Record
from foresolve.reproduce.domains.coverage import problems, random_sets
from foresolve.reproduce.domains.generated import _by_solving
from foresolve.reproduce.domains.matching import permutations
from foresolve.reproduce.domains.methods import Instances, Method, Network
from foresolve.reproduce.runs import trial

EPOCHS, DRAWS = 2, 6
KS = (2, 4)
Build = Callable[[Config], Instances]


def _budget(config: Config) -> Instances:
    made = generate_budget(20, channels=12, customers=30, generator=generator(config.seed, 0))
    return Instances(made.features, made.theta, problems(12, config.ks), random_sets, (12, 30), {"quick": True})


def _matching(config: Config) -> Instances:
    made = generate_citations(11, side=8, words=60, generator=generator(config.seed, 0))
    data, words = made.dataset(), torch.cat([made.left, made.right], 1).flatten(0, 1)
    extra = {"words": words, "quick": True}
    return Instances(data.features, data.theta, {None: data.problem}, permutations, (8, 8), extra)


def _recommendation(config: Config) -> Instances:
    made = generate_movies(20, size=12, topics=20, users=30, generator=generator(config.seed, 0))
    return Instances(made.features, made.theta, problems(12, config.ks), random_sets, (12, 20), {"quick": True})


def _linear(make: Callable, config: Config) -> Instances:
    data, _ = make(20, generator=generator(config.seed, 0))
    return Instances(data.features, data.theta, {None: data.problem}, _by_solving)


def _facility(config: Config) -> Instances:
    made = {
        k: facility_location_data(15, sites=8, customers=10, k=k, generator=generator(config.seed, 0))[0]
        for k in config.ks
    }
    first = made[config.ks[0]]
    by_k: dict[int | None, Problem] = {k: data.problem for k, data in made.items()}
    return Instances(first.features, first.theta, by_k, random_sets, (8, 10))


BUILDS: dict[str, Build] = {
    "budget": _budget,
    "matching": _matching,
    "recommendation": _recommendation,
    "shortest-path": partial(_linear, partial(shortest_path_data, grid=(3, 3))),
    "knapsack": partial(_linear, partial(knapsack_data, items=6, dimensions=1, weights=[[3, 4, 5, 6, 7, 8]])),
    "facility": _facility,
}


def shrink(patch: pytest.MonkeyPatch, *, epochs: int = EPOCHS) -> None:
    """Make all domains tiny; networks, losses, folds and settings stay as they are."""
    for name, build in BUILDS.items():
        domain = trial.ALL[name]
        short = partial(_shortened, domain.methods, epochs)
        patch.setitem(trial.ALL, name, replace(domain, build=build, methods=short))


def _shortened(methods: Callable[[Config], dict[str, Method]], epochs: int, config: Config) -> dict[str, Method]:
    made = methods(config)
    for name, method in made.items():
        if isinstance(method, Network):
            draws = None if method.draws is None else DRAWS
            made[name] = replace(method, epochs=min(method.epochs, epochs), draws=draws)
    return made


def config(domain: str, **wanted: object) -> Config:
    """A plan with one or two budgets, where the domain has budgets."""
    ks = KS if trial.DOMAINS[domain].ks else None
    arguments = {"ks": ks, "quick": True, "splits": 2} | wanted
    return trial.plan(domain, **arguments)  # pyright: ignore[reportArgumentType]


def done(config: Config, *, backwards: bool = False) -> dict[tuple[int, str, int | None], Record]:
    """All jobs, from the first to the last or the other way, by what they are about; without times."""
    jobs = trial.jobs(config)
    found: dict[tuple[int, str, int | None], Record] = {}
    for job in reversed(jobs) if backwards else jobs:
        outcome: Outcome = trial.work(config, job)
        found |= {record.key: replace(record, seconds=0.0) for record in outcome.records}
    return found

"""From a config to jobs, and from a job to records; what a worker keeps from one job to the next."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

from torch import Tensor

from foresolve.data.dataset import DecisionDataset
from foresolve.report.records import Config, Job, JobResult
from foresolve.reproduce.domains.methods import depends_on_k
from foresolve.reproduce.domains.registry import find_domain
from foresolve.reproduce.runs.trial import Trial


class InstanceCache:
    """The instances of the config that was last asked for, their best decisions under each budget, and the features of
    the split that was last asked for, where splits have their own.

    One config is enough: a worker goes through one domain after the other.
    """

    def __init__(self) -> None:
        self._config: Config | None = None
        self._instances: DecisionDataset | None = None
        self._solved: dict[int | None, DecisionDataset] = {}
        self._features: tuple[int, Tensor | None] | None = None

    def data(self, config: Config, k: int | None = None) -> DecisionDataset:
        """The instances of a run under the problem of a budget, with the best decisions under the truth."""
        domain = find_domain(config.domain)
        wanted = replace(config, splits=0, methods=(), ks=())  # what instances do not depend on
        if self._instances is None or wanted != self._config:
            self._instances, self._solved = domain.data(config), {}
            self._config, self._features = wanted, None
        if k not in self._solved:
            self._solved[k] = domain.at(self._instances, k).solve(progress=False)
        return self._solved[k]

    def split_data(self, config: Config, split: int, k: int | None = None) -> DecisionDataset:
        """The same with the features of a split."""
        data, domain = self.data(config, k), find_domain(config.domain)
        if domain.features is None:
            return data
        if self._features is None or self._features[0] != split:
            self._features = split, domain.features(config, data, split)
        features = self._features[1]
        return data if features is None else data.with_features(features)


PROCESS = InstanceCache()  # of this process, which may be a worker


def list_jobs(config: Config) -> list[Job]:
    """All jobs of a run: split by split, the methods whose training depends on the budget once for each."""
    table, ks = find_domain(config.domain).methods(config), config.ks or (None,)
    jobs = []
    for split in range(config.splits):
        for name in config.methods:
            groups: Iterable[tuple[int | None, ...]] = ((k,) for k in ks) if depends_on_k(table[name]) else [tuple(ks)]
            jobs += [Job(config.domain, split, name, group) for group in groups]
    return jobs


def work(config: Config, job: Job, cache: InstanceCache = PROCESS) -> JobResult:
    """Do a job. Its numbers depend on config, split, method and budget alone, not on what was done before it."""
    began = time.perf_counter()
    trial = Trial(config, job, find_domain(config.domain), len(cache.data(config, job.ks[0])))
    records = [trial.score(cache.split_data(config, job.split, k), k) for k in job.ks]
    seconds = (time.perf_counter() - began) / len(records)
    return JobResult(tuple(replace(record, seconds=seconds) for record in records), trial.picture)

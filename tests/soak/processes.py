"""One policy in many processes, forked from one that has used it or spawned afresh; workers of a DataLoader."""

from __future__ import annotations

import multiprocessing
import tempfile
import warnings
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

import foresolve
from foresolve.errors import ForesolveWarning
from tests.soak.cases import Case, policy, requests

WORKERS = 4
LIMIT = 1_200.0  # seconds

_shared: Any = None


def _take(shared: Any, folder: str | None, model: torch.nn.Module) -> None:
    """In a worker: what it was forked with, or what it finds on disk."""
    global _shared
    _shared = foresolve.Policy.load(folder, model=model) if folder else shared


def _decide(features: Tensor) -> list[list[float]]:
    return _shared.decide(features).x.tolist()


def pool(case: Case, calls: int, method: str) -> str:
    """A pool of workers answers all calls as this process does."""
    shared, asked = policy(case), requests(32)
    right = [shared.decide(features).x.tolist() for features in asked]  # so that there are solvers to be forked
    context = multiprocessing.get_context(method)
    with tempfile.TemporaryDirectory() as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ForesolveWarning)  # of the model, whose weights alone are stored
            shared.save(folder)
        arguments = (shared, None, None) if method == "fork" else (None, folder, shared.model)
        with context.Pool(WORKERS, _take, arguments) as workers:
            job = workers.map_async(_decide, [asked[i % 32] for i in range(calls)], chunksize=max(1, calls // 64))
            answers = job.get(LIMIT)
            workers.close()
            workers.join()
    wrong = [i for i, answer in enumerate(answers) if answer != right[i % 32]]
    assert not wrong, f"other decisions in calls {wrong[:5]}"
    assert [shared.decide(features).x.tolist() for features in asked] == right, "other decisions after the fork"
    return f"{calls:,} calls, {WORKERS} workers"


class Solved(Dataset[Tensor]):
    """Parameters with their best decision and their smoothed one, worked out where they are asked for."""

    def __init__(self, case: Case, count: int) -> None:
        self.case, self.count = case, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Tensor:
        theta = self.case.theta(2, index % 64)
        with torch.no_grad():
            return torch.cat([self.case.problem.solve(theta), self.case.layer(theta, self.case.problem)])


def loader(case: Case, calls: int, method: str) -> str:
    """Workers of a DataLoader give what the process itself does, to the bit."""
    data = Solved(case, calls)
    right = [data[i] for i in range(min(calls, 64))]
    load = DataLoader(
        data,
        batch_size=16,
        num_workers=WORKERS // 2,
        multiprocessing_context=method,
        timeout=LIMIT,
        worker_init_fn=None,
    )
    given = torch.cat(list(load))
    assert len(given) == calls
    wrong = [i for i in range(calls) if not torch.equal(given[i], right[i % 64])]
    assert not wrong, f"other numbers for instances {wrong[:5]}"
    return f"{calls:,} instances, {WORKERS // 2} workers"

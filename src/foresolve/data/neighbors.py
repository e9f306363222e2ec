"""Targets that hold for an instance's neighbors too."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.progress import Progress
from foresolve.data.best import MOST_NUMBERS, failure, solve_all
from foresolve.data.inputs import map_tables
from foresolve.problems.base import Problem
from foresolve.problems.traits import require


def robust_targets(
    features: Any, theta: Tensor, problem: Problem, k: int, weight: float, report: Progress
) -> tuple[Tensor, Tensor, Tensor]:
    """Parameters, decisions and values of all instances, averaged over their `k` nearest neighbors.

    `DecisionDataset.robust` has the formula.
    """
    require(problem, ("linear", "fixed"), "robust")  # elsewhere a mean of parameters is no mean objective
    checks.between("weight", weight, "[0, 1]")
    count = len(theta)
    if checks.positive_int("k", k) >= count:
        raise checks.fail("k", f"less than the number of instances ({count})", str(k), "An instance is no neighbor")
    neighbors = nearest(features, k).to(theta.device)
    parts: list[tuple[Tensor, Tensor, Tensor]] = []
    rows = max(1, MOST_NUMBERS // (k * max(theta[0].numel(), problem.n or 1)))
    for index in torch.arange(count, device=theta.device).split(rows):
        mixed = weight * theta[index].unsqueeze(1) + (1 - weight) * theta[neighbors[index]]
        own = problem.select(index.repeat_interleave(k)) if problem.batch_shape else problem
        flat = mixed.flatten(0, 1)
        decisions, failed = solve_all(own, flat, lambda done, total: None)
        if failed:
            where = {int(index[i // k]): error for i, error in failed.items()}
            raise failure(where, count) from next(iter(failed.values()))
        with torch.no_grad():
            values = own.objective(decisions, flat)
        parts.append((mixed.mean(1), decisions.unflatten(0, (-1, k)).mean(1), values.unflatten(0, (-1, k)).mean(1)))
        report(int(index[-1]) + 1, count)
    means, decisions, values = (torch.cat(part) for part in zip(*parts))
    return means, decisions, values


def nearest(features: Any, k: int) -> Tensor:
    """The `k` instances nearest to each, itself left out: `(N, k)`, by the Euclidean distance of all their features."""
    tables: list[Tensor] = []
    map_tables(lambda part: tables.append(part.reshape(len(part), -1).double()), features)
    table = torch.cat([part.to(tables[0].device) for part in tables], 1)
    found = []
    for index in torch.arange(len(table), device=table.device).split(max(1, MOST_NUMBERS // len(table))):
        # From differences: |a|^2 + |b|^2 - 2 a'b, which is faster, drowns them where features are large.
        distances = torch.cdist(table[index], table, compute_mode="donot_use_mm_for_euclid_dist")
        distances[torch.arange(len(index)), index] = torch.inf
        found.append(distances.topk(k, largest=False).indices)
    return torch.cat(found)

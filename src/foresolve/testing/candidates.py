"""Decisions that might be better than the best."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from foresolve.problems.base import Problem

MOST_ITEMS = 10  # 0/1 variables up to which all decisions are tried
MOST_NEIGHBORS = 200


def rivals(problem: Problem, x: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """Other decisions `(K, *batch, n)` beside those of a batch `(*batch, n)`, and which are feasible `(K, *batch)`.

    Those of the other instances, which `solve` itself chose; and, where `check` can tell, the neighbors of each
    decision, what lies between two, and all 0/1 vectors where these are few.
    """
    others = _of_other_instances(x) if not problem.batch_shape else x[None]
    trusted = torch.ones(others.shape[:-1], dtype=torch.bool, device=x.device)
    generator = torch.Generator().manual_seed(seed)
    wild = (2000 * torch.rand(20, *x.shape, generator=generator, dtype=torch.float64) - 1000).to(x)
    if bool(problem.check(wild).feasible.all()):
        return others, trusted  # it accepts anything (a black box): nothing is known of other decisions
    guesses = torch.cat([_neighbors(x, generator), (others + x) / 2, *_all_binary(x)])
    return torch.cat([others, guesses]), torch.cat([trusted, problem.check(guesses).feasible.to(x.device)])


def _of_other_instances(x: Tensor) -> Tensor:
    flat = x.reshape(-1, x.shape[-1])
    return flat[:, *[None] * (x.ndim - 1)].expand(len(flat), *x.shape)


def _neighbors(x: Tensor, generator: torch.Generator) -> Tensor:
    """One variable more or less, and one in exchange for another."""
    n = x.shape[-1]
    unit = torch.eye(n, dtype=x.dtype)
    exchanges = (unit[:, None] - unit[None]).reshape(-1, n)[~torch.eye(n, dtype=torch.bool).flatten()]
    moves = torch.cat([unit, -unit, exchanges])
    if len(moves) > MOST_NEIGHBORS:
        moves = moves[torch.randperm(len(moves), generator=generator)[:MOST_NEIGHBORS]]
    return x + moves.to(x.device).reshape(-1, *[1] * (x.ndim - 1), n)


def _all_binary(x: Tensor) -> list[Tensor]:
    n = x.shape[-1]
    if n > MOST_ITEMS or not bool(((x == 0) | (x == 1)).all()):
        return []
    masks = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)), dtype=x.dtype, device=x.device)
    return [masks.reshape(-1, *[1] * (x.ndim - 1), n).expand(-1, *x.shape)]

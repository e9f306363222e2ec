"""Feasible decisions that are remembered, and the losses that compare them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.randomness import Seed, Seeded
from foresolve.data.batch import Batch
from foresolve.losses.base import Loss
from foresolve.problems.base import Problem

# Decisions that agree to one part in this are one. Odd, so that the keys of whole decisions use all their bits.
RESOLUTION = 1_000_003.0


class SolutionPool(Seeded):
    """Distinct feasible decisions that grow during training, shared by the losses that rank them.

    In training every batch adds the best decisions under its truth, and with probability `solve_ratio` it is also
    solved for its predictions, and those decisions join too. In evaluation nothing is added or drawn. Solving one batch
    in ten or twenty costs a small part of the time and most often little of the quality (Mulamba et al., IJCAI 2021).

    Parameters
    ----------
    solve_ratio: the probability, in [0, 1], with which a batch is solved for its predictions.
    capacity: the most decisions that are kept; the oldest go first. `None`: no limit.
    seed: of the draws, or a `torch.Generator`; their state and the decisions are in the `state_dict`, so that training
        resumes bit for bit.

    Examples
    --------
    >>> import torch
    >>> from foresolve.losses import SolutionPool
    >>> pool = SolutionPool()
    >>> pool.add(torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]))
    >>> pool.decisions
    tensor([[0., 1.],
            [1., 0.]], dtype=torch.float64)
    """

    def __init__(self, solve_ratio: float = 1.0, capacity: int | None = 10_000, seed: Seed = 0) -> None:
        super().__init__()
        self._seed(seed)
        self.solve_ratio = checks.between("solve_ratio", solve_ratio, "[0, 1]")
        self.capacity = None if capacity is None else checks.positive_int("capacity", capacity)
        self._decisions: Tensor | None = None
        self._keys: Tensor | None = None

    @property
    def decisions(self) -> Tensor:
        """The decisions that are remembered, `(K, n)`, the oldest first."""
        return torch.zeros(0, 0, dtype=torch.float64) if self._decisions is None else self._decisions

    def __len__(self) -> int:
        return len(self.decisions)

    def add(self, decisions: Tensor) -> None:
        """Remember decisions `(K, n)`; those that are there already, and repetitions, are left out."""
        new = decisions.detach().double()
        keys = row_keys(new)
        fresh = first_of_each(keys)
        if self._decisions is not None and self._keys is not None:
            old, known = self._decisions.to(new.device), self._keys.to(new.device)
            if old.shape[-1] != new.shape[-1]:
                expected = f"(K, {old.shape[-1]}) like those in the pool"
                raise checks.fail("decisions", expected, str(tuple(new.shape)), "Give each problem a pool of its own")
            fresh = fresh[~torch.isin(keys[fresh], known)]
            new, keys = torch.cat([old, new[fresh]]), torch.cat([known, keys[fresh]])
        else:
            new, keys = new[fresh], keys[fresh]
        if self.capacity is not None and len(new) > self.capacity:
            # Copies: views would keep what is left out in memory.
            new, keys = new[-self.capacity :].clone(), keys[-self.capacity :].clone()
        self._decisions, self._keys = new, keys

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        """The decisions `(K, n)` to compare for this batch, once it has had its turn to add some."""
        if not self.training:
            if self._decisions is None:
                best = batch.target().double()
                return best[first_of_each(row_keys(best))]
            return self._decisions.to(theta_hat.device)
        best = batch.target().to(theta_hat.device)
        self.add(best)
        if (
            float(torch.rand((), generator=self.generator, dtype=torch.float64, device=self.generator.device))
            < self.solve_ratio
        ):
            # Decisions have the dtype of theta: in fewer digits than the others, equal ones would look like new ones.
            self.add(batch.problem.maximizer(theta_hat.detach().to(torch.promote_types(theta_hat.dtype, best.dtype))))
        return self.decisions

    def get_extra_state(self) -> dict[str, Any]:
        """The decisions and the state of the draws."""
        return super().get_extra_state() | {"decisions": self._decisions}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Continue from `get_extra_state`."""
        self._decisions = state["decisions"]
        self._keys = None if self._decisions is None else row_keys(self._decisions)
        super().set_extra_state(state)

    def extra_repr(self) -> str:
        return f"solve_ratio={self.solve_ratio:g}, capacity={self.capacity}, decisions={len(self)}"


class PoolLoss(Loss):
    """A loss that compares the decisions of a pool.

    The objective must be differentiable in `theta`, and all instances must share the feasible set.
    """

    needs = ("shared", "fixed")
    uses_best = True

    def __init__(self, pool: SolutionPool | None = None) -> None:
        super().__init__()
        if pool is not None and not isinstance(pool, SolutionPool):
            raise checks.fail("pool", "a SolutionPool", type(pool).__name__)
        self.pool = SolutionPool() if pool is None else pool


def scores(decisions: Tensor, theta: Tensor, problem: Problem) -> Tensor:
    """The objectives `(B, K)` of `K` decisions under each of `B` parameters, in float64."""
    values = problem.objectives(decisions, theta)
    if theta.requires_grad and not values.requires_grad and torch.is_grad_enabled():
        remedy = "Write it with torch operations, or train with `ScoreFunction`, which needs values alone"
        raise checks.fail("objective", "differentiable in `theta` for losses that rank decisions", "constants", remedy)
    return values


def row_keys(rows: Tensor) -> Tensor:
    """A 64-bit key `(K,)` for each of `(K, n)` rows; rows that round to the same numbers have the same.

    The keys are sums of entries times random odd numbers, modulo 2^64: rows that differ share one by chance alone,
    about once in 10^19 pairs.
    """
    units = (rows.double() * RESOLUTION).round().to(torch.int64)
    generator = torch.Generator().manual_seed(0)
    factors = torch.randint(-(2**62), 2**62, (rows.shape[-1],), generator=generator) * 2 + 1
    return (units * factors.to(rows.device)).sum(-1)


def first_of_each(keys: Tensor) -> Tensor:
    """The positions of the first of each distinct key, in order."""
    ordered, position = keys.sort(stable=True)
    new = torch.ones_like(ordered, dtype=torch.bool)
    new[1:] = ordered[1:] != ordered[:-1]
    return position[new].sort().values

"""Greedy maximisation of set functions for a batch of instances, lazily where that saves work.

Gains only shrink as a set grows, so a gain worked out earlier bounds the gain now: once the item of the largest old
gain is looked at again, only items whose old gain is no less than its new one need be (Minoux, "Accelerated greedy
algorithms for maximizing submodular set functions", 1978).

Gains that differ by less than `TIE` of an instance's largest count as equal, and the first of several equal items is
taken. So plain and lazy greedy, NumPy and torch, dense and sparse parameters give the same sets: sums in another order
differ by less.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from foresolve.solvers.arrays import Array, namespace

TIE = 1e-12

# Parameters of a batch up to which a matrix-vector product takes no longer than to find out what it could leave out.
SMALL = 200_000

# Items of one instance that are looked at together.
BLOCK = 64


class Marginals(ABC):
    """The gains of single items over a set that grows, for `B` instances whose sets start empty.

    Attributes
    ----------
    count, n: instances and items.
    favor: all gains at once cost as much as this share of them picked out; 0: always all of them.
    """

    count: int
    n: int
    favor: float = 1.0

    @abstractmethod
    def everything(self) -> Array:
        """`(B, n)`: all gains over the present sets (those of items in them mean nothing)."""

    @abstractmethod
    def some(self, instances: np.ndarray, items: np.ndarray) -> np.ndarray:
        """`(N,)`: the gains of pairs of an instance and an item; pairs are in the order of the instances."""

    @abstractmethod
    def add(self, items: Array) -> None:
        """Let one item `(B,)` join the set of each instance."""


class DenseMarginals(Marginals):
    """Functions of a state `(B, targets)`: `theta` `(B, n, targets)`, weights `(B or 1, targets)`, all float64."""

    def __init__(self, theta: Array, weights: Array) -> None:
        self.count, self.n, targets = theta.shape
        self.theta, self.weights = theta, weights
        if isinstance(theta, Tensor):
            self._rows = torch.arange(self.count, device=theta.device)
            self.state = self._empty().expand(self.count, targets)
        else:
            self._rows = np.arange(self.count)
            self.state = np.broadcast_to(self._empty(), (self.count, targets))

    def add(self, items: Array) -> None:
        self._join(self.theta[self._rows, items])

    def some(self, instances: np.ndarray, items: np.ndarray) -> np.ndarray:
        return self._of(self.theta[instances, items], instances)

    @abstractmethod
    def _empty(self) -> Array:
        """The state of the empty set, `(B or 1, targets)`."""

    @abstractmethod
    def _of(self, theta: np.ndarray, instances: np.ndarray) -> np.ndarray:
        """`(N,)`: the gains of items with parameters `(N, targets)`."""

    @abstractmethod
    def _join(self, theta: Array) -> None:
        """Items with parameters `(B, targets)` join."""


class CoverageMarginals(DenseMarginals):
    """`f(S) = sum_j w_j (1 - prod_{i in S} (1 - theta_ij))`; the state is the weight that is left."""

    def __init__(self, theta: Array, weights: Array) -> None:
        super().__init__(theta, weights)
        # A matrix product against copies of rows; a small one is over before the rows are found.
        self.favor = 0.125 if math.prod(theta.shape) > SMALL else 0.0

    def _empty(self) -> Array:
        return self.weights

    def everything(self) -> Array:
        return (self.theta @ self.state[..., None])[..., 0]

    def _of(self, theta: np.ndarray, instances: np.ndarray) -> np.ndarray:
        return np.einsum("aj,aj->a", theta, self.state[instances])

    def _join(self, theta: Array) -> None:
        self.state = self.state * (1.0 - theta)


class FacilityMarginals(DenseMarginals):
    """`f(S) = sum_j w_j max_{i in S} theta_ij` with `theta >= 0`; the state is what each client has.

    Gains are differences `sum_j w_j max(state_j, theta_ij) - sum_j w_j state_j`, a third of the work of a sum of
    differences; `TIE` absorbs their rounding.
    """

    favor = 0.3

    def __init__(self, theta: Array, weights: Array) -> None:
        super().__init__(theta, weights)
        self._with = None if isinstance(theta, Tensor) else np.empty(theta.shape[1:])  # stays in the cache

    def _empty(self) -> Array:
        return 0.0 * self.weights

    def everything(self) -> Array:
        have = (self.state * self.weights).sum(-1)[:, None]
        if self._with is None:
            return (torch.maximum(self.theta, self.state[:, None]) @ self.weights[..., None])[..., 0] - have
        found = np.empty((self.count, self.n))
        for i in range(self.count):
            np.maximum(self.theta[i], self.state[i], out=self._with)
            np.matmul(self._with, self.weights[i if len(self.weights) > 1 else 0], out=found[i])
        return found - have

    def _of(self, theta: np.ndarray, instances: np.ndarray) -> np.ndarray:
        have = (self.state * self.weights).sum(-1)[instances]
        better = np.maximum(theta, self.state[instances])
        if len(self.weights) == 1:
            return better @ self.weights[0] - have
        return np.einsum("aj,aj->a", better, self.weights[instances]) - have

    def _join(self, theta: Array) -> None:
        self.state = namespace(theta).maximum(self.state, theta)


Addable = Callable[[Array], Array]


def lazy_greedy(marginals: Marginals, rank: int, addable: Addable | None = None) -> np.ndarray:
    """Sets `(B, n)` that grow `rank` times by the item of the largest gain, the first of several.

    `addable` says which items `(B, n)` may join sets `(B, n)`; without it, all that are not in them.
    """
    everyone = np.arange(marginals.count)
    sets = np.zeros((marginals.count, marginals.n), dtype=bool)
    if marginals.count == 0 or rank == 0:
        return sets
    bounds = np.array(marginals.everything())
    band = TIE * np.abs(bounds).max(1, keepdims=True)
    if addable is not None:
        bounds[~addable(sets)] = -np.inf
    for size in range(rank):
        if size:
            _refresh(marginals, bounds, band, everyone)
        chosen = (bounds >= bounds.max(1, keepdims=True) - band).argmax(1)
        sets[everyone, chosen] = True
        bounds[everyone, chosen] = -np.inf
        if size + 1 == rank:
            break
        if addable is not None:
            bounds[~addable(sets)] = -np.inf  # and for good: what a set cannot take, a larger one cannot
        marginals.add(chosen)
    return sets


def _refresh(marginals: Marginals, bounds: np.ndarray, band: np.ndarray, everyone: np.ndarray) -> None:
    """Work out the gains that may be the largest, or within `band` of it."""
    if marginals.favor == 0:
        np.copyto(bounds, marginals.everything(), where=bounds != -np.inf)
        return
    top = bounds.argmax(1)
    bounds[everyone, top] = fresh = marginals.some(everyone, top)
    open_ = bounds >= fresh[:, None] - 2 * band  # twice: for the choice, and for the rounding of old gains
    open_[everyone, top] = False
    number = np.count_nonzero(open_)
    if number > marginals.favor * bounds.size:
        np.copyto(bounds, marginals.everything(), where=bounds != -np.inf)
    elif number > BLOCK and len(bounds) == 1:
        _narrow(marginals, bounds[0], open_[0].nonzero()[0], float(fresh[0]), 2 * float(band[0, 0]))
    elif number:
        instances, items = open_.nonzero()
        bounds[instances, items] = marginals.some(instances, items)


def _narrow(marginals: Marginals, bounds: np.ndarray, items: np.ndarray, best: float, band: float) -> None:
    """The same for one instance with many items to look at: the likeliest first, since they may rule out others."""
    while len(items):
        if len(items) > BLOCK:
            order = np.argpartition(-bounds[items], BLOCK)
            now, items = items[order[:BLOCK]], items[order[BLOCK:]]
        else:
            now, items = items, items[:0]
        bounds[now] = gains = marginals.some(np.zeros(len(now), dtype=np.int64), now)
        best = max(best, float(gains.max()))
        items = items[bounds[items] >= best - band]


def full_greedy(marginals: Marginals, rank: int, addable: Addable | None = None) -> Tensor:
    """Plain greedy, on a device that would rather work all gains out than wait for its host."""
    worth = marginals.everything()
    band = TIE * worth.abs().amax(1, keepdim=True)
    sets = torch.zeros_like(worth, dtype=torch.bool)
    for size in range(rank):
        if size:
            worth = marginals.everything()
        worth = worth.masked_fill(sets if addable is None else ~addable(sets), -torch.inf)
        chosen = (worth >= worth.amax(1, keepdim=True) - band).byte().argmax(1)
        sets.scatter_(1, chosen[:, None], True)
        marginals.add(chosen)
    return sets

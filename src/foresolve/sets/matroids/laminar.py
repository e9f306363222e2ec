r"""Uniform, partition and laminar matroids: at most `c_S` items from each set `S` of a family without crossings.

The projection, derived once for all three. With multipliers `lambda_S` of `x(S) <= c_S`, stationarity of
`1/2 |x - y|^2` over the box gives `x_i = clip(y_i - p_i, 0, 1)`, `p_i = sum of lambda_S over the sets that hold i`.
Let `g_S(t)` be the total of `S` when the sets around it charge `t` altogether. Inside of `S`, either `lambda_S = 0`
and its parts see the price `t`, or `lambda_S` lifts the price until the total is `c_S`; so

    g_S(t) = min(c_S, sum of g_C(t) over the children C + sum of clip(y_i - t, 0, 1) over the other items i).

The price in `S` is thus `max(t, t_S)`, where `t_S` makes the second term equal to `c_S`, and an item's price is the
largest `t_S` of the sets that hold it. Bottom up, with `v_i` the item's value at the largest price so far (1 at first),
at a price `t` it is `clip(y_i - t, 0, v_i)`, and `t_S` is a water-filling:

    sum_{i in S} clip(y_i - t_S, 0, v_i) = c_S,    then    v_i <- clip(y_i - t_S, 0, v_i) for i in S.

On the independence polytope nothing surrounds the outermost sets, `t = 0`, and `x_i = clip(y_i, 0, v_i)`. On the base
polytope the total is the rank, which is what the outermost sets and the items in none can hold at most (sets that can
never bind are left out): they are all full, `t = -infinity`, and `x = v`; multipliers of outermost sets have any sign.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.sets.matroids.matroid import MatroidProjection, PolyhedralMatroid
from foresolve.sets.matroids.nested import Level, grow
from foresolve.solvers.submodular.waterfill import fill_units, waterfill


class LaminarMatroid(PolyhedralMatroid):
    r"""At most `capacities[s]` items from each of `sets`, any two of which are nested or disjoint.

    Parameters
    ----------
    n: the number of items.
    sets: lists of items; items in none of them may always be taken.
    capacities: one integer >= 0 for all sets, or one for each; one above the size of its set asks for nothing.

    Examples
    --------
    Three of six items, but at most one of the first two:

    >>> import torch
    >>> from foresolve.sets import LaminarMatroid
    >>> matroid = LaminarMatroid(6, [[0, 1], range(6)], [1, 3])
    >>> matroid.maximize(torch.tensor([5.0, 4.0, 1.0, 2.0, 3.0, 0.0]))
    tensor([1., 0., 0., 1., 1., 0.])
    >>> matroid.project(torch.tensor([0.9, 0.7, 0.5, 0.5, 0.5, 0.5])).x
    tensor([0.6000, 0.4000, 0.5000, 0.5000, 0.5000, 0.5000])
    """

    def __init__(self, n: int, sets: Iterable[Iterable[int]], capacities: int | Sequence[int]) -> None:
        self.n = checks.positive_int("n", n)
        self._build([_items(self.n, s, items) for s, items in enumerate(sets)], capacities)

    def _build(self, sets: list[np.ndarray], capacities: Any) -> None:
        self.sets, self.device = tuple(sets), torch.device("cpu")
        self.capacities = _capacities(capacities, len(sets))
        forest = grow(self.n, self.sets, self.capacities)
        self.rank, self._levels, self._covered = forest.rank, forest.levels, forest.covered
        self.order = torch.from_numpy(forest.order)
        # The pairs (set, item) of the family.
        self._set = torch.from_numpy(np.repeat(np.arange(len(sets)), [len(items) for items in sets]))
        self._item = torch.from_numpy(np.concatenate([*sets, np.zeros(0, dtype=np.int64)]))
        self._limits = torch.tensor(self.capacities, dtype=torch.float64)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n}, sets={len(self.sets)}, rank={self.rank})"

    def to(self, device: torch.device | str) -> Self:
        moved = copy.copy(self)
        vars(moved).pop("center", None)
        for name in ("order", "_set", "_item", "_limits"):
            setattr(moved, name, getattr(self, name).to(device))
        moved._levels, moved.device = tuple(level.to(device) for level in self._levels), moved.order.device
        return moved

    def config(self) -> dict[str, Any]:
        """The number of items, the sets and their capacities."""
        return {"n": self.n, "sets": self._tensors(), "capacities": list(self.capacities)}

    def _tensors(self) -> list[Tensor]:
        return [torch.from_numpy(items) for items in self.sets]

    def rows(self) -> tuple[scipy.sparse.csr_array, np.ndarray]:
        entries = np.ones(len(self._set)), (self._set.cpu().numpy(), self._item.cpu().numpy())
        matrix = scipy.sparse.csr_array(entries, shape=(len(self.sets), self.n))
        return matrix, np.array(self.capacities, dtype=np.float64)

    def independent(self, mask: Tensor) -> Tensor:
        flat, batch = self._mask(mask, check=True)
        return (self._totals(flat.double()) <= self._limits).all(-1).reshape(batch)

    def addable(self, mask: Tensor) -> Tensor:
        flat, batch = self._mask(mask, check=False)
        full = (self._totals(flat.double()) >= self._limits).double()
        return ((self._holders(full) == 0) & ~flat).reshape(*batch, self.n)

    def excess(self, x: Tensor, *, base: bool = True) -> dict[str, Tensor]:
        flat, batch = self._take("x", x, check=False)
        amounts = {"lower": -flat, "upper": flat - 1, "sets": self._totals(flat) - self._limits}
        if base:
            amounts["base"] = (flat.sum(-1, keepdim=True) - self.rank).abs()
        return {kind: amount.reshape(*batch, amount.shape[-1]) for kind, amount in amounts.items()}

    def maximize(self, gains: Tensor, *, base: bool = True, check: bool = True) -> Tensor:
        gains = checks.as_tensor("gains", gains)
        flat, batch = self._take("gains", gains, check=check)
        # The greedy algorithm, one level of sets at a time: an item is refused by a set that is full of items that come
        # before it, and these are the best that remain of what the inner sets let through.
        taken = torch.ones_like(flat, dtype=torch.bool) if base else flat > 0
        by_gain = flat.argsort(dim=1, descending=True, stable=True)
        for level in self._levels:
            taken = _best(taken, by_gain, level)
        return taken.reshape(*batch, self.n).to(gains.dtype)

    def project(self, y: Tensor, *, base: bool = True, check: bool = True) -> MatroidProjection:
        y = checks.as_tensor("y", y)
        flat, batch = self._take("y", y, check=check)
        x, price = torch.ones_like(flat), torch.full_like(flat, -torch.inf)
        group = torch.full_like(flat, -1, dtype=torch.int64)
        for depth, level in enumerate(self._levels):
            if depth == 0 and level.segments.covers_all and 0 < self.rank < self.n and len(flat):
                t, x = fill_units(flat, self.rank)
            else:
                t, x = waterfill(flat, x, level.segments, level.totals)
            t = level.segments.put(level.segments.spread(t), torch.full_like(flat, -torch.inf))
            group, price = torch.where(t > price, level.group, group), torch.maximum(price, t)
        if base and not self._covered:
            # Items in no set are at 1: any price that no item would answer to is a multiplier of the total.
            price = torch.maximum(price, (flat - x).amin(1, keepdim=True))
        elif not base:
            x = torch.minimum(x, flat.clamp_min(0))
            group, price = torch.where(price > 0, group, -1), price.clamp_min(0)
        free = (x > 0) & (x < 1)
        shape = (*batch, self.n)
        x, price = x.to(y.dtype).reshape(shape), price.to(y.dtype).reshape(shape)
        return MatroidProjection(x, price, group.reshape(shape), free.reshape(shape), len(self.sets))

    def _totals(self, x: Tensor) -> Tensor:
        """`(B, sets)`: `x(S)` for each set of the family."""
        return x.new_zeros(len(x), len(self.sets)).index_add(1, self._set, x.index_select(1, self._item))

    def _holders(self, weights: Tensor) -> Tensor:
        """`(B, n)`: the sum of the sets' weights `(B, sets)` over those that hold the item."""
        return weights.new_zeros(len(weights), self.n).index_add(1, self._item, weights.index_select(1, self._set))

    def _exchanges(self, first: Tensor, second: Tensor, item: Tensor) -> Tensor:
        left, right = (self._totals(mask[:, : self.n].double()) >= self._limits for mask in (first, second))
        holds = self._totals(torch.zeros_like(first, dtype=torch.float64).scatter(1, item[:, None], 1.0)) > 0
        # `f` must be in the full sets of `second` that hold `item`, and in no full set of `first` that does not.
        tight, barred = (right & holds).double(), (left & ~holds).double()
        fillers = (0, first.shape[1] - self.n)
        inside = torch.nn.functional.pad(self._holders(tight), fillers)
        outside = torch.nn.functional.pad(self._holders(barred), fillers)
        return second & ~first & (inside == tight.sum(1, keepdim=True)) & (outside == 0)


class UniformMatroid(LaminarMatroid):
    r"""Any `k` of `n` items.

    Parameters
    ----------
    n: the number of items.
    k: how many may be taken, from 0 to `n`.

    Examples
    --------
    >>> import torch
    >>> from foresolve.sets import UniformMatroid
    >>> UniformMatroid(3, 1).project(torch.tensor([0.9, 0.5, -1.0])).x
    tensor([0.7000, 0.3000, 0.0000])
    """

    def __init__(self, n: int, k: int) -> None:
        self.n, self.k = checks.positive_int("n", n), checks.positive_int("k", k, zero=True)
        if self.k > self.n:
            raise checks.fail("k", f"at most `n` ({n})", str(k))
        self._build([np.arange(self.n)], [self.k])

    def config(self) -> dict[str, Any]:
        """The two numbers."""
        return {"n": self.n, "k": self.k}

    def __repr__(self) -> str:
        return f"UniformMatroid({self.n}, {self.k})"


class PartitionMatroid(LaminarMatroid):
    r"""At most `capacities[g]` items from each group `g`.

    Parameters
    ----------
    groups: the group of each item, `(n,)` integers from 0, or a list of the groups' items, each item in one of them.
    capacities: one integer >= 0 for all groups, or one for each; one above the size of its group asks for nothing.

    Examples
    --------
    >>> import torch
    >>> from foresolve.sets import PartitionMatroid
    >>> PartitionMatroid([0, 0, 1, 1], 1).maximize(torch.tensor([1.0, 2.0, 4.0, 3.0]))
    tensor([0., 1., 1., 0.])
    """

    def __init__(self, groups: Any, capacities: int | Sequence[int]) -> None:
        self.n, sets = _partition(groups, capacities)
        self._build(sets, capacities)

    def config(self) -> dict[str, Any]:
        """The items of each group, and the capacities."""
        return {"groups": self._tensors(), "capacities": list(self.capacities)}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The matroid of these groups."""
        return cls([items.tolist() for items in config["groups"]], config["capacities"])

    def __repr__(self) -> str:
        return f"PartitionMatroid(n={self.n}, groups={len(self.sets)}, rank={self.rank})"


def _best(taken: Tensor, by_gain: Tensor, level: Level) -> Tensor:
    """The first `c` items of each set, of the items taken so far in the order of `by_gain`; `(B, n)` boolean."""
    segments = level.segments
    if not segments.covers_all:
        name = torch.where(level.group >= 0, level.group, torch.iinfo(torch.int64).max)
        place = name[by_gain].argsort(dim=1, stable=True)[:, : segments.items.numel()]
        by_gain = by_gain.gather(1, place)
    members = taken.gather(1, by_gain)
    count = members.cumsum(1)
    if not segments.covers_all:
        before = count.index_select(1, (segments.start - 1).clamp_min(0)) * (segments.start > 0)
        count = count - segments.spread(before)
    return taken.scatter(1, by_gain, members & (count <= segments.spread(level.totals[None])))


def _items(n: int, s: int, items: Iterable[int]) -> np.ndarray:
    """The items of set `s` as an array, or an error."""
    array = np.asarray(items.cpu() if isinstance(items, Tensor) else list(items))
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise checks.fail(f"sets[{s}]", "a list of item numbers", f"{array.dtype} of shape {array.shape}")
    if array.min() < 0 or array.max() >= n:
        bad = array[(array < 0) | (array >= n)][0]
        raise checks.fail(f"sets[{s}]", f"of items from 0 to {n - 1}", f"item {bad}")
    values, counts = np.unique(array, return_counts=True)
    if counts.max() > 1:
        raise checks.fail(f"sets[{s}]", "without repetitions", f"item {values[counts.argmax()]} twice")
    return array.astype(np.int64)


def _capacities(capacities: Any, count: int) -> tuple[int, ...]:
    if isinstance(capacities, Tensor | np.ndarray):
        capacities = capacities.tolist()
    if not isinstance(capacities, Sequence):
        return (checks.positive_int("capacities", capacities, zero=True),) * count
    if len(capacities) != count:
        raise checks.fail("capacities", f"one integer, or one for each of the {count} sets", f"{len(capacities)}")
    return tuple(checks.positive_int(f"capacities[{s}]", c, zero=True) for s, c in enumerate(capacities))


def _partition(groups: Any, capacities: Any) -> tuple[int, list[np.ndarray]]:
    """The number of items, and the items of each group."""
    groups = groups.tolist() if isinstance(groups, Tensor | np.ndarray) else list(groups)
    if not groups:
        raise checks.fail("groups", "a label for each item, or lists of items", "nothing")
    if not isinstance(groups[0], Iterable):
        many = len(capacities) if isinstance(capacities, Sequence | Tensor | np.ndarray) else None
        labels = [checks.positive_int(f"groups[{i}]", label, zero=True) for i, label in enumerate(groups)]
        if many is not None and max(labels) >= many:
            raise checks.fail("groups", f"labels from 0 to {many - 1}, one for each capacity", f"{max(labels)}")
        label = np.array(labels)
        return len(labels), [np.flatnonzero(label == g) for g in range(many or max(labels) + 1)]
    lists = [list(items) for items in groups]
    n = sum(map(len, lists))
    if n == 0:
        raise checks.fail("groups", "lists of items", "empty ones only")
    seen: set[int] = set()
    for item in (item for items in lists for item in items):
        if item in seen:
            raise checks.fail("groups", "a partition of the items", f"item {item} twice")
        seen.add(item)
    missing = next((i for i in range(max(max(seen) + 1, n)) if i not in seen), None)
    if missing is not None:
        raise checks.fail("groups", f"a partition of the items 0 to {max(seen)}", f"no group with item {missing}")
    return n, [_items(n, g, items) for g, items in enumerate(lists)]

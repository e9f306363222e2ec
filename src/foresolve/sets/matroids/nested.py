"""Families of sets of which any two are nested or disjoint: a forest, each set the parent of the largest it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.solvers.submodular.waterfill import Segments


@dataclass(frozen=True)
class Level:
    """Disjoint sets, at one height of the forest: their segments, capacities, and indices in the family."""

    segments: Segments
    totals: Tensor  # (count,) float64
    group: Tensor  # (n,) the index of the item's set; -1: none

    def to(self, device: torch.device | str) -> Level:
        return Level(self.segments.to(device), self.totals.to(device), self.group.to(device))


@dataclass(frozen=True)
class LaminarFamily:
    """The structure of a laminar family.

    Attributes
    ----------
    rank: the size of the largest independent sets.
    order: `(n,)` the items in an order in which every set is an interval.
    levels: the sets that can bind, bottom up: no set of a level holds one of the same or a later level.
    covered: every item is in a set that can bind.
    """

    rank: int
    order: np.ndarray
    levels: tuple[Level, ...]
    covered: bool


def grow(n: int, sets: Sequence[np.ndarray], capacities: Sequence[int]) -> LaminarFamily:
    """The forest of a family of sets, or an error that names two that cross.

    Bottom up, `rank(S) = min(c_S, sum of the children's ranks + items in no child)`. Where `c_S` is not the smaller of
    the two the set never binds, and is left out; so what a set that remains could hold exceeds its capacity by at
    least 1, and no comparison of sums of real numbers decides whether it binds.
    """
    owner = np.full(n, -1)  # the largest set so far that holds the item
    arranged: dict[int, np.ndarray] = {}
    rank, height = np.zeros(len(sets), dtype=np.int64), np.zeros(len(sets), dtype=np.int64)
    binds = np.zeros(len(sets), dtype=bool)
    for s in sorted(range(len(sets)), key=lambda s: len(sets[s])):
        items = sets[s]
        children, counts = np.unique(owner[items], return_counts=True)
        inner = children[children >= 0]
        for child, count in zip(children.tolist(), counts.tolist(), strict=True):
            if child >= 0 and count < len(sets[child]):
                raise checks.fail(
                    "sets",
                    "nested or disjoint, any two of them",
                    f"sets {min(s, child)} and {max(s, child)}, which share {count} "
                    f"item{'s' if count > 1 else ''} and each have others",
                )
        loose = items[owner[items] < 0]
        potential = int(rank[inner].sum()) + len(loose)
        binds[s] = capacities[s] < potential
        rank[s] = min(capacities[s], potential)
        height[s] = max((int(height[c]) for c in inner), default=0) + bool(binds[s])
        arranged[s] = np.concatenate([*(arranged.pop(int(c)) for c in inner), loose])
        owner[items] = s
    tops, loose = np.unique(owner[owner >= 0]), np.flatnonzero(owner < 0)
    order = np.concatenate([*(arranged[int(s)] for s in tops), loose]).astype(np.int64)
    levels, covered = [], np.zeros(n, dtype=bool)
    for h in np.unique(height[binds]):
        members = np.flatnonzero(binds & (height == h)).tolist()
        levels.append(_level(n, [sets[s] for s in members], members, [capacities[s] for s in members]))
        covered[np.concatenate([sets[s] for s in members])] = True
    return LaminarFamily(int(rank[tops].sum()) + len(loose), order, tuple(levels), bool(covered.all()))


def _level(n: int, sets: Sequence[np.ndarray], names: Sequence[int], capacities: Sequence[int]) -> Level:
    label, group = np.full(n, -1), np.full(n, -1)
    for place, (items, name) in enumerate(zip(sets, names, strict=True)):
        label[items], group[items] = place, name
    totals = torch.tensor(capacities, dtype=torch.float64)
    return Level(Segments.of(label, len(sets)), totals, torch.from_numpy(group))

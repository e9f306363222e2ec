"""Data sets that fall into parts: training, validation, test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Self, TypeVar

import numpy as np
import torch

from foresolve._base import checks
from foresolve._base.randomness import Seed
from foresolve.data.solutions import SolvedInstances
from foresolve.data.splits import cuts_in_time, random_order, shuffles, split_sizes, without_gaps


class DivisibleInstances(SolvedInstances):
    """Instances in parts, at random or in the order of time."""

    def split(
        self, *parts: float | Sequence[float], seed: Seed = 0, shuffle: bool | None = None, gap: int = 0
    ) -> tuple[Self, ...]:
        """Disjoint parts: `data.split(0.8, 0.1, 0.1)` by shares, `data.split(800, 200)` by counts.

        What the parts leave is one more: `train, test = data.split(0.8)`. Where missing entries were filled by a mean
        or median, it is that of the first part from now on, in all parts.

        Parameters
        ----------
        parts: shares or counts.
        seed: of a random order.
        shuffle: by default rows that are dated are cut in the order of time, and all others are shuffled. Instances of
            the same time stay in one part. True shuffles dated rows too, with a warning: a model then trains on days
            after those that it is tested on. False keeps the order that rows have.
        gap: how many instances to leave out at the beginning of each later part: of dated rows whose features look
            back, those that would see the part before.
        """
        sizes, gap = split_sizes(parts, len(self)), checks.positive_int("gap", gap, zero=True)
        if self.cache is not None:
            self.solve()
        if shuffles(shuffle, self.times):
            indices = list(random_order(len(self), seed).split(sizes))
        elif shuffle is None and self.times is not None:
            indices = cuts_in_time(self.times, sizes)
        else:
            indices = list(torch.arange(len(self)).split(sizes))
        return tuple(refilled([self.subset(index) for index in without_gaps(indices, gap)]))

    def folds(self, k: int, seed: Seed = 0, *, shuffle: bool | None = None) -> list[tuple[Self, Self]]:
        """`k` pairs `(train, valid)`, for cross-validation; `valid.positions` say which instances are in which.

        Each instance is in one `valid`. Dated rows are cut into `k + 1` runs of time instead, and each but the first is
        the `valid` of all before it, unless `shuffle` says otherwise.
        """
        if not 2 <= checks.positive_int("k", k) <= len(self):
            raise checks.fail("k", f"from 2 to the number of instances ({len(self)})", str(k))
        if self.cache is not None:
            self.solve()
        if not shuffles(shuffle, self.times) and shuffle is None and self.times is not None:
            sizes = [len(run) for run in torch.arange(len(self)).tensor_split(k + 1)]
            runs = cuts_in_time(self.times, sizes)
            pairs = [(torch.cat(runs[:i]), runs[i]) for i in range(1, k + 1)]
        else:
            order = torch.arange(len(self)) if shuffle is False else random_order(len(self), seed)
            folds = order.tensor_split(k)
            pairs = [(torch.cat(folds[:i] + folds[i + 1 :]), fold) for i, fold in enumerate(folds)]
        return [tuple(refilled([self.subset(index) for index in pair])) for pair in pairs]  # type: ignore[misc]

    def refill(self, features: np.ndarray | None, theta: np.ndarray | None) -> None:
        """Put other numbers in the place of entries that were missing; `None` leaves them as they are."""
        origin = self.origin
        if origin is not None and features is not None and origin.reader is not None:
            self.features = origin.refilled_features(self.features, features)
            self.origin = replace(origin, reader=origin.reader.filled_with(features))
        if origin is not None and theta is not None:
            self._theta = origin.refilled_theta(self.theta, theta)
            self._decisions = self._values = None


Part = TypeVar("Part", bound=DivisibleInstances)


def refilled(parts: Sequence[Part]) -> Sequence[Part]:
    """Parts with the mean or median of the first one in the place of missing entries: others are not used."""
    origin = parts[0].origin
    if origin is None:
        return parts
    features = origin.feature_fill(parts[0].features)
    theta = origin.theta_fill(parts[0].theta) if parts[0].has_theta else None
    for part in parts:
        part.refill(features, theta)
    return parts

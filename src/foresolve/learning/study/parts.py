"""The three parts of a study's data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import zip_longest
from typing import Any

import numpy as np
from torch import Tensor

from foresolve._base import checks
from foresolve.data.dataset import DecisionDataset
from foresolve.data.inputs import map_tables
from foresolve.learning.features import arranged
from foresolve.learning.subsets import as_dataset

NAMES = ("train", "valid", "test")


@dataclass(frozen=True)
class Parts:
    """Training, validation and test data.

    Attributes
    ----------
    left_out: how many instances of validation and test data are not scored, because their truth was filled in.
    repeated: how many test instances have the features and parameters of an instance of training or validation data.
    """

    train: DecisionDataset
    valid: DecisionDataset
    test: DecisionDataset
    left_out: int = 0
    repeated: int = 0

    @property
    def incomplete(self) -> int:
        """The number of instances that were dropped when tables were read; parts of one table share their count."""
        origins = [part.origin for part in (self.train, self.valid, self.test)]
        counts = [None if origin is None else origin.missing for origin in origins]
        return sum({id(count): count.dropped for count in counts if count is not None}.values())

    @classmethod
    def of(cls, data: Any, split: Sequence[float], parts: Any, seed: int) -> Parts:
        """Split by time where rows are dated, at random otherwise; or the parts that are given."""
        if parts is None:
            data = _checked("data", data)
            if len(tuple(split)) != 3:
                raise checks.fail("split", "three shares or counts: train, valid, test", repr(split))
            parts = data.split(*split, seed=seed)
            if len(parts) != 3:
                raise checks.fail("split", "three shares that sum to 1", repr(tuple(split)))
        else:
            parts = _given(parts)
        train, valid, test = parts
        scored = [_with_truth(name, part) for name, part in (("valid", valid), ("test", test))]
        left_out = len(valid) + len(test) - sum(map(len, scored))
        valid, test = scored
        return cls(train, valid, test, left_out, len(_repeated(test, train, valid)))


def _given(parts: Any) -> tuple[DecisionDataset, ...]:
    if not isinstance(parts, Sequence) or len(parts) != 3:
        raise checks.fail("parts", "three data sets: (train, valid, test)", type(parts).__name__)
    train, *others = (_checked(f"parts ({name})", part) for name, part in zip(NAMES, parts))
    for name, part in zip(NAMES[1:], others):
        names, own = train.problem.theta_names, part.problem.theta_names
        if names is not None and own is not None and tuple(names) != tuple(own):
            first = next(place for place, pair in enumerate(zip_longest(names, own)) if pair[0] != pair[1])
            got = f"{own[first]!r} where they have {names[first]!r}" if first < min(len(own), len(names)) else "others"
            remedy = "Make all parts with the same problem"
            raise checks.fail(f"parts ({name})", "of the parameters of training, in their order", got, remedy)
    valid, test = (arranged(f"parts ({n})", part, train.feature_names) for n, part in zip(NAMES[1:], others))
    for name, part in (("train", train), ("valid", valid)):
        if len(_repeated(test, part)) == len(test):
            remedy = "Test data must be new: `train, valid, test = data.split(0.6, 0.2, 0.2)`"
            raise checks.fail("parts (test)", "other instances than those of the other parts", f"{name} data", remedy)
    return train, valid, test


def _repeated(data: DecisionDataset, *others: DecisionDataset) -> list[int]:
    """Positions of the instances whose features and parameters another data set has too."""
    known = {row for other in others for row in _rows(other)}
    return [place for place, row in enumerate(_rows(data)) if row in known]


def _rows(data: DecisionDataset) -> list[bytes]:
    """A digest of each instance's features and parameters."""
    tables: list[np.ndarray] = []
    for table in (data.features, data.theta):
        map_tables(lambda part: tables.append(_flat(part)), table)
    return [blake2b(row.tobytes(), digest_size=16).digest() for row in np.concatenate(tables, 1)]


def _flat(table: Tensor) -> np.ndarray:
    return table.detach().cpu().double().numpy().reshape(len(table), -1)


def _checked(name: str, data: Any) -> DecisionDataset:
    """With true parameters, and a feasible set that they do not move."""
    data = as_dataset(name, data)
    if not data.has_theta:
        remedy = "Without them no regret is known; `compare` the agreement of decisions instead"
        raise checks.fail(name, "with the true parameters (`theta`)", "decisions alone", remedy)
    if "fixed" not in data.problem.traits:
        got = f"{type(data.problem).__name__} with constraints that `theta` makes"
        remedy = (
            "Decisions may be infeasible under the truth: train with a `repair` and use `evaluate(..., repair=...)`"
        )
        raise checks.fail(name, "of a problem whose feasible set `theta` does not move", got, remedy)
    return data


def _with_truth(name: str, data: DecisionDataset) -> DecisionDataset:
    """Without the instances whose truth was filled in by a rule."""
    imputed = data.imputed
    if imputed is None or not bool(imputed.any()):
        return data
    known = (~imputed).nonzero()[:, 0]
    if not len(known):
        raise checks.fail(name, "with instances whose truth is known", "only such as were filled in")
    return data.subset(known)

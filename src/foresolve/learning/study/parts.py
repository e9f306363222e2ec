"""The three parts of a study's data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from foresolve._base import checks
from foresolve.data.dataset import DecisionDataset
from foresolve.learning.features import arranged
from foresolve.learning.subsets import as_dataset

NAMES = ("train", "valid", "test")


@dataclass(frozen=True)
class Parts:
    """Training, validation and test data.

    Attributes
    ----------
    left_out: how many instances of validation and test data are not scored, because their truth was filled in.
    """

    train: DecisionDataset
    valid: DecisionDataset
    test: DecisionDataset
    left_out: int = 0

    @property
    def incomplete(self) -> int:
        """How many instances were dropped when the tables were read; parts of the same tables share their count."""
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
        return cls(train, *scored, left_out=len(valid) + len(test) - sum(map(len, scored)))


def _given(parts: Any) -> tuple[DecisionDataset, ...]:
    if not isinstance(parts, Sequence) or len(parts) != 3:
        raise checks.fail("parts", "three data sets: (train, valid, test)", type(parts).__name__)
    train, *others = (_checked(f"parts ({name})", part) for name, part in zip(NAMES, parts))
    return train, *(arranged(f"parts ({n})", part, train.feature_names) for n, part in zip(NAMES[1:], others))


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

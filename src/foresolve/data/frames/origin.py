"""What a data set knows of the frames that it came from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.data.frames.keys import Keys
from foresolve.data.frames.missing import Missing, Rule, statistic
from foresolve.data.frames.reader import FrameReader, uses_statistic


@dataclass(frozen=True, eq=False)
class Origin:
    """Keys, dates, how features are read, and what was missing; it follows the instances into parts.

    Attributes
    ----------
    keys: of the instances.
    times: `(N,)`, `datetime64[ns]`; `None` where rows are not dated.
    reader: of frames of features; `None` where features did not come from one.
    missing: the count, and the rules.
    feature_holes, theta_holes: which entries were missing and have been filled, in the shape of the tables; `None`
        where none were.
    order: for each instance the row of the caller's features that it was; `None` where rows are in the caller's order.
    """

    keys: Keys
    times: np.ndarray | None = None
    reader: FrameReader | None = None
    missing: Missing | None = None
    feature_holes: np.ndarray | None = None
    theta_holes: np.ndarray | None = None
    order: np.ndarray | None = None

    def __repr__(self) -> str:
        dated = "" if self.times is None else ", dated"
        missing = "" if self.missing is None else f", {self.missing}"
        return f"Origin(keys {', '.join(self.keys.names)}{dated}{missing})"

    def select(self, index: Tensor) -> Origin:
        """Of some instances."""
        places = index.detach().cpu().numpy()
        tables = {name: getattr(self, name) for name in ("times", "feature_holes", "theta_holes", "order")}
        chosen = {name: None if table is None else table[places] for name, table in tables.items()}
        return replace(self, keys=self.keys.select(places), **chosen)

    def without_reader(self) -> Origin:
        """Of features that are not those of the frame any more."""
        return replace(self, reader=None, feature_holes=None)

    @property
    def imputed(self) -> np.ndarray | None:
        """`(N,)`: whose truth was filled in; `None` where nobody's was."""
        if self.theta_holes is None or not self.theta_holes.any():
            return None
        return np.asarray(self.theta_holes.reshape(len(self.theta_holes), -1).any(1))

    # -- what fills holes is worked out on the first part ------------------------------------------------------------

    def feature_fill(self, features: Tensor) -> np.ndarray | None:
        """What missing features become, by the known ones of these instances; `None` where that is no statistic."""
        if self.feature_holes is None or self.reader is None or not uses_statistic(self.reader.missing):
            return None
        rows, holes = _rows(features), self.feature_holes.reshape(-1, features.shape[-1])
        return statistic(rows, holes, self.reader.missing, self.reader.encoding)

    def theta_fill(self, theta: Tensor) -> np.ndarray | None:
        """What missing parameters become, likewise."""
        rule = self._theta_rule
        if self.theta_holes is None or rule is None or not uses_statistic(rule):
            return None
        table, holes = theta.detach().cpu().double().numpy(), self.theta_holes.reshape(len(theta), -1)
        unknown = np.flatnonzero(holes.all(0))
        if len(unknown):
            got = f"none of {len(unknown)}, the first at {int(unknown[0])}"
            remedy = "Make it larger, or leave out parameters that are not known yet"
            raise checks.fail("parts", f"such that the first has some entry of each parameter to fill by {rule!r}", got,
                              remedy)  # fmt: skip
        return statistic(table.reshape(len(theta), -1), holes, rule)

    @property
    def _theta_rule(self) -> Rule | None:
        return None if self.missing is None else self.missing.rules[1]

    def refilled_features(self, features: Tensor, values: np.ndarray) -> Tensor:
        """Features with these values in their holes."""
        return refilled(features, self.feature_holes, values)

    def refilled_theta(self, theta: Tensor, values: np.ndarray) -> Tensor:
        """Parameters with these values in their holes."""
        return refilled(theta, self.theta_holes, values.reshape(theta.shape[1:]))


def refilled(table: Tensor, holes: np.ndarray | None, values: np.ndarray) -> Tensor:
    """A table `(N, ...)` with `values`, for its last dimensions, where there are holes."""
    if holes is None:
        return table
    return torch.where(torch.from_numpy(holes).to(table.device), torch.from_numpy(np.asarray(values)).to(table), table)


def _rows(features: Any) -> np.ndarray:
    return features.detach().cpu().double().numpy().reshape(-1, features.shape[-1])

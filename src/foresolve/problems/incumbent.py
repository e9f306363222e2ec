"""Decisions as good as they are known to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from foresolve.solvers.exact.outcome import Ending, Outcome


@dataclass(frozen=True)
class Incumbent:
    """The best decisions known, and what is proven of them; every tensor is `(*batch, ...)`.

    Attributes
    ----------
    x: the decisions `(*batch, n)`; NaN where none is known.
    value: their objectives, to be maximized as always (`-theta'x` for costs); `-inf` where no decision is known.
    bound: no decision has a larger objective; equal to `value` where it is proven to be the best.
    status: `foresolve.problems.Ending` codes.
    """

    x: Tensor
    value: Tensor
    bound: Tensor
    status: Tensor

    @property
    def optimal(self) -> Tensor:
        """Which decisions are proven to be the best: those that `solve` gives."""
        return self.status == int(Ending.OPTIMAL)

    @property
    def gap(self) -> Tensor:
        """`(bound - value) / |value|`; infinite where no decision is known."""
        share = (self.bound - self.value) / self.value.abs()
        return torch.where(self.value.isfinite(), torch.where(self.bound > self.value, share, 0.0), torch.inf)

    def shifted(self, constant: Tensor) -> Self:
        """With a term of the objective that no decision changes."""
        return replace(self, value=self.value + constant, bound=self.bound + constant)

    @classmethod
    def of(cls, outcomes: Sequence[Outcome], gains: Tensor, like: Tensor, batch: torch.Size) -> Self:
        """From outcomes for gains `(B, n)`; `x` has the dtype and device of `like`, the rest is double precision."""
        count, n = gains.shape
        unknown = np.full(n, np.nan)
        x = torch.from_numpy(np.array([unknown if one.x is None else one.x for one in outcomes]).reshape(count, n))
        value = (gains.cpu() * x).sum(-1).nan_to_num(nan=-torch.inf)
        bound = torch.tensor([one.bound for one in outcomes], dtype=torch.float64)
        status = torch.tensor([int(one.ending) for one in outcomes], dtype=torch.int64)
        optimal, infeasible = status == int(Ending.OPTIMAL), status == int(Ending.INFEASIBLE)
        bound = torch.where(optimal, value, torch.where(infeasible, -torch.inf, torch.maximum(bound, value)))
        value, bound, status = (part.to(like.device).reshape(batch) for part in (value, bound, status))
        return cls(x.to(like).reshape(*batch, n), value, bound, status)

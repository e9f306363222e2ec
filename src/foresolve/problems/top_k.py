"""The best k of n."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import torch
from torch import Tensor

from foresolve._base import checks, configs, frames
from foresolve._base.items import read_items
from foresolve.problems.base import Sense
from foresolve.problems.constraints import Constraints
from foresolve.problems.drawings.item_drawing import ChoiceDrawing
from foresolve.problems.linear import LinearProgram
from foresolve.solvers.projection.rows import DenseRows


class TopK(ChoiceDrawing, LinearProgram):
    r"""Exactly `k` of `n` items, of the largest total worth, or the least cost; `theta` `(*batch, n)`.

    .. math::
        \max_x \; \theta^\top x \quad \text{s.t.} \quad \sum_i x_i = k, \; 0 \le x \le 1

    Parameters
    ----------
    n: the number of items.
    k: how many to take, from 1 to `n`; items of negative worth too, where others run out.
    sense: "min" where `theta` are costs.
    names: of the items.

    Examples
    --------
    >>> import torch, foresolve
    >>> foresolve.TopK(4, 2).solve(torch.tensor([0.1, 0.9, -2.0, 0.5]))
    tensor([0., 1., 0., 1.])
    """

    def __init__(self, n: int, k: int, *, sense: Sense = "max", names: Sequence[str] | None = None) -> None:
        n, self.k = checks.positive_int("n", n), checks.positive_int("k", k)
        if self.k > n:
            raise checks.fail("k", f"at most `n` ({n})", str(k))
        rows = DenseRows(torch.ones(1, n, dtype=torch.float64))
        rhs = torch.tensor([float(self.k)], dtype=torch.float64)
        constraints = Constraints.of(rows, rhs, torch.tensor([True]), (0.0, 1.0))
        super().__init__(constraints=constraints, sense=sense, names=names)

    @classmethod
    def from_frame(cls, items: Any, k: int, *, name: str = "item", sense: Sense = "max") -> Self:
        """From a table that names the items in its column `name`, once each or once per instance.

        Items are in the order of the table; sorted by name where it has them repeatedly.

        Examples
        --------
        >>> import pandas, foresolve
        >>> foresolve.TopK.from_frame(pandas.DataFrame({"item": ["tea", "rum", "milk"]}), 2).names
        ('tea', 'rum', 'milk')
        """
        rows = read_items("items", frames.as_frame("items", items, (name,)), name)
        return cls(len(rows.names), k, sense=sense, names=rows.names)

    def _decide(self, gains: Tensor, batch: torch.Size) -> Tensor:
        return torch.zeros_like(gains).scatter_(-1, gains.topk(self.k, -1).indices, 1.0)

    def _settings(self) -> configs.Config:
        return {"n": self.n, "k": self.k, "sense": self.sense}

    @classmethod
    def _from_settings(cls, settings: Mapping[str, Any]) -> Self:
        return cls(**{**settings, "n": configs.size(settings, "n")})

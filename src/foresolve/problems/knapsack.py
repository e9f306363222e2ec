"""0/1 knapsacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks, configs, frames
from foresolve._base.items import item_numbers, read_items
from foresolve.problems.drawings.item_drawing import PackingDrawing
from foresolve.problems.linear import LinearProgram
from foresolve.solvers.exact.knapsack import fill
from foresolve.solvers.exact.outcome import Limits, Outcome

# Cells of the dynamic program (items x capacity) up to which it beats branch and bound.
MOST_CELLS = 10_000_000
DECIMALS = tuple(10**places for places in range(7))  # 0.25 is 25 in hundredths
ROUNDING = 4 * np.finfo(np.float64).eps  # within which a number is its decimal, and decimals fit that add up to it


class Knapsack(PackingDrawing, LinearProgram):
    r"""Items of the largest total worth that fit; `theta` `(*batch, n)` are the worths.

    .. math::
        \max_x \; \theta^\top x \quad \text{s.t.} \quad W x \le \text{capacity}, \; x \in \{0, 1\}^n

    Layers relax `x` to [0, 1]. One dimension of weights that are integers or short decimals (0.25) and that all
    instances share is solved by dynamic programming over the whole batch, anything else by HiGHS, exactly. Items of
    non-positive worth are never taken.

    Parameters
    ----------
    weights: `>= 0`, `(n,)` for one dimension, `(*batch, d, n)` for `d` of them.
    capacity: `>= 0`, a number, `(d,)` or `(*batch, d)`.
    names: of the items.

    Examples
    --------
    >>> import torch, foresolve
    >>> problem = foresolve.Knapsack(weights=[3, 4, 5], capacity=8)
    >>> problem.solve(torch.tensor([[3.0, 4.0, 5.5], [3.0, 6.0, 5.5]]))
    tensor([[1., 0., 1.],
            [1., 1., 0.]])
    """

    def __init__(self, weights: Any, capacity: Any, *, names: Sequence[str] | None = None) -> None:
        rows, most = checks.as_tensor("weights", weights), checks.as_tensor("capacity", capacity)
        if rows.ndim == 0 or rows.shape[-1] == 0:
            raise checks.fail("weights", "(n,) or (*batch, d, n)", f"shape {tuple(rows.shape)}")
        if not isinstance(weights, Tensor) and isinstance(capacity, Tensor):
            rows = rows.to(most.device)
        if not isinstance(capacity, Tensor):
            most = most.to(rows.device)
        rows = rows[None] if rows.ndim == 1 else rows
        most = most.expand(rows.shape[-2]) if most.ndim == 0 else most
        checks.last_dim("capacity", most, rows.shape[-2], f"the {rows.shape[-2]} rows of `weights`")
        checks.same_device("capacity", most, rows.device, "weights")
        checks.broadcast_batch({"`weights`": rows.shape[:-2], "`capacity`": most.shape[:-1]})
        for name, tensor in (("weights", rows), ("capacity", most)):
            checks.finite(name, tensor)
            if bool((tensor < 0).any()):
                where = (tensor < 0).nonzero()[0].tolist()
                raise checks.fail(name, ">= 0", f"{tensor[tuple(where)].item()} at {where}")
        super().__init__(A_ub=rows, b_ub=most, bounds=(0.0, 1.0), integrality=1, names=names)

    @classmethod
    def from_frame(
        cls, items: Any, capacity: Any, *, weight: str | Sequence[str] = "weight", name: str = "item"
    ) -> Self:
        """From a table of items, or of items in many instances, whose weights must then be the same in all of them.

        Parameters
        ----------
        items: a frame or the path of a file. Items are in its order; sorted by name where it has them repeatedly.
        capacity: a number, or one for each of several weights.
        weight: the column of weights; several for several dimensions.
        name: the column of names.

        Examples
        --------
        >>> import pandas, torch, foresolve
        >>> sales = pandas.DataFrame({"item": ["tea", "rum", "rum", "tea"], "weight": [3, 5, 5, 3]})  # of two days
        >>> problem = foresolve.Knapsack.from_frame(sales, 6)
        >>> problem.names, problem.chosen(problem.solve(torch.tensor([2.0, 1.0])))
        (('rum', 'tea'), ['rum'])
        """
        frame = frames.as_frame("items", items, (name,))
        rows = read_items("items", frame, name)
        titles = [weight] if isinstance(weight, str) else list(weight)
        weights = [item_numbers("items", frame, title, rows, name, "weight") for title in titles]
        return cls(np.stack(weights), capacity, names=rows.names)

    @property
    def weights(self) -> Tensor:
        """The weights of the items, `(d, n)` or `(*batch, d, n)`."""
        return self.constraints.dense()

    @property
    def capacity(self) -> Tensor:
        """What fits, `(d,)` or `(*batch, d)`."""
        return self.constraints.rhs

    @cached_property
    def _table(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Where dynamic programming applies, its numbers."""
        return _integer_table(self.weights.detach(), self.capacity.detach())

    def _decide(self, gains: Tensor, batch: torch.Size) -> Tensor | None:
        if self._table is None:
            return None
        weights, capacity = self._table
        capacities = np.broadcast_to(capacity, tuple(batch)).reshape(-1)
        return fill(gains, weights, torch.from_numpy(capacities.copy()).to(gains.device))

    def _search(self, gains: Tensor, batch: torch.Size, limits: Limits) -> list[Outcome]:
        outcomes = super()._search(gains, batch, limits)
        worthy = (gains > 0).cpu().numpy()
        return [
            outcome if outcome.x is None else outcome._replace(x=np.where(row, outcome.x, 0.0))
            for outcome, row in zip(outcomes, worthy, strict=True)
        ]

    def _settings(self) -> configs.Config:
        return {"weights": self.weights, "capacity": self.capacity}

    @classmethod
    def _from_settings(cls, settings: Mapping[str, Any]) -> Self:
        return cls(configs.tensor(settings, "weights"), configs.tensor(settings, "capacity"), names=settings["names"])


def _integer_table(weights: Tensor, capacity: Tensor) -> tuple[np.ndarray, np.ndarray] | None:
    """Weights `(n,)` and capacities `(*batch)` in their largest unit, where dynamic programming applies."""
    if tuple(weights.shape[:-1]) != (1,):
        return None
    row, most = weights[0].cpu().double().numpy(), capacity[..., 0].cpu().double().numpy()
    for scale in DECIMALS:
        integers, limits = np.round(row * scale), np.minimum(most, row.sum()) * scale
        if integers.sum() <= 2**52 and (abs(row * scale - integers) <= ROUNDING * integers).all():
            whole = integers.astype(np.int64)
            unit = max(int(np.gcd.reduce(whole)), 1)
            limits = np.floor(limits * (1 + ROUNDING) / unit).astype(np.int64)
            return (whole // unit, limits) if (limits.max(initial=0) + 1) * len(row) <= MOST_CELLS else None
    return None

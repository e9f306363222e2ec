"""Matroids: which sets of items may be taken together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from foresolve._base import checks, configs
from foresolve.errors import ForesolveError


@dataclass(frozen=True)
class MatroidProjection:
    """The nearest point of a matroid polytope, and what its derivative needs.

    Attributes
    ----------
    x: `(*batch, n)` the point.
    price: `(*batch, n)` the sum of the multipliers of the tight sets that hold the item: `x = clip(y - price, 0, 1)`.
    group: `(*batch, n)` the set whose multiplier sets the item's price; -1: none.
    free: `(*batch, n)` whether the item moves with `y`: it is strictly between its bounds, `0 < y - price < 1`. (Those
        who know more of `y` may count items at a bound as free: see `SmoothedProgram.project`.)
    sets: how many sets there are: `group < sets`.
    """

    x: Tensor
    price: Tensor
    group: Tensor
    free: Tensor
    sets: int

    def tangent(self, v: Tensor) -> Tensor:
        """The derivative of the projection along `v` `(..., *batch, n)`; linear in `v`, and its own transpose.

        Free items of one group share a price that keeps their sum: `v` is centered among them. Free items without a
        group move as `y` does, the others not at all. At a kink, where one-sided derivatives differ, it is one of the
        projection's generalized derivatives.
        """
        free, group = self.free.expand(v.shape), self.group.expand(v.shape)
        moving = torch.where(free, v, 0.0)
        if self.sets <= 1:
            bound = free & (group >= 0)
            mean = torch.where(bound, moving, 0.0).sum(-1, keepdim=True) / bound.sum(-1, keepdim=True).clamp_min(1)
            return torch.where(bound, moving - mean, moving)
        # The last column collects the items without a group, whose mean is not taken off.
        index = torch.where(group >= 0, group, self.sets)
        empty = v.new_zeros(*v.shape[:-1], self.sets + 1)
        mean = empty.scatter_add(-1, index, moving) / empty.scatter_add(-1, index, free.to(v)).clamp_min(1)
        return torch.where(free & (group >= 0), moving - mean.gather(-1, index), moving)


class Matroid(ABC):
    """A family of independent sets of `n` items: every subset of one is one, and the smaller of two can be extended
    from the larger.

    Attributes
    ----------
    n: the number of items.
    rank: the size of its bases, the independent sets that nothing can be added to.
    device: where its tensors live.

    Examples
    --------
    >>> import torch
    >>> from foresolve.sets import GraphicMatroid
    >>> triangle = GraphicMatroid([(0, 1), (1, 2), (2, 0)])
    >>> triangle.n, triangle.rank
    (3, 2)
    """

    n: int
    rank: int
    device: torch.device

    @abstractmethod
    def independent(self, mask: Tensor) -> Tensor:
        """A mask `(*batch,)` of the sets, given as 0/1 or boolean `(*batch, n)`, that are independent."""

    @abstractmethod
    def addable(self, mask: Tensor) -> Tensor:
        """A mask `(*batch, n)` of the items outside of an independent set `(*batch, n)` that may join it."""

    @abstractmethod
    def maximize(self, gains: Tensor, *, base: bool = True, check: bool = True) -> Tensor:
        r"""The base of largest total gain, by the greedy algorithm, which is exact for matroids.

        Parameters
        ----------
        gains: `(*batch, n)`; of equal ones the item of the lowest index comes first.
        base: whether to take a base; otherwise items without a positive gain are left out.
        check: whether to look for NaN, for which the CPU waits for a GPU.

        Returns
        -------
        0/1 `(*batch, n)` in the dtype of `gains`.
        """

    @abstractmethod
    def excess(self, x: Tensor, *, base: bool = True) -> dict[str, Tensor]:
        """Amounts by which `x` `(*batch, n)` breaks each constraint (negative: slack), `(*batch, count)` for each kind:
        `lower`, `upper`, `sets` and, for a base, `base`."""

    @abstractmethod
    def to(self, device: torch.device | str) -> Self:
        """The same matroid on another device."""

    def config(self) -> dict[str, Any]:
        """Settings that make the same matroid again by `from_config`: numbers, strings, lists, dicts and tensors."""
        raise ForesolveError(f"{type(self).__name__} cannot be written to a file: it gives no `config()`")

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The matroid that `config()` describes; by default from its entries, `n` among them."""
        return cls(**{**config, "n": configs.size(config, "n")})

    def _exchanges(self, first: Tensor, second: Tensor, item: Tensor) -> Tensor:
        """The items `f` of `second - first` that can be exchanged for `item` `(B,)` of `first - second`, both ways.

        Sets are boolean `(B, n + rank)`, all of size `rank`: after the `n` items come fillers, any of which may join
        any set. `first - item + f` and `second - f + item` must both be independent; for matroids one `f` always is.
        """
        candidates = second & ~first
        row, f = candidates.nonzero(as_tuple=True)
        pair, e = torch.arange(len(row), device=row.device), item[row]
        left, right = first[row], second[row]
        left[pair, e], left[pair, f], right[pair, f], right[pair, e] = False, True, False, True
        sound = self.independent(left[:, : self.n]) & self.independent(right[:, : self.n])
        return candidates.index_put((row, f), sound)

    def _take(self, name: str, value: Any, *, check: bool) -> tuple[Tensor, torch.Size]:
        """`value` flat in float64, `(B, n)`, without its graph, and its batch shape."""
        value = checks.as_tensor(name, value).detach()
        self._fits(name, value)
        if check:
            checks.finite(name, value)
        return value.double().reshape(-1, self.n), value.shape[:-1]

    def _mask(self, mask: Tensor, *, check: bool) -> tuple[Tensor, torch.Size]:
        """A boolean `(B, n)` and the batch shape."""
        self._fits("mask", mask)
        if mask.dtype != torch.bool:
            if check and bool(((mask != 0) & (mask != 1)).any()):
                raise checks.fail("mask", "0/1 or boolean", "other numbers", "Round first, or use `excess`")
            mask = mask > 0.5
        return mask.reshape(-1, self.n), mask.shape[:-1]

    def _fits(self, name: str, value: Tensor) -> None:
        checks.last_dim(name, value, self.n, "the matroid")
        if value.device != self.device:
            remedy = f"Move one of them, for example with `matroid.to({str(value.device)!r})`"
            raise checks.fail(name, f"on the matroid's device ({self.device})", str(value.device), remedy)


class PolyhedralMatroid(Matroid):
    """A matroid whose polytope is a short list of rows: it can be projected on, and written into a linear program."""

    @cached_property
    def center(self) -> Tensor:
        """The point of the base polytope nearest to the origin `(n,)`, float64: where solves start."""
        return self.project(torch.zeros(self.n, dtype=torch.float64, device=self.device)).x

    @abstractmethod
    def project(self, y: Tensor, *, base: bool = True, check: bool = True) -> MatroidProjection:
        r"""The nearest point of the base polytope (or of the independence polytope: `base=False`) to `y` `(*batch, n)`.

        .. math::
            \min_x \; \tfrac12 |x - y|^2 \quad \text{s.t.} \quad x(S) \le r(S) \;\forall S, \; x \ge 0 \;
            (\text{and } x(E) = r(E) \text{ on the base polytope})

        `check` says whether to look for NaN and infinities, for which the CPU waits for a GPU. The result is not
        attached to a graph: its derivative is `MatroidProjection.tangent`.
        """

    def full(self, x: Tensor) -> Tensor:
        """A mask of the items in a set that is full at `x` `(B, n)` up to rounding, so that they cannot rise alone."""
        matrix, limits = self.rows()
        holds, limits = (torch.from_numpy(array).to(x) for array in (matrix.toarray(), limits))
        tight = x @ holds.T >= limits - 1e-12 * limits.clamp_min(1)
        return tight.to(x) @ holds > 0

    @abstractmethod
    def rows(self) -> tuple[scipy.sparse.csr_array, np.ndarray]:
        """`A`, `b` with the independence polytope = `{0 <= x <= 1, A x <= b}`."""

"""A polytope (or a batch of them) in the form the solvers work on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from foresolve.solvers.arrays import Array, to_array
from foresolve.solvers.projection.metric import IDENTITY, Metric
from foresolve.solvers.projection.rows import Rows


@dataclass(frozen=True)
class Polytope:
    """`{x : C x = rhs on `equality`, C x <= rhs elsewhere, lower <= x <= upper}`.

    `rhs`, `lower` and `upper` are `(B, ...)`, where `B` may be 1 for data shared by a batch. They are tensors where a
    problem made the polytope, and arrays of the solvers in `numeric()`. `metric` is the norm in which points are
    projected on it.
    """

    rows: Rows
    rhs: Any
    equality: Any
    lower: Any
    upper: Any
    metric: Metric = IDENTITY

    @property
    def matrix_side(self) -> int:
        """The side of the largest dense matrix that is factorized for an instance."""
        return max(self.rows.side, self.metric.side)

    def expand(self, batch: int) -> Polytope:
        """Views with an explicit leading dimension `batch`."""
        rhs, lower, upper = (tensor.expand(batch, -1) for tensor in (self.rhs, self.lower, self.upper))
        return Polytope(self.rows, rhs, self.equality, lower, upper, self.metric)

    def select(self, index: Array) -> Polytope:
        """The polytopes of some instances of an expanded batch."""
        rows = self.rows.select(index)
        metric = self.metric.select(index)
        return Polytope(rows, self.rhs[index], self.equality, self.lower[index], self.upper[index], metric)

    def numeric(self) -> Polytope:
        """The same numbers as the solvers want them, out of the autograd graph."""
        rhs, equality, lower, upper = map(to_array, (self.rhs, self.equality, self.lower, self.upper))
        rows = self.rows.numeric
        return Polytope(rows, rhs, equality, lower, upper, self.metric.numeric().reinforced(rows, equality))

    def detach(self) -> Polytope:
        """The same set, out of the autograd graph."""
        values, rhs, lower, upper = (tensor.detach() for tensor in (self.rows.values, self.rhs, self.lower, self.upper))
        return Polytope(self.rows.with_values(values), rhs, self.equality, lower, upper)

    def to(self, device: torch.device) -> Polytope:
        """The same set on another device."""
        tensors = (tensor.to(device) for tensor in (self.rhs, self.equality, self.lower, self.upper))
        return Polytope(self.rows.to(device), *tensors)

    def tensors(self) -> tuple[Tensor, ...]:
        """Tensors that gradients may be asked for: entries of rows, `rhs`, `lower`, `upper`, what the metric has."""
        return self.rows.values, self.rhs, self.lower, self.upper, *self.metric.tensors()

"""What is decided."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import torch
from torch import Tensor

from foresolve.errors import ForesolveError


class Problem(ABC):
    """`max_x objective(x, theta)` over a feasible set: immutable data, every tensor `(*batch, ...)`.

    Attributes
    ----------
    exact: whether `solve` is a global optimum (to solver tolerance), not a heuristic.
    linear: whether the objective is `gain(theta)' x`, so that gradients of the oracle's value are its decisions.
    batch_shape: `()` where all instances share the feasible set.
    device: where the problem's tensors live.
    """

    exact: bool
    linear: bool = False
    batch_shape: torch.Size
    device: torch.device

    @abstractmethod
    def objective(self, x: Tensor, theta: Tensor) -> Tensor:
        """The value of decisions `x` under `theta`, to be maximised; differentiable in both."""

    @abstractmethod
    def solve(self, theta: Tensor) -> Tensor:
        """The best discrete decision for each instance; no gradient passes."""

    def gain(self, theta: Tensor) -> Tensor:
        """For linear objectives, the coefficients that are maximised: `objective(x, theta) = gain(theta)' x`."""
        raise ForesolveError(f"the objective of {type(self).__name__} is not linear in x: it has no coefficients")

    def select(self, index: Tensor) -> Self:
        """The problem of some instances `(B,)`; itself where all share it."""
        if self.batch_shape:
            raise ForesolveError(f"{type(self).__name__} has a feasible set per instance and cannot be selected from")
        return self

    @abstractmethod
    def to(self, device: torch.device | str) -> Self:
        """The same problem on another device."""

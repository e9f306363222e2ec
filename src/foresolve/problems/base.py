"""What is decided."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import torch
from torch import Tensor


class Problem(ABC):
    """`max_x objective(x, theta)` over a feasible set: immutable data, every tensor `(*batch, ...)`.

    Attributes
    ----------
    exact: whether `solve` is a global optimum (to solver tolerance), not a heuristic.
    batch_shape: `()` where all instances share the feasible set.
    device: where the problem's tensors live.
    """

    exact: bool
    batch_shape: torch.Size
    device: torch.device

    @abstractmethod
    def objective(self, x: Tensor, theta: Tensor) -> Tensor:
        """The value of decisions `x` under `theta`, to be maximised; differentiable in both."""

    @abstractmethod
    def solve(self, theta: Tensor) -> Tensor:
        """The best discrete decision for each instance; no gradient passes."""

    @abstractmethod
    def to(self, device: torch.device | str) -> Self:
        """The same problem on another device."""

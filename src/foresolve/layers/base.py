"""How gradients pass."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from torch import Tensor, nn

from foresolve.problems.base import Problem


class Layer(nn.Module):
    """`layer(theta, problem) -> x`: a differentiable stand-in for `problem.solve(theta)`."""

    @abstractmethod
    def forward(self, theta: Tensor, problem: Any) -> Tensor:
        """Decisions `(*batch, n)`, differentiable in `theta`."""

    def __call__(self, theta: Tensor, problem: Problem) -> Tensor:
        return super().__call__(theta, problem)

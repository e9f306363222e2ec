"""Decisions compared by their values."""

from __future__ import annotations

from typing import Any

from torch import Tensor


class Objectives:
    """What every problem offers to losses that compare decisions."""

    linear: bool

    def objectives(self: Any, decisions: Tensor, theta: Tensor) -> Tensor:
        """The value of each of `decisions` `(K, n)` under each of `theta` `(B, *theta_shape)`, `(B, K)` in float64."""
        if self.linear:
            return linear_objectives(self, decisions, theta)
        x = decisions.expand(len(theta), *decisions.shape)
        return self.objective(x, theta.unsqueeze(1).expand(-1, len(decisions), *theta.shape[1:])).double()

    def advantage(self: Any, x: Tensor, y: Tensor, theta: Tensor) -> Tensor:
        """`objective(x, theta) - objective(y, theta)`, `(*batch,)`, of linear and quadratic problems."""
        return (self.gain(theta) * (x - y)).sum(-1)


def linear_objectives(problem: Any, decisions: Tensor, theta: Tensor) -> Tensor:
    """The same of what is linear in `x`, without a table `(B, K, n)`."""
    values = problem.gain(theta).double() @ decisions.double().T.to(theta.device)
    return values + problem.constant(theta).unsqueeze(-1)

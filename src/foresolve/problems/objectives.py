"""Decisions compared by their values."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

MOST_NUMBERS = 2**20  # of parameters at a time: the system maps larger temporaries anew each time


class Objectives:
    """What every problem offers to losses that compare decisions."""

    linear: bool

    def objectives(self: Any, decisions: Tensor, theta: Tensor) -> Tensor:
        """The value of each of `decisions` `(K, n)` under each of `theta` `(B, *theta_shape)`, `(B, K)` in float64."""
        if self.linear:
            return linear_objectives(self, decisions, theta)
        parts = decisions.split(max(1, MOST_NUMBERS // max(1, theta.numel())))
        return torch.cat([_each_with_each(self, part, theta) for part in parts], 1)

    def advantage(self: Any, x: Tensor, y: Tensor, theta: Tensor) -> Tensor:
        """`objective(x, theta) - objective(y, theta)`, `(*batch,)`, of linear and quadratic problems."""
        return (self.gain(theta) * (x - y)).sum(-1)


def _each_with_each(problem: Any, decisions: Tensor, theta: Tensor) -> Tensor:
    x = decisions.expand(len(theta), *decisions.shape)
    return problem.objective(x, theta.unsqueeze(1).expand(-1, len(decisions), *theta.shape[1:])).double()


def linear_objectives(problem: Any, decisions: Tensor, theta: Tensor) -> Tensor:
    """The same of what is linear in `x`, without a table `(B, K, n)`."""
    values = problem.gain(theta).double() @ decisions.double().T.to(theta.device)
    return values + problem.constant(theta).unsqueeze(-1)

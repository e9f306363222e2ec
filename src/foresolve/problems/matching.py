"""Bipartite matching and assignment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks, configs
from foresolve.problems.constraints import Constraints
from foresolve.problems.linear import LinearProgram
from foresolve.solvers.projection.rows import BipartiteRows


class _Pairs(LinearProgram):
    """What problems over the pairs of two sides share; pair `(i, j)` is variable `i * right + j`."""

    def __init__(self, left: int, right: int, equality: list[bool], names: Sequence[str] | None) -> None:
        self.left, self.right = left, right
        rhs = torch.ones(left + right, dtype=torch.float64)
        rows = BipartiteRows(left, right)
        constraints = Constraints.of(rows, rhs, torch.tensor(equality), (0.0, 1.0), implied_upper=True)
        super().__init__(constraints=constraints, names=names)

    def check_theta(self, theta: Any) -> Tensor:
        """`theta` as a floating tensor; a matrix of weights is refused with the remedy."""
        theta = checks.as_tensor("theta", theta)
        if theta.shape[-1:] != self.theta_shape and theta.shape[-2:] == (self.left, self.right):
            raise checks.fail(
                "theta",
                f"(*batch, {self.theta_shape[0]}) to match the problem",
                str(tuple(theta.shape)),
                "Flatten its last two dimensions: `theta.flatten(-2)`",
            )
        return super().check_theta(theta)

    def _name(self, kind: str, index: int) -> str:
        if kind in {"A_eq", "A_ub"}:  # rows are counted within their kind
            index = int((self.constraints.equality == (kind == "A_eq")).nonzero()[index])
            return f"left {index}" if index < self.left else f"right {index - self.left}"
        return f"pair ({index // self.right}, {index % self.right})"

    def _settings(self) -> configs.Config:
        return {"left": self.left, "right": self.right}

    @classmethod
    def _from_settings(cls, settings: Mapping[str, Any]) -> Self:
        configs.limited("left * right", configs.size(settings, "left") * configs.size(settings, "right"))
        return cls(**settings)

    def _pick(self, weights: Tensor) -> Tensor:
        """A best assignment of the smaller side for each of `(B, n)` weights."""
        from scipy.optimize import linear_sum_assignment  # takes as long to import as half of foresolve

        grids = weights.cpu().numpy().reshape(-1, self.left, self.right)
        x = np.zeros_like(grids)
        for grid, chosen in zip(grids, x, strict=True):
            chosen[linear_sum_assignment(grid, maximize=True)] = 1.0
        return torch.from_numpy(x).reshape(-1, self.n).to(weights.device)


class BipartiteMatching(_Pairs):
    r"""Pairs of maximum total weight, each node in at most one; `theta` `(*batch, left * right)` are the weights.

    .. math::
        \max_x \; \sum_{ij} \theta_{ij} x_{ij} \quad \text{s.t.} \quad \sum_j x_{ij} \le 1, \;
        \sum_i x_{ij} \le 1, \; 0 \le x \le 1

    `theta` is row-major: pair `(i, j)` is entry `i * right + j`. A pair of non-positive weight is never taken: its
    nodes stay unmatched. Solved by SciPy's `linear_sum_assignment`.

    Parameters
    ----------
    left, right: the number of nodes on each side.
    names: of the pairs.

    Examples
    --------
    >>> import torch, foresolve
    >>> problem = foresolve.BipartiteMatching(2, 2)
    >>> theta = torch.tensor([[3.0, 2.0], [2.0, -1.0]])
    >>> problem.solve(theta.flatten()).reshape(2, 2)
    tensor([[0., 1.],
            [1., 0.]])
    """

    def __init__(self, left: int, right: int, *, names: Sequence[str] | None = None) -> None:
        left, right = checks.positive_int("left", left), checks.positive_int("right", right)
        super().__init__(left, right, [False] * (left + right), names)

    def _decide(self, gains: Tensor, batch: torch.Size) -> Tensor:
        return torch.where(gains > 0, self._pick(gains.clamp_min(0.0)), 0.0)


class Assignment(_Pairs):
    r"""Every node of the smaller side gets a partner of its own, at maximum total weight, which may be negative.

    .. math::
        \max_x \; \sum_{ij} \theta_{ij} x_{ij} \quad \text{s.t.} \quad \sum_j x_{ij} = 1 \;\; \forall i, \;
        \sum_i x_{ij} \le 1 \;\; \forall j, \; 0 \le x \le 1

    for `left <= right`, with the sides exchanged otherwise, and equalities on both where the sides are equal. `theta`
    is `(*batch, left * right)`, row-major. Solved by SciPy's `linear_sum_assignment`.

    Parameters
    ----------
    left, right: the number of nodes on each side; `right` is `left` by default.
    names: of the pairs.

    Examples
    --------
    >>> import torch, foresolve
    >>> problem = foresolve.problems.Assignment(2, 3)
    >>> theta = -torch.tensor([[1.0, 2.0, 3.0], [1.0, 4.0, 5.0]])
    >>> problem.solve(theta.flatten()).reshape(2, 3)
    tensor([[0., 1., 0.],
            [1., 0., 0.]])
    """

    def __init__(self, left: int, right: int | None = None, *, names: Sequence[str] | None = None) -> None:
        left = checks.positive_int("left", left)
        right = left if right is None else checks.positive_int("right", right)
        super().__init__(left, right, [left <= right] * left + [right <= left] * right, names)

    def _decide(self, gains: Tensor, batch: torch.Size) -> Tensor:
        return self._pick(gains)

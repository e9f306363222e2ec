"""Bipartite matching and assignment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks, configs, frames
from foresolve._base.items import as_side, read_items
from foresolve.errors import ForesolveWarning
from foresolve.problems.base import Sense
from foresolve.problems.constraints import Constraints
from foresolve.problems.drawings.pair_drawing import PairDrawing
from foresolve.problems.linear import LinearProgram
from foresolve.problems.naming import taken
from foresolve.solvers.projection.rows import BipartiteRows

Side = tuple[int, tuple[str, ...] | None]


def _warn_of_absent(sides: list[list[str]], present: set[tuple[str, str]]) -> None:
    """Whoever leaves a pair out of a table may take it for one that is never chosen."""
    absent = [pair for pair in product(*sides) if pair not in present]
    if absent:
        checks.warn(
            f"`pairs` lacks {len(absent)} of {len(present) + len(absent)} pairs, such as {absent[0]}: they can be "
            "chosen like all others, and need parameters. Give a pair that must not be chosen a very low one",
            ForesolveWarning,
        )


class _Pairs(PairDrawing, LinearProgram):
    """What problems over the pairs of two sides share; pair `(i, j)` is variable `i * right + j`.

    `sides` are the names of both, where these are known.
    """

    def __init__(
        self, sides: tuple[Side, Side], equality: list[bool], names: Sequence[str] | None, sense: Sense = "max"
    ) -> None:
        (left, left_names), (right, right_names) = sides
        self.left, self.right = left, right
        self.left_names, self.right_names = left_names, right_names
        if names is None and left_names is not None and right_names is not None:
            names = [f"{a} | {b}" for a in left_names for b in right_names]
        rhs = torch.ones(left + right, dtype=torch.float64)
        rows = BipartiteRows(left, right)
        constraints = Constraints.of(rows, rhs, torch.tensor(equality), (0.0, 1.0), implied_upper=True)
        super().__init__(constraints=constraints, sense=sense, names=names)

    @classmethod
    def from_frame(cls, pairs: Any, *, left: str = "left", right: str = "right") -> Self:
        """From a table that names the nodes of both sides, in two columns: all pairs of them can be made.

        The nodes of a side are in the order of the table; sorted by name where it has them repeatedly. A table of pairs
        that lacks some is warned of: there is no pair that cannot be made.

        Examples
        --------
        >>> import pandas, torch, foresolve
        >>> scores = pandas.DataFrame({"who": ["ann", "ann", "bob", "bob"], "job": ["dig", "cook", "dig", "cook"]})
        >>> problem = foresolve.BipartiteMatching.from_frame(scores, left="who", right="job")
        >>> problem.theta_axes
        (('ann', 'bob'), ('cook', 'dig'))
        >>> problem.pairs(problem.solve(torch.tensor([3.0, 1.0, 3.0, 2.0])))
        [('ann', 'cook'), ('bob', 'dig')]
        """
        return cls(*cls._sides(pairs, left, right))

    @staticmethod
    def _sides(pairs: Any, left: str, right: str) -> Any:
        frame = frames.as_frame("pairs", pairs, (left, right))
        sides = [read_items("pairs", frame, title, role).names for title, role in ((left, "left"), (right, "right"))]
        if len(frame) > max(map(len, sides)):  # pairs, not only names
            _warn_of_absent(sides, set(zip(frames.as_texts(frame[left]), frames.as_texts(frame[right]))))
        return sides

    @property
    def theta_axes(self) -> tuple[tuple[str, ...], ...] | None:
        """The names of both sides; where `theta` is not the pairs' weights, its names."""
        if self.parameters is not None or self.left_names is None or self.right_names is None:
            return super().theta_axes
        return self.left_names, self.right_names

    def pairs(self, x: Tensor) -> list[Any]:
        """The pairs of one decision `(n,)`, by name or number; of a batch, a list for each.

        Examples
        --------
        >>> import torch, foresolve
        >>> problem = foresolve.BipartiteMatching(["ann", "bob"], ["dig", "cook"])
        >>> problem.pairs(problem.solve(torch.tensor([1.0, 3.0, 2.0, 3.0])))
        [('ann', 'cook'), ('bob', 'dig')]
        """
        x = checks.as_tensor("x", x)
        checks.last_dim("x", x, self.n)
        if x.ndim > 1:
            return [self.pairs(row) for row in x]
        places = taken(x).nonzero().flatten().tolist()
        left, right = self.left_names or range(self.left), self.right_names or range(self.right)
        return [(left[place // self.right], right[place % self.right]) for place in places]

    def words(self, x: Tensor) -> Any:
        """The pairs."""
        return self.pairs(x)

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
            left, right = self.left_names or range(self.left), self.right_names or range(self.right)
            return f"left {left[index]}" if index < self.left else f"right {right[index - self.left]}"
        return f"pair ({index // self.right}, {index % self.right})"

    def _settings(self) -> configs.Config:
        names = {"left_names": self.left_names, "right_names": self.right_names}
        given = {side: None if part is None else list(part) for side, part in names.items()}
        return {"left": self.left, "right": self.right, **given}

    @classmethod
    def _from_settings(cls, settings: Mapping[str, Any]) -> Self:
        return cls(*cls._stored_sides(settings), names=settings["names"])

    @staticmethod
    def _stored_sides(settings: Mapping[str, Any]) -> Any:
        return [settings.get(f"{side}_names") or configs.size(settings, side) for side in ("left", "right")]

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
    left, right: the number of nodes on each side, or their names.
    names: of the pairs; by default "left | right", where nodes have names.

    Examples
    --------
    >>> import torch, foresolve
    >>> problem = foresolve.BipartiteMatching(2, 2)
    >>> theta = torch.tensor([[3.0, 2.0], [2.0, -1.0]])
    >>> problem.solve(theta.flatten()).reshape(2, 2)
    tensor([[0., 1.],
            [1., 0.]])
    """

    def __init__(
        self, left: int | Sequence[str], right: int | Sequence[str], *, names: Sequence[str] | None = None
    ) -> None:
        sides = as_side("left", left), as_side("right", right)
        super().__init__(sides, [False] * (sides[0][0] + sides[1][0]), names)

    def _decide(self, gains: Tensor, batch: torch.Size) -> Tensor:
        return torch.where(gains > 0, self._pick(gains.clamp_min(0.0)), 0.0)


class Assignment(_Pairs):
    r"""Every node of the smaller side gets a partner of its own, at maximum total weight, which may be negative.

    .. math::
        \max_x \; \sum_{ij} \theta_{ij} x_{ij} \quad \text{s.t.} \quad \sum_j x_{ij} = 1 \;\; \forall i, \;
        \sum_i x_{ij} \le 1 \;\; \forall j, \; 0 \le x \le 1

    for `left <= right`, with the sides exchanged otherwise, and equalities on both where the sides are equal. `theta`
    is `(*batch, left * right)`, row-major. With `sense="min"` they are costs, and their total is minimized. Solved by
    SciPy's `linear_sum_assignment`.

    Parameters
    ----------
    left, right: the number of nodes on each side, or their names; `right` is as many as `left` by default.
    sense: "min" where `theta` are costs.
    names: of the pairs; by default "left | right", where nodes have names.

    Examples
    --------
    >>> import torch, foresolve
    >>> problem = foresolve.problems.Assignment(2, 3, sense="min")
    >>> theta = torch.tensor([[1.0, 2.0, 3.0], [1.0, 4.0, 5.0]])
    >>> problem.solve(theta.flatten()).reshape(2, 3)
    tensor([[0., 1., 0.],
            [1., 0., 0.]])
    """

    def __init__(
        self,
        left: int | Sequence[str],
        right: int | Sequence[str] | None = None,
        *,
        sense: Sense = "max",
        names: Sequence[str] | None = None,
    ) -> None:
        sides = as_side("left", left), (as_side("left", left)[0], None) if right is None else as_side("right", right)
        (a, _), (b, _) = sides
        super().__init__(sides, [a <= b] * a + [b <= a] * b, names, sense)

    @classmethod
    def from_frame(cls, pairs: Any, *, left: str = "left", right: str = "right", sense: Sense = "max") -> Self:
        """As `BipartiteMatching.from_frame`; with `sense="min"`, parameters are costs.

        Examples
        --------
        >>> import pandas, torch, foresolve
        >>> pairs = pandas.DataFrame({"who": ["ann", "ann", "bob", "bob"], "job": ["dig", "cook", "dig", "cook"]})
        >>> problem = foresolve.problems.Assignment.from_frame(pairs, left="who", right="job", sense="min")
        >>> problem.pairs(problem.solve(torch.tensor([3.0, 1.0, 3.0, 2.0])))
        [('ann', 'dig'), ('bob', 'cook')]
        """
        return cls(*cls._sides(pairs, left, right), sense=sense)

    def _decide(self, gains: Tensor, batch: torch.Size) -> Tensor:
        return self._pick(gains)

    def _settings(self) -> configs.Config:
        return super()._settings() | {"sense": self.sense}

    @classmethod
    def _from_settings(cls, settings: Mapping[str, Any]) -> Self:
        return cls(*cls._stored_sides(settings), sense=settings.get("sense", "max"), names=settings["names"])

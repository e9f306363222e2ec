"""Random submodular problems of few items, and their values on all sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

import foresolve
from tests.stress.draws import Generator, power
from tests.stress.exact import Polytope

SHAPES = ((), (1,), (3,), (2, 2), (0,))


@dataclass(frozen=True)
class SetDraw:
    """A problem, parameters `(*batch, n, targets)`, and the same set function by name for the reference."""

    name: str
    weights: np.ndarray  # of coverage: (targets,), or (*batch, targets)
    share: float  # of coverage in a sum
    family: tuple[tuple[tuple[int, ...], int], ...]  # sets and capacities of the matroid
    matroid: foresolve.sets.Matroid
    theta: Tensor
    gamma: float
    base: bool
    cotangent: Tensor

    def problem(self) -> foresolve.SubmodularProblem:
        coverage = foresolve.ProbabilisticCoverage(torch.from_numpy(self.weights))
        functions = {
            "coverage": lambda: coverage,
            "facility": foresolve.sets.FacilityLocation,
            "sum": lambda: self.share * coverage + foresolve.sets.FacilityLocation(),
        }
        return foresolve.SubmodularProblem(functions[self.name](), self.matroid)

    @property
    def batch(self) -> tuple[int, ...]:
        return tuple(self.theta.shape[:-2])

    @property
    def count(self) -> int:
        return int(np.prod(self.batch))

    def lattices(self) -> list[Lattice]:
        """The reference of each instance."""
        n, targets = self.theta.shape[-2:]
        thetas = self.theta.double().numpy().reshape(self.count, n, targets)
        weights = np.broadcast_to(self.weights, (*self.batch, targets)).reshape(self.count, targets)
        return [Lattice(self, thetas[i], weights[i]) for i in range(self.count)]


@dataclass(frozen=True)
class Lattice:
    """One instance, by its values on all sets."""

    draw: SetDraw
    theta: np.ndarray
    weights: np.ndarray

    @property
    def n(self) -> int:
        return len(self.theta)

    @property
    def sets(self) -> np.ndarray:
        """`(2^n, n)`, 0/1."""
        return (np.arange(1 << self.n)[:, None] >> np.arange(self.n) & 1).astype(float)

    def values(self, theta: np.ndarray) -> np.ndarray:
        """`f` of all sets."""
        members = self.sets[:, :, None] * theta
        coverage = ((1 - (1 - members).prod(1)) * self.weights).sum(-1)
        facility = members.max(1).sum(-1)
        parts = {"coverage": coverage, "facility": facility, "sum": self.draw.share * coverage + facility}
        return parts[self.draw.name]

    def gradient(self, x: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """`dF/dx_i = F(x, x_i = 1) - F(x, x_i = 0)`."""
        values, sets = self.values(theta), self.sets
        ends = np.empty((2, self.n))
        for i in range(self.n):
            for end in (0, 1):
                point = x.copy()
                point[i] = end
                ends[end, i] = np.where(sets > 0, point, 1 - point).prod(-1) @ values
        return ends[1] - ends[0]

    def hessian(self, x: np.ndarray) -> np.ndarray:
        """Columns are differences of the gradient: `F` is linear in each coordinate."""
        columns = []
        for i in range(self.n):
            ends = [np.where(np.arange(self.n) == i, end, x).astype(float) for end in (1, 0)]
            columns.append(self.gradient(ends[0], self.theta) - self.gradient(ends[1], self.theta))
        return np.stack(columns, -1)

    @property
    def independent(self) -> np.ndarray:
        return np.all([self.sets[:, list(items)].sum(-1) <= most for items, most in self.draw.family], axis=0)

    @property
    def rank(self) -> int:
        return int(self.sets[self.independent].sum(-1).max())

    def polytope(self) -> Polytope:
        rows = np.array([np.isin(np.arange(self.n), items) for items, _ in self.draw.family], dtype=float)
        sides = np.array([most for _, most in self.draw.family], dtype=float)
        if self.draw.base:
            rows, sides = np.concatenate([np.ones((1, self.n)), rows]), np.concatenate([[self.rank], sides])
        equality = np.arange(len(rows)) < int(self.draw.base)
        return Polytope(rows, sides, equality, np.zeros(self.n), np.ones(self.n))

    def best(self) -> float:
        """The best value of an independent set."""
        return float(self.values(self.theta)[self.independent].max())

    def greedy(self) -> float:
        """The value of the set that takes the item of the largest gain until none can be added."""
        values, independent, chosen = self.values(self.theta), self.independent, 0
        while True:
            options = [chosen | 1 << i for i in range(self.n) if not chosen >> i & 1 and independent[chosen | 1 << i]]
            if not options:
                return float(values[chosen])
            chosen = max(options, key=lambda option: values[option])


# -- draws -------------------------------------------------------------------------------------------------------------


def _matroid(rng: Generator, n: int) -> tuple[foresolve.sets.Matroid, tuple]:
    kind = ("uniform", "partition", "laminar")[int(rng.integers(3))]
    if kind == "uniform":
        k = int(rng.integers(1, n + 1))
        return foresolve.UniformMatroid(n, k), ((tuple(range(n)), k),)
    if kind == "partition":
        groups = [i % 3 for i in range(n)]
        most = [int(rng.integers(1, 3)) for _ in range(3)]
        sets = [tuple(i for i in range(n) if groups[i] == g) for g in range(3)]
        return foresolve.sets.PartitionMatroid(groups, most), tuple(zip(sets, most))
    sets = [tuple(range(n // 3)), tuple(range(2 * n // 3)), tuple(range(n))]
    most = [1, int(rng.integers(1, 3)), int(rng.integers(2, 4))]
    return foresolve.sets.LaminarMatroid(n, sets, most), tuple(zip(sets, most))


def _draw(name: str, *, units: bool = False, per_instance: bool = False) -> Callable[[Generator], SetDraw]:
    def build(rng: Generator) -> SetDraw:
        n, targets = int(rng.integers(3, 8)), int(rng.integers(1, 6))
        shape = SHAPES[int(rng.choice(len(SHAPES), p=[0.25, 0.25, 0.3, 0.15, 0.05]))]
        dtype = torch.float64 if units or rng.random() < 0.8 else torch.float32
        theta = torch.from_numpy(0.02 + 0.6 * rng.random((*shape, n, targets))).to(dtype)
        unit = float(power(rng, -6, 6)) if units else 1.0
        weights = (0.5 + rng.random((*shape, targets) if per_instance else targets)) * unit
        matroid, family = _matroid(rng, n)
        cotangent = torch.from_numpy(rng.standard_normal((*shape, n))).to(dtype)
        gamma = float(power(rng, -1.3, 0.5)) * unit
        share = float(rng.integers(1, 5)) / 2
        return SetDraw(name, weights, share, family, matroid, theta, gamma, bool(rng.random() < 0.7), cotangent)

    return build


def _edge(rng: Generator) -> SetDraw:
    """Some items are predicted to be worth nothing, and the budget need not be spent."""
    draw = _draw("coverage")(rng)
    theta = draw.theta * torch.from_numpy(rng.random((*draw.theta.shape[:-1], 1)) < 0.7)
    return replace(draw, theta=theta.to(draw.theta.dtype), base=False)


SETS: dict[str, Callable[[Generator], SetDraw]] = {
    "sets: coverage": _draw("coverage"),
    "sets: facility location": _draw("facility"),
    "sets: sum of functions": _draw("sum"),
    "sets: weights per instance": _draw("coverage", per_instance=True),
    "sets: other units": _draw("coverage", units=True),
    "sets: items worth nothing": _edge,
}

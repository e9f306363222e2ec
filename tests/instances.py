"""Random linear programs with the ordinary troubles of real ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

import foresolve
from foresolve.testing.margins import margins


@dataclass(frozen=True)
class Instance:
    """One feasible program: `theta` is `(batch, n)`, constraints are shared."""

    A_ub: np.ndarray
    b_ub: np.ndarray
    A_eq: np.ndarray
    b_eq: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    theta: np.ndarray
    gamma: float

    def problem(self, **changes: object) -> foresolve.LinearProgram:
        arguments = {
            "A_ub": self.A_ub,
            "b_ub": self.b_ub,
            "A_eq": self.A_eq,
            "b_eq": self.b_eq,
            "bounds": (self.lower, self.upper),
        }
        return foresolve.LinearProgram(**(arguments | changes))  # type: ignore[arg-type]


def draw(
    seed: int,
    n: int = 8,
    m_eq: int = 2,
    m_ub: int = 4,
    batch: int = 3,
    *,
    dependent: bool = False,
    fixed: bool = False,
    free: bool = False,
    ties: bool = False,
    spread: float = 0.0,
    gamma: float = 0.5,
) -> Instance:
    """`spread` scales the rows over so many orders of magnitude; the other flags say what they add."""
    rng = np.random.default_rng(seed)
    A_eq, A_ub = rng.standard_normal((m_eq, n)), rng.standard_normal((m_ub, n))
    lower, upper = -rng.random(n), rng.random(n)
    if fixed:
        upper[: n // 4 + 1] = lower[: n // 4 + 1]
    if free:
        lower[-(n // 4 + 1) :] = -np.inf
        upper[-(n // 3 + 1) :] = np.inf
    if dependent:
        A_eq = np.concatenate([A_eq, A_eq[:1] + A_eq[-1:], A_eq[:1]]) if m_eq else A_eq
        A_ub = np.concatenate([A_ub, A_ub[:2]])
    A_ub = A_ub * 10.0 ** rng.uniform(-spread, spread, (len(A_ub), 1))
    inside = np.clip(rng.uniform(-0.8, 0.8, n), lower, upper)
    b_eq, b_ub = A_eq @ inside, A_ub @ inside + (0.0 if ties else 0.2 * rng.random()) * np.linalg.norm(A_ub, axis=1)
    theta = rng.standard_normal((batch, n))
    if ties:
        theta = np.round(theta)
    return Instance(A_ub, b_ub, A_eq, b_eq, lower, upper, theta, gamma)


def margin(problem: foresolve.LinearProgram, solution: foresolve.layers.Solution, gamma: float) -> float:
    """The distance to the nearest kink: the least over all constraints of slack and multiplier, whichever is larger."""
    return float(margins(problem, solution, gamma).min())


def finite_differences(function, theta: Tensor, v: Tensor, step: float = 1e-6) -> Tensor:
    """The gradient of `sum(v * function(theta))` by central differences, all entries of all instances `(B, *shape)`."""
    gradient = torch.zeros_like(theta)
    flat = gradient.flatten(1)
    for j in range(flat.shape[-1]):
        shift = torch.zeros_like(flat)
        shift[:, j] = step
        shift = shift.reshape(theta.shape)
        flat[:, j] = ((function(theta + shift) - function(theta - shift)) * v).sum(-1) / (2 * step)
    return gradient

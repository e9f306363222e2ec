"""Parameters that depend on features by a polynomial: the rule behind the field's generated data sets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.randomness import Seed, as_generator
from foresolve.data.dataset import DecisionDataset
from foresolve.problems.base import Problem


@dataclass(frozen=True)
class PolynomialRule:
    r"""How features `x` `(N, p)` become parameters `(N, n)`.

    .. math::
        \theta = b + s \left(\left(\tfrac{1}{\sqrt p} B x + 3\right)^{\deg} + a\right) \varepsilon,
        \qquad \varepsilon \sim U[1 - \text{noise}, 1 + \text{noise}] \text{ for each entry}

    Attributes
    ----------
    coefficients: `B` `(n, p)`.
    base, scale, shift: `b` (a number or `(n,)`), `s` and `a`.
    """

    coefficients: Tensor
    degree: int
    noise: float
    scale: float
    shift: float
    base: Tensor | float = 0.0

    def expected(self, features: Tensor) -> Tensor:
        """The mean of the parameters given the features, the best that a model can predict."""
        return self.base + self._varying(features)

    def sample(self, features: Tensor, generator: torch.Generator) -> Tensor:
        """Parameters with their noise."""
        varying = self._varying(features)
        spread = 2.0 * torch.rand(varying.shape, generator=generator, dtype=varying.dtype) - 1.0
        return self.base + varying * (1.0 + self.noise * spread)

    def _varying(self, features: Tensor) -> Tensor:
        products = features.to(self.coefficients) @ self.coefficients.T / math.sqrt(features.shape[-1])
        return self.scale * ((products + 3.0) ** self.degree + self.shift)


class PolynomialDataset(DecisionDataset):
    """A data set that keeps the rule behind its parameters, in all its parts.

    Attributes
    ----------
    rule: `data.rule.expected(data.features)` are the means of the parameters, the best that a model can predict, and
        `data.rule.coefficients` serve to draw further instances of the same rule.
    """

    def __init__(self, features: Any, theta: Any, problem: Problem, rule: PolynomialRule) -> None:
        super().__init__(features, theta, problem)
        self.rule = rule


class PolynomialDraws:
    """What the generators of such data share: their arguments, checked, and draws in the order they are asked for.

    Attributes
    ----------
    count, features, degree, noise: the caller's.
    source: of all randomness.
    """

    def __init__(self, count: int, features: int, degree: int, noise: float, seed: Seed) -> None:
        self.count, self.features = checks.positive_int("count", count), checks.positive_int("features", features)
        self.degree, self.noise = checks.positive_int("degree", degree), checks.between("noise", noise, "[0, 1]")
        self.source = as_generator("seed", seed, cpu=True)

    def bernoulli(self, n: int) -> Tensor:
        """`(n, features)` of fair zeros and ones."""
        return (self.uniform(n, self.features) < 0.5).double()

    def uniform(self, *shape: int) -> Tensor:
        """Numbers in [0, 1)."""
        return torch.rand(shape, generator=self.source, dtype=torch.float64)

    def normal(self, *shape: int) -> Tensor:
        """Standard normal numbers."""
        return torch.randn(shape, generator=self.source, dtype=torch.float64)

    def rule(
        self, given: Any, drawn: Tensor, scale: float, shift: float = 1.0, base: Tensor | float = 0.0
    ) -> PolynomialRule:
        """With the coefficients of an earlier call, or those just drawn."""
        coefficients = given_or_drawn("coefficients", given, drawn)
        return PolynomialRule(coefficients, self.degree, self.noise, scale, shift, base)

    def dataset(
        self, rule: PolynomialRule, problem: Problem, rows: tuple[int, ...] = (), least: float = -math.inf
    ) -> PolynomialDataset:
        """Standard normal features `(count, *rows, p)` and the parameters that follow, in torch's default dtype."""
        features = self.normal(self.count, *rows, self.features)
        theta = rule.sample(features, self.source).clamp_min(least)
        dtype = torch.get_default_dtype()
        return PolynomialDataset(features.to(dtype), theta.to(dtype), problem, rule)


def given_or_drawn(name: str, given: Any, drawn: Tensor) -> Tensor:
    """What an earlier call drew, if it is given and of the same shape, or what was drawn just now."""
    if given is None:
        return drawn
    table = checks.as_tensor(name, given)
    if table.shape != drawn.shape:
        raise checks.fail(name, str(tuple(drawn.shape)), str(tuple(table.shape)))
    return table.double()

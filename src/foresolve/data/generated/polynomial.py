"""Parameters that depend on features by a polynomial: the rule behind the field's generated data sets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from foresolve._base import checks
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


def check_rule(degree: int, noise: float) -> None:
    """The arguments that every generator shares."""
    checks.positive_int("degree", degree)
    if not 0 <= noise <= 1:
        raise checks.fail("noise", "from 0 to 1", str(noise))


def as_coefficients(given: Any, drawn: Tensor) -> Tensor:
    """The coefficients of an earlier call, or those just drawn."""
    if given is None:
        return drawn
    table = checks.as_tensor("coefficients", given)
    if table.shape != drawn.shape:
        raise checks.fail("coefficients", str(tuple(drawn.shape)), str(tuple(table.shape)))
    return table.double()


def bernoulli(n: int, features: int, generator: torch.Generator) -> Tensor:
    """`(n, features)` of fair zeros and ones."""
    return (torch.rand(n, features, generator=generator, dtype=torch.float64) < 0.5).double()


def generate(
    rule: PolynomialRule, problem: Problem, shape: tuple[int, ...], generator: torch.Generator, least: float = -math.inf
) -> PolynomialDataset:
    """Standard normal features `(*shape, p)` and the parameters that follow, in torch's default dtype."""
    checks.positive_int("count", shape[0])
    features = torch.randn(*shape, rule.coefficients.shape[1], generator=generator, dtype=torch.float64)
    theta = rule.sample(features, generator).clamp_min(least)
    dtype = torch.get_default_dtype()
    return PolynomialDataset(features.to(dtype), theta.to(dtype), problem, rule)

"""Tours whose distances depend on features."""

from __future__ import annotations

from typing import Any

import torch

from foresolve._base import checks
from foresolve._base.randomness import Seed, as_generator
from foresolve.data.generated.polynomial import (
    PolynomialDataset,
    PolynomialRule,
    as_coefficients,
    bernoulli,
    check_rule,
    generate,
)
from foresolve.problems.travelling_salesman import TravellingSalesman


def travelling_salesman_data(
    count: int,
    *,
    cities: int = 20,
    features: int = 10,
    degree: int = 4,
    noise: float = 0.5,
    seed: Seed = 0,
    coefficients: Any = None,
    places: Any = None,
) -> PolynomialDataset:
    r"""Tours through cities whose distances are those on the map plus what the features say.

    .. math::
        d_{ij} = |z_i - z_j| + \left(\tfrac{1}{\sqrt p} (B x)_{ij} + 3\right)^{\deg} 3^{1 - \deg} \, \varepsilon_{ij},
        \quad x \sim N(0, I_p), \; B = \text{Bernoulli}(\tfrac12) \cdot U[-2, 2], \; \varepsilon \sim U[1 - w, 1 + w]

    As in PyEPO (Tang and Khalil, "PyEPO", Mathematical Programming Computation, 2024): the places `z` of the first half
    of the cities are uniform in [-2, 2]^2, those of the others standard normal; all instances share them.

    Parameters
    ----------
    count: how many instances, of training and test together.
    noise: the half-width `w`.
    seed: of all randomness, a number or a generator on the CPU.
    coefficients, places: `B` `(edges, features)` and `(cities, 2)`, for further instances of the same rule.

    Examples
    --------
    >>> from foresolve.data import travelling_salesman_data
    >>> data = travelling_salesman_data(5, cities=6, seed=0)
    >>> data.features.shape, data.theta.shape
    (torch.Size([5, 10]), torch.Size([5, 15]))
    """
    check_rule(degree, noise)
    generator = as_generator("seed", seed, cpu=True)
    problem, double = TravellingSalesman(cities), torch.float64
    uniform = 4.0 * torch.rand(cities // 2, 2, generator=generator, dtype=double) - 2.0
    drawn = torch.cat([uniform, torch.randn(cities - cities // 2, 2, generator=generator, dtype=double)])
    spots = drawn if places is None else checks.as_tensor("places", places).double()
    if spots.shape != drawn.shape:
        raise checks.fail("places", str(tuple(drawn.shape)), str(tuple(spots.shape)))
    size = (problem.n, checks.positive_int("features", features))
    matrix = bernoulli(*size, generator) * (4.0 * torch.rand(size, generator=generator, dtype=double) - 2.0)
    base = problem.edge_costs(torch.cdist(spots, spots))
    rule = PolynomialRule(as_coefficients(coefficients, matrix), degree, noise, 3.0 ** (1 - degree), 0.0, base)
    return generate(rule, problem, (count,), generator)

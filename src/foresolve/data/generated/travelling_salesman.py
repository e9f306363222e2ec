"""Tours whose distances depend on features."""

from __future__ import annotations

from typing import Any

import torch

from foresolve._base.randomness import Seed
from foresolve.data.generated.polynomial import PolynomialDataset, PolynomialDraws, given_or_drawn
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
    draws = PolynomialDraws(count, features, degree, noise, seed)
    problem = TravellingSalesman(cities)
    uniform = 4.0 * draws.uniform(cities // 2, 2) - 2.0
    spots = given_or_drawn("places", places, torch.cat([uniform, draws.normal(cities - cities // 2, 2)]))
    matrix = draws.bernoulli(problem.n) * (4.0 * draws.uniform(problem.n, features) - 2.0)
    base = problem.edge_costs(torch.cdist(spots, spots))
    rule = draws.rule(coefficients, matrix, 3.0 ** (1 - degree), shift=0.0, base=base)
    return draws.dataset(rule, problem)

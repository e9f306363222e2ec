"""Facility location: sites whose worth to customers depends on features."""

from __future__ import annotations

from typing import Any

from foresolve._base import checks
from foresolve._base.randomness import Seed
from foresolve.data.generated.polynomial import PolynomialDataset, PolynomialDraws
from foresolve.problems.submodular import SubmodularProblem
from foresolve.sets.functions.facility import FacilityLocation
from foresolve.sets.matroids.laminar import UniformMatroid


def facility_location_data(
    count: int,
    *,
    sites: int = 30,
    customers: int = 60,
    k: int = 5,
    features: int = 5,
    degree: int = 4,
    noise: float = 0.5,
    seed: Seed = 0,
    coefficients: Any = None,
) -> PolynomialDataset:
    r"""Open `k` of many sites; every customer goes to the open site that is worth the most to it.

    .. math::
        \theta_{ij} = \max\left(0, \left(\left(\tfrac{1}{\sqrt p} (B x_i)_j + 3\right)^{\deg} + 1\right) 3.5^{-\deg}
        \, \varepsilon_{ij}\right), \quad
        x_i \sim N(0, I_p), \; B_{jl} \sim \text{Bernoulli}(\tfrac12), \; \varepsilon_{ij} \sim U[1 - w, 1 + w]

    A site `i` has features of its own, customer `j` values those that its row of `B` names: the rule of
    `shortest_path_data`, one row of `theta` for each site. Customers with like rows want like sites, so good sets
    are diverse. Odd degrees can give numbers below zero, about once in `10^8`, which the maximum takes away.

    Parameters
    ----------
    count: how many instances, of training and test together.
    k: how many sites are opened.
    features: how many a site has, `p`.
    noise: the half-width `w`.
    seed: of all randomness, a number or a generator on the CPU.
    coefficients: `B` `(customers, features)` of an earlier call, for further instances of the same rule.

    Returns
    -------
    A data set with features `(count, sites, features)` and theta `(count, sites, customers)`;
    `data.rule.expected(data.features)` are the mean values.

    Examples
    --------
    >>> from foresolve.data import facility_location_data
    >>> data = facility_location_data(20, sites=8, customers=12, k=3, seed=0)
    >>> data.features.shape, data.theta.shape, data.rule.coefficients.shape
    (torch.Size([20, 8, 5]), torch.Size([20, 8, 12]), torch.Size([12, 5]))
    """
    draws = PolynomialDraws(count, features, degree, noise, seed)
    sites, customers = checks.positive_int("sites", sites), checks.positive_int("customers", customers)
    problem = SubmodularProblem(FacilityLocation(), UniformMatroid(sites, k))
    rule = draws.rule(coefficients, draws.bernoulli(customers), scale=3.5**-degree)
    return draws.dataset(rule, problem, (sites,), least=0.0)

"""Knapsacks whose values depend on features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from foresolve._base import checks
from foresolve._base.randomness import Seed
from foresolve.data.generated.polynomial import PolynomialDataset, PolynomialDraws, given_or_drawn
from foresolve.problems.affine import Affine
from foresolve.problems.knapsack import Knapsack


def knapsack_data(
    count: int,
    *,
    items: int = 32,
    dimensions: int = 2,
    capacity: float = 0.3,
    features: int = 5,
    degree: int = 4,
    noise: float = 0.5,
    known: int = 0,
    seed: Seed = 0,
    coefficients: Any = None,
    weights: Any = None,
) -> PolynomialDataset:
    r"""0/1 knapsacks with several constraints; weights are known and shared, values depend on the features.

    .. math::
        v_i = 5 \left(\left(\tfrac{1}{\sqrt p} (B x)_i + 3\right)^{\deg} + 1\right) 3.5^{-\deg} \, \varepsilon_i, \quad
        x \sim N(0, I_p), \; B_{ij} \sim \text{Bernoulli}(\tfrac12), \; \varepsilon_i \sim U[1 - w, 1 + w]

    As in PyEPO (Tang and Khalil, "PyEPO", Mathematical Programming Computation, 2024), whose weights these are, without
    its rounding of values to integers.

    Parameters
    ----------
    count: how many instances, of training and test together.
    capacity: the share of all weight that fits, in each dimension.
    noise: the half-width `w`.
    known: the values of this many items, the last ones, are known in each instance (contracts that are signed), and
        `theta` `(count, items - known)` are those of the others: `problem.parametrized(Affine.part(...))`. Everything
        that is drawn is the same as with 0.
    seed: of all randomness, a number or a generator on the CPU.
    coefficients, weights: `B` `(items, features)` and `(dimensions, items)` of an earlier call
        (`data.rule.coefficients`, `data.problem.weights`); weights are drawn from 3.00, 3.01, ..., 8.00.

    Examples
    --------
    >>> from foresolve.data import knapsack_data
    >>> data = knapsack_data(20, items=10, seed=0)
    >>> data.theta.shape, data.problem.weights.shape
    (torch.Size([20, 10]), torch.Size([2, 10]))
    >>> knapsack_data(20, items=10, known=4, seed=0).theta.shape
    torch.Size([20, 6])
    """
    draws = PolynomialDraws(count, features, degree, noise, seed)
    items, dimensions = checks.positive_int("items", items), checks.positive_int("dimensions", dimensions)
    if not 0 < capacity <= 1:
        raise checks.fail("capacity", "a share of all weight, above 0 and at most 1", str(capacity))
    drawn = torch.randint(300, 801, (dimensions, items), generator=draws.source).double() / 100.0
    table = given_or_drawn("weights", weights, drawn)
    rule = draws.rule(coefficients, draws.bernoulli(items), scale=5.0 * 3.5**-degree)
    data = draws.dataset(rule, Knapsack(table, capacity * table.sum(-1)))
    if checks.positive_int("known", known, zero=True) >= items:
        raise checks.fail("known", f"fewer than the {items} items", str(known))
    return _partly_known(data, items - known) if known else data


def _partly_known(data: PolynomialDataset, predicted: int) -> PolynomialDataset:
    """The same instances with `theta` for the first items only."""
    problem = data.problem.parametrized(Affine.part(range(predicted), known=data.theta))
    rule = replace(data.rule, coefficients=data.rule.coefficients[:predicted])
    return PolynomialDataset(data.features, data.theta[:, :predicted].clone(), problem, rule)

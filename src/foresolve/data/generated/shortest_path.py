"""Shortest paths on a grid, generated as in Elmachtoub and Grigas."""

from __future__ import annotations

from typing import Any

from foresolve._base.randomness import Seed
from foresolve.data.generated.polynomial import PolynomialDataset, PolynomialDraws
from foresolve.problems.shortest_path import ShortestPath


def shortest_path_data(
    count: int,
    *,
    grid: tuple[int, int] = (5, 5),
    features: int = 5,
    degree: int = 4,
    noise: float = 0.5,
    seed: Seed = 0,
    coefficients: Any = None,
) -> PolynomialDataset:
    r"""Paths to the right and down through a grid, whose costs depend on the features by a polynomial.

    .. math::
        c_a = \left(\left(\tfrac{1}{\sqrt p} (B x)_a + 3\right)^{\deg} + 1\right) 3.5^{-\deg} \, \varepsilon_a, \quad
        x \sim N(0, I_p), \; B_{aj} \sim \text{Bernoulli}(\tfrac12), \; \varepsilon_a \sim U[1 - w, 1 + w]

    Elmachtoub and Grigas, "Smart predict, then optimize" (Management Science, 2022); a linear model is right for
    degree 1 only.

    Parameters
    ----------
    count: how many instances, of training and test together: `train, test = data.split(1000, 1000)`.
    grid: height and width; the arcs are those of `ShortestPath.grid`, in its order.
    noise: the half-width `w`.
    seed: of all randomness, a number or a generator on the CPU.
    coefficients: `B` `(arcs, features)` of an earlier call, for further instances of the same rule.

    Returns
    -------
    A data set: `data.rule.expected(data.features)` are the mean costs, `data.rule.coefficients` is `B`.

    Examples
    --------
    >>> from foresolve.data import shortest_path_data
    >>> data = shortest_path_data(20, seed=0)
    >>> data.features.shape, data.theta.shape, data.rule.coefficients.shape
    (torch.Size([20, 5]), torch.Size([20, 40]), torch.Size([40, 5]))
    """
    draws = PolynomialDraws(count, features, degree, noise, seed)
    problem = ShortestPath.grid(*grid)
    rule = draws.rule(coefficients, draws.bernoulli(problem.n), scale=3.5**-degree)
    return draws.dataset(rule, problem)

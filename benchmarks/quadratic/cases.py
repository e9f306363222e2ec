"""Generate and save the benchmark's inputs: `python -m benchmarks.quadratic.cases [NAME ...]` (numpy and scipy only).

Every file holds the draws for the largest batch; the smaller batches are its first instances, so that one
reference serves all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.quadratic.catalogue import BATCHES
from benchmarks.quadratic.inputs import Case, save

# Draw 0 is the cold call, the others are the calls on fresh theta.
DRAWS = 4
SHAPE = (DRAWS, max(BATCHES))
# Of an investor: Q is this times the covariance of a year's returns.
RISK_AVERSION = 10.0
TRADING_DAYS = 252


def _case(name: str, rng: np.random.Generator, theta: np.ndarray, **fields: Any) -> Case:
    """Without rows and bounds unless `fields` has them."""
    n = theta.shape[-1]
    given = {
        "A_ub": sp.csr_matrix((0, n)),
        "b_ub": np.zeros(0),
        "A_eq": sp.csr_matrix((0, n)),
        "b_eq": np.zeros(0),
        "lower": np.full(n, -np.inf),
        "upper": np.full(n, np.inf),
        **fields,
    }
    cotangent = rng.standard_normal((SHAPE[1], n))
    independent = np.arange(len(given["b_eq"]))
    return Case(name=name, sense="max", theta=theta, cotangent=cotangent, independent_eq=independent, **given)


def market(assets: int, factors: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Loadings (assets, factors), the first the market's, and own variances of a year's returns.

    The market moves by 16 % a year, the other factors by 2 to 8 %, an asset by 15 to 40 % on its own.
    """
    sizes = np.concatenate([[0.16], np.linspace(0.08, 0.02, factors - 1)])
    betas = np.column_stack([rng.normal(1.0, 0.3, assets), rng.standard_normal((assets, factors - 1))])
    return betas * sizes, rng.uniform(0.15, 0.40, assets) ** 2


def predicted_returns(loadings: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Of a year, for each instance: 5 % for a beta of 1, and 3 % of an asset's own (forecast or noise)."""
    premium = 0.05 / 0.16 * loadings[:, 0]
    return premium + 0.03 * rng.standard_normal((*SHAPE, len(loadings)))


def portfolio(assets: int, seed: int, *, days: int | None) -> Case:
    """Weights of a long-only portfolio: the sample covariance of `days` days, or (None) the factor model itself."""
    rng = np.random.default_rng(seed)
    loadings, own = market(assets, 20 if days is None else 10, rng)
    if days is None:
        fields = {"diagonal": RISK_AVERSION * own, "factor": np.sqrt(RISK_AVERSION) * loadings}
    else:
        common = rng.standard_normal((days, loadings.shape[1])) @ loadings.T
        returns = (common + rng.standard_normal((days, assets)) * np.sqrt(own)) / np.sqrt(TRADING_DAYS)
        fields = {"Q": RISK_AVERSION * TRADING_DAYS * np.cov(returns, rowvar=False)}
    return _case(
        f"portfolio-{assets}" + ("-factor" if days is None else ""),
        rng,
        predicted_returns(loadings, rng),
        A_eq=sp.csr_matrix(np.ones((1, assets))),
        b_eq=np.ones(1),
        lower=np.zeros(assets),
        **fields,
    )


def dense(n: int, rows: int, seed: int) -> Case:
    """As in OptNet's timings: Q = L L' + small I of each instance and call, random rows, a point inside."""
    rng = np.random.default_rng(seed)
    L = rng.standard_normal((*SHAPE, n, n)) / np.sqrt(n)
    Q = L @ np.swapaxes(L, -1, -2) + 0.01 * np.eye(n)
    G = rng.standard_normal((rows, n))
    h = G @ rng.standard_normal(n) + rng.random(rows)
    theta = rng.standard_normal((*SHAPE, n))
    return _case(f"dense-{n}x{rows}", rng, theta, Q=Q, A_ub=sp.csr_matrix(G), b_ub=h)


def sparse(n: int, rows: int, seed: int) -> Case:
    """A box, half of the rows equalities, about 4 entries a row of A and 5 off the diagonal of a row of Q."""
    rng = np.random.default_rng(seed)
    upper = sp.triu(sp.random(n, n, density=5.0 / n, random_state=rng, data_rvs=rng.standard_normal), k=1)
    off = sp.csr_matrix(upper + upper.T)
    # Dominates its row: Q is definite.
    Q = sp.csr_matrix(off + sp.diags(np.asarray(abs(off).sum(axis=1)).ravel() + rng.uniform(0.1, 1.0, n)))
    half = rows // 2
    A = sp.random(rows, n, density=3.0 / n, random_state=rng, data_rvs=rng.standard_normal, format="csr")
    # No row is empty, and the equalities are independent: each has an entry of its own.
    own = sp.csr_matrix((np.ones(rows), (np.arange(rows), rng.permutation(n)[:rows])), shape=(rows, n))
    A = sp.csr_matrix(A + own)
    inside = rng.uniform(0.2, 0.8, n)
    return _case(
        f"sparse-{n}",
        rng,
        4.0 * rng.standard_normal((*SHAPE, n)),
        Q=Q,
        A_eq=A[:half],
        b_eq=A[:half] @ inside,
        A_ub=A[half:],
        b_ub=A[half:] @ inside + rng.uniform(0.0, 0.5, rows - half),
        lower=np.zeros(n),
        upper=np.ones(n),
    )


PROBLEMS: dict[str, Callable[[], Case]] = {
    "portfolio-50": lambda: portfolio(50, seed=50, days=2 * TRADING_DAYS),
    "portfolio-500": lambda: portfolio(500, seed=500, days=5 * TRADING_DAYS),
    "portfolio-500-factor": lambda: portfolio(500, seed=520, days=None),
    "dense-100x50": lambda: dense(100, 50, seed=100),
    "sparse-1000": lambda: sparse(1000, 500, seed=1000),
}


def main(names: list[str]) -> None:
    for name in names or PROBLEMS:
        print(save(PROBLEMS[name]()).name)


if __name__ == "__main__":
    main(sys.argv[1:])

"""Generate and save the benchmark's inputs: `python cases.py [NAME ...]` (numpy and scipy only).

Every file holds the draws for the largest batch; batch 1 and 8 are its first instances, so that one
reference serves all three.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from catalogue import BATCHES
from inputs import Case, save

# Draw 0 is the cold call, the others are the calls on fresh theta.
DRAWS = 6


def _cotangent(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.standard_normal((max(BATCHES), n))


def matching(left: int, right: int, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    n = left * right
    rows_left = sp.kron(sp.identity(left), np.ones((1, right)))
    rows_right = sp.kron(np.ones((1, left)), sp.identity(right))
    return Case(
        name=f"matching-{left}x{right}",
        kind="matching",
        size=(left, right),
        A_ub=sp.vstack([rows_left, rows_right], format="csr"),
        b_ub=np.ones(left + right),
        A_eq=sp.csr_matrix((0, n)),
        b_eq=np.zeros(0),
        independent_eq=np.zeros(0, dtype=int),
        lower=np.zeros(n),
        upper=np.ones(n),
        sense="max",
        gamma=0.1,
        theta=rng.uniform(0.0, 1.0, (DRAWS, max(BATCHES), n)),
        cotangent=_cotangent(rng, n),
    )


def grid_arcs(height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Tails and heads, row by row: first the arcs to the right, then those down."""
    node = np.arange(height * width).reshape(height, width)
    tails, heads = [], []
    for i in range(height):
        tails.append(node[i, :-1])
        heads.append(node[i, 1:])
        if i + 1 < height:
            tails.append(node[i])
            heads.append(node[i + 1])
    return np.concatenate(tails), np.concatenate(heads)


def grid(height: int, width: int, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    tail, head = grid_arcs(height, width)
    n, nodes = tail.size, height * width
    arcs = np.arange(n)
    ones = np.ones(n)
    A_eq = sp.coo_matrix(
        (np.concatenate([ones, -ones]), (np.concatenate([tail, head]), np.concatenate([arcs, arcs]))),
        shape=(nodes, n),
    ).tocsr()
    b_eq = np.zeros(nodes)
    b_eq[0], b_eq[-1] = 1.0, -1.0
    return Case(
        name=f"grid-{height}x{width}",
        kind="grid",
        size=(height, width),
        A_ub=sp.csr_matrix((0, n)),
        b_ub=np.zeros(0),
        A_eq=A_eq,
        b_eq=b_eq,
        independent_eq=np.arange(nodes - 1),
        lower=np.zeros(n),
        upper=np.ones(n),
        sense="min",
        gamma=0.1,
        theta=rng.uniform(0.0, 1.0, (DRAWS, max(BATCHES), n)),
        cotangent=_cotangent(rng, n),
    )


def sparse(n: int, ub_rows: int, eq_rows: int, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    A_ub = sp.random(ub_rows, n, density=0.03, random_state=rng, data_rvs=rng.standard_normal).tocsr()
    A_eq = sp.random(eq_rows, n, density=0.03, random_state=rng, data_rvs=rng.standard_normal).tocsr()
    inside = rng.uniform(0.2, 0.8, n)
    return Case(
        name=f"sparse-{n}",
        kind="sparse",
        size=(n, ub_rows, eq_rows),
        A_ub=A_ub,
        b_ub=A_ub @ inside + rng.uniform(0.0, 0.5, ub_rows),
        A_eq=A_eq,
        b_eq=A_eq @ inside,
        independent_eq=np.arange(eq_rows),
        lower=np.zeros(n),
        upper=np.ones(n),
        sense="max",
        gamma=0.5,
        theta=rng.standard_normal((DRAWS, max(BATCHES), n)),
        cotangent=_cotangent(rng, n),
    )


PROBLEMS: dict[str, Callable[[], Case]] = {
    "matching-10x10": lambda: matching(10, 10, seed=10),
    "matching-20x20": lambda: matching(20, 20, seed=20),
    "matching-50x50": lambda: matching(50, 50, seed=50),
    "grid-5x5": lambda: grid(5, 5, seed=5),
    "grid-30x30": lambda: grid(30, 30, seed=30),
    "sparse-400": lambda: sparse(400, 150, 50, seed=400),
}


def main(names: list[str]) -> None:
    for name in names or PROBLEMS:
        print(save(PROBLEMS[name]()).name)


if __name__ == "__main__":
    main(sys.argv[1:])

"""Generate and save the benchmark's inputs: `python -m benchmarks.linear.cases [NAME ...]` (numpy and scipy only).

Every file holds the draws for the largest batch; batch 1 and 8 are its first instances, so that one
reference serves all three.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from benchmarks.linear.catalogue import BATCHES
from benchmarks.linear.inputs import Case, save

# Draw 0 is the cold call, the others are the calls on fresh theta.
DRAWS = 6


def _case(
    kind: str,
    size: tuple[int, ...],
    n: int,
    draw: Callable[[tuple[int, ...]], np.ndarray],
    rng: np.random.Generator,
    *,
    sense: str = "max",
    gamma: float = 0.1,
    upper_rows: tuple[sp.csr_matrix, np.ndarray] | None = None,
    equal_rows: tuple[sp.csr_matrix, np.ndarray] | None = None,
    independent: int = 0,
) -> Case:
    """A case on [0, 1]^n with draws of theta; the first `independent` equality rows are a basis of all of them."""
    A_ub, b_ub = upper_rows or (sp.csr_matrix((0, n)), np.zeros(0))
    A_eq, b_eq = equal_rows or (sp.csr_matrix((0, n)), np.zeros(0))
    batch = max(BATCHES)
    theta = draw((DRAWS, batch, n))
    return Case(
        name=f"{kind}-{size[0]}" if kind == "sparse" else f"{kind}-{'x'.join(map(str, size))}",
        kind=kind,
        size=size,
        A_ub=A_ub,
        b_ub=b_ub,
        A_eq=A_eq,
        b_eq=b_eq,
        independent_eq=np.arange(independent),
        lower=np.zeros(n),
        upper=np.ones(n),
        sense=sense,
        gamma=gamma,
        theta=theta,
        cotangent=rng.standard_normal((batch, n)),
    )


def matching(left: int, right: int, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    rows_left = sp.kron(sp.identity(left), np.ones((1, right)))
    rows_right = sp.kron(np.ones((1, left)), sp.identity(right))
    rows = sp.vstack([rows_left, rows_right], format="csr"), np.ones(left + right)
    return _case("matching", (left, right), left * right, rng.random, rng, upper_rows=rows)


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
    rows = A_eq, b_eq
    return _case("grid", (height, width), n, rng.random, rng, sense="min", equal_rows=rows, independent=nodes - 1)


def sparse(n: int, ub_rows: int, eq_rows: int, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    A_ub = sp.random(ub_rows, n, density=0.03, random_state=rng, data_rvs=rng.standard_normal).tocsr()
    A_eq = sp.random(eq_rows, n, density=0.03, random_state=rng, data_rvs=rng.standard_normal).tocsr()
    inside = rng.uniform(0.2, 0.8, n)
    upper_rows = A_ub, A_ub @ inside + rng.uniform(0.0, 0.5, ub_rows)
    return _case(
        "sparse", (n, ub_rows, eq_rows), n, rng.standard_normal, rng,
        gamma=0.5, upper_rows=upper_rows, equal_rows=(A_eq, A_eq @ inside), independent=eq_rows,
    )  # fmt: skip


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

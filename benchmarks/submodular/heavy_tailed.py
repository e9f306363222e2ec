"""Sparse random coverage (numpy and scipy only)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def heavy_tailed(items: int, targets: int, nonzeros: int) -> sp.csr_matrix:
    """Probabilities in [0, 0.2] at random positions, heavy-tailed in items and targets."""
    rng = np.random.default_rng(2020)
    shares = rng.weibull(0.665, items)
    popular = rng.lognormal(0.0, 1.1, targets)
    # A few pairs fall together: drawn until there are enough.
    pairs = np.zeros(0, dtype=np.int64)
    while len(pairs) < nonzeros:
        rows = rng.choice(items, nonzeros // 2, p=shares / shares.sum())
        columns = rng.choice(targets, nonzeros // 2, p=popular / popular.sum())
        pairs = np.union1d(pairs, rows.astype(np.int64) * targets + columns)
    pairs = np.sort(rng.choice(pairs, nonzeros, replace=False))
    values = rng.uniform(0.0, 0.2, nonzeros)
    return sp.csr_matrix((values, (pairs // targets, pairs % targets)), shape=(items, targets))

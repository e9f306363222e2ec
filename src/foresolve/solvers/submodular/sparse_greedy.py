"""Gains of probabilistic coverage with sparse parameters."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from foresolve.solvers.submodular.greedy import Marginals


class SparseCoverageMarginals(Marginals):
    """`f(S) = sum_j w_j (1 - prod_{i in S} (1 - theta_ij))` for one instance, `theta` sparse `(n, targets)`.

    Nothing is as large as `n` times `targets`: work and memory follow the entries that are stored.
    """

    count = 1

    def __init__(self, theta: scipy.sparse.csr_array, weights: np.ndarray) -> None:
        self.n = len(theta.indptr) - 1
        self.theta, self.left = theta, weights.copy()

    def everything(self) -> np.ndarray:
        return (self.theta @ self.left)[None]

    def some(self, instances: np.ndarray, items: np.ndarray) -> np.ndarray:
        entries, lengths = self._entries(items)
        terms = self.theta.data[entries] * self.left[self.theta.indices[entries]]
        return np.bincount(np.repeat(np.arange(len(items)), lengths), weights=terms, minlength=len(items))

    def add(self, items: np.ndarray) -> None:
        entries, _ = self._entries(items)
        self.left[self.theta.indices[entries]] *= 1.0 - self.theta.data[entries]

    def _entries(self, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the entries of some rows, one row after the other, and how many each has."""
        starts = self.theta.indptr[items].astype(np.int64)
        lengths = self.theta.indptr[items + 1] - starts
        ends = np.cumsum(lengths)
        return np.arange(ends[-1]) + np.repeat(starts - (ends - lengths), lengths), lengths

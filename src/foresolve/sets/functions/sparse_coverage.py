"""Probabilistic coverage whose parameters are one sparse matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.functions.function import SetFunction
from foresolve.sets.greedy import addable_by
from foresolve.sets.matroids.matroid import Matroid
from foresolve.solvers.submodular.greedy import lazy_greedy
from foresolve.solvers.submodular.sparse_greedy import SparseCoverageMarginals


def is_sparse(theta: Any) -> bool:
    """Whether `theta` is a sparse matrix of SciPy or of torch."""
    return scipy.sparse.issparse(theta) or (isinstance(theta, Tensor) and theta.layout != torch.strided)


class SparseCoverage:
    r"""`f(S) = sum_j w_j (1 - prod_{i in S} (1 - theta_ij))` for one sparse `theta` `(n, targets)`.

    Work and memory follow the entries that are stored.
    """

    def __init__(self, function: SetFunction, theta: Any, n: int, device: torch.device) -> None:
        if type(function) is not ProbabilisticCoverage or (function.weights is not None and function.weights.ndim > 1):
            what = "weights of each instance" if type(function) is ProbabilisticCoverage else type(function).__name__
            remedy = "Pass `theta.to_dense()` (torch) or `theta.toarray()` (SciPy)"
            raise checks.fail("theta", f"dense for {what}", "a sparse matrix", remedy)
        targets = None if function.weights is None else function.weights.shape[0]
        if len(theta.shape) != 2 or theta.shape[0] != n or targets not in (None, theta.shape[1]):
            expected = f"({n}, {'targets' if targets is None else targets}) where it is sparse, to match the problem"
            raise checks.fail("theta", expected, str(tuple(theta.shape)))
        self.shape = (n, int(theta.shape[1]))
        self.rows, self.columns, self.entries = _entries(theta, device)
        checks.same_device("theta", self.entries, device)
        checks.unit_interval("theta", self.entries)
        self.weights = function.weights

    def multilinear(self, x: Tensor) -> Tensor:
        """`F` `(*batch,)` of `x` `(*batch, n)` in the dtype of `theta`; differentiable in `x` and torch's `theta`."""
        entries = self.entries.double()
        miss = 1 - x.double().index_select(-1, self.rows) * entries
        ones = miss.new_ones(*x.shape[:-1], self.shape[1])
        missed = ones.scatter_reduce(-1, self.columns.expand_as(miss), miss, "prod")
        reached = 1 - missed if self.weights is None else self.weights * (1 - missed)
        return reached.sum(-1).to(self.entries.dtype)

    def greedy(self, matroid: Matroid) -> Tensor:
        """The greedy base, 0/1 `(n,)` in the dtype and on the device of `theta`."""
        entries = self.entries.detach().double().cpu().numpy()
        pairs = self.rows.cpu().numpy(), self.columns.cpu().numpy()
        matrix = scipy.sparse.csr_array((entries, pairs), shape=self.shape)
        weights = np.ones(self.shape[1]) if self.weights is None else self.weights.cpu().numpy()
        found = lazy_greedy(SparseCoverageMarginals(matrix, weights), matroid.rank, addable_by(matroid))
        return torch.from_numpy(found[0]).to(self.entries.detach())


def _entries(theta: Any, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Rows, columns and entries, each pair once; torch's entries keep their graph."""
    if isinstance(theta, Tensor):
        theta = theta.to_sparse_coo().coalesce()
        rows, columns = theta.indices()
        values = theta.values()
        return rows, columns, values if values.is_floating_point() else values.double()
    matrix = scipy.sparse.csr_array(theta)  # adds up duplicates
    matrix.sum_duplicates()
    coo = matrix.tocoo()
    values = coo.data if coo.data.dtype == np.float32 else coo.data.astype(np.float64)
    rows, columns, entries = (torch.from_numpy(np.array(a)).to(device) for a in (coo.row, coo.col, values))
    return rows.long(), columns.long(), entries

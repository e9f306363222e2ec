r"""Probabilistic coverage: its value, the gains of single items, and its cuts.

The gain of an item over a set is the weight that the set leaves, times the item's row, so the state of a set is that
weight: `gains = theta @ left`, `left <- left (1 - theta_i)`. Its extension is in `coverage_extension.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.sets.functions.coverage_extension import CoverageLocal
from foresolve.sets.functions.function import ClosedForm
from foresolve.sets.functions.sparse import as_coordinates, as_rows, dense_only, is_sparse
from foresolve.solvers.arrays import Array, to_array
from foresolve.solvers.submodular.cuts import Cut, Parts
from foresolve.solvers.submodular.increments import DenseIncrements, Increments

# Parameters of a batch up to which a matrix-vector product takes no longer than to find out what it could leave out.
SMALL = 200_000


class ProbabilisticCoverage(ClosedForm):
    r"""The expected weight of the targets that a set reaches, where item `i` reaches target `j` with `theta_ij`.

    .. math::
        f(S) = \sum_j w_j \Big(1 - \prod_{i \in S} (1 - \theta_{ij})\Big), \quad
        F(x) = \sum_j w_j \Big(1 - \prod_i (1 - x_i \theta_{ij})\Big)

    Budget allocation, sensor placement and, with 0/1 `theta`, topic coverage are this.

    Parameters
    ----------
    weights: `w >= 0`, `(targets,)` or one set per instance `(*batch, targets)`; 1 where not given. They are data: no
        gradient reaches them.

    Shapes
    ------
    `theta` is `(*batch, items, targets)` with entries in [0, 1], or one sparse matrix `(items, targets)` of SciPy or of
    torch: `value`, `multilinear` and greedy choices then follow the entries that are stored.

    Examples
    --------
    >>> import torch, foresolve
    >>> theta = torch.tensor([[0.5, 0.0], [0.5, 0.2], [0.0, 1.0]])
    >>> coverage = foresolve.ProbabilisticCoverage()
    >>> coverage.value(torch.tensor([1.0, 0.0, 1.0]), theta)
    tensor(1.5000)
    >>> coverage.multilinear(torch.tensor([1.0, 0.5, 0.5]), theta)
    tensor(1.1750)
    """

    theta_dims = 2
    theta_bounds = (0.0, 1.0)
    data_dims: ClassVar[Mapping[str, int]] = {"weights": 1}

    def __init__(self, weights: Any = None) -> None:
        super().__init__()
        self.weights: Tensor | None = None
        if weights is not None:
            self.weights = checks.as_tensor("weights", weights).detach().double()
            checks.finite("weights", self.weights)
            if self.weights.ndim == 0 or bool((self.weights < 0).any()):
                defect = "a number" if self.weights.ndim == 0 else f"minimum {self.weights.min().item():g}"
                raise checks.fail("weights", "(*batch, targets) with entries >= 0", defect)

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        """`f(S)` `(*batch,)` for sets given as 0/1 `(*batch, n)`."""
        return self.multilinear(mask.to(theta.dtype), theta)

    def multilinear(self, x: Tensor, theta: Any) -> Tensor:
        """`F(x, theta)` `(*batch,)`, differentiable in both; of sparse `theta`, in its entries."""
        if not is_sparse(theta):
            return super().multilinear(x, theta)
        theta = self.check_theta(theta, x.shape[-1])
        rows, columns = theta.indices()
        hit = x.double().index_select(-1, rows) * theta.values().double()
        columns, zeros = columns.expand_as(hit), hit.new_zeros(*x.shape[:-1], theta.shape[1])
        reached = 1 - (zeros + 1).scatter_reduce(-1, columns, 1 - hit, "prod")
        # The same to all digits; a product has the derivatives, also where `hit` is 1.
        exact = -torch.expm1(zeros.scatter_add(-1, columns, torch.log1p(-hit.detach())))
        reached = exact + (reached - reached.detach())
        return (reached if self.weights is None else self.weights * reached).sum(-1).to(theta.dtype)

    def local(self, x: Tensor, theta: Tensor) -> CoverageLocal:
        """The extension around `x` `(B, n)`, for parameters `(B or 1, n, targets)`."""
        weights = self.weights
        if weights is not None and weights.ndim > 1:
            weights = weights.reshape(-1, weights.shape[-1])
            if weights.shape[0] not in (1, x.shape[0]):
                expected = f"`(targets,)` or one set for each of the {x.shape[0]} instances"
                raise checks.fail("weights", expected, str(tuple(self.weights.shape)))  # type: ignore[union-attr]
        return CoverageLocal(x, theta, weights)

    def increments(self, theta: Tensor, n: int) -> Increments:
        """Increments of the whole batch `(B, n, targets)`, or of one sparse matrix."""
        if is_sparse(theta):
            return SparseCoverageIncrements(as_rows(theta), self._weight_rows(theta).cpu().numpy()[0])
        return CoverageIncrements(to_array(theta.double()), to_array(self._weight_rows(theta)))

    def cuts(self, theta: Tensor, n: int) -> Parts:
        """One part per target."""
        return CoverageParts(theta[0].double().numpy(), self._weight_rows(theta)[0].numpy())

    def _weight_rows(self, theta: Tensor) -> Tensor:
        """`(B or 1, targets)`."""
        if self.weights is None:
            return torch.ones(1, theta.shape[-1], dtype=torch.float64, device=theta.device)
        return self.weights.reshape(-1, self.weights.shape[-1])

    def theta_shape(self, n: int) -> tuple[int | None, ...]:
        """`(n, targets)`; as many targets as there are weights."""
        return n, None if self.weights is None else self.weights.shape[-1]

    def check_theta(self, theta: Any, n: int) -> Tensor:
        """`theta` as a floating tensor of probabilities `(*batch, n, targets)`, or an error."""
        if is_sparse(theta):
            return self._check_sparse(theta, n)
        theta = checks.as_tensor("theta", theta)
        targets = None if self.weights is None else self.weights.shape[-1]
        if theta.ndim < 2 or theta.shape[-2] != n or (targets is not None and theta.shape[-1] != targets):
            expected = f"(*batch, {n}, {'targets' if targets is None else targets}) to match the problem"
            raise checks.fail("theta", expected, str(tuple(theta.shape)))
        if self.weights is not None:
            checks.same_device("theta", theta, self.weights.device)
        checks.unit_interval("theta", theta)
        return theta

    def _check_sparse(self, theta: Any, n: int) -> Tensor:
        """`theta` as a COO tensor `(n, targets)` of probabilities."""
        if self.batch_shape:
            raise dense_only("weights of each instance")
        _, targets = self.theta_shape(n)
        if len(theta.shape) != 2 or theta.shape[0] != n or targets not in (None, theta.shape[1]):
            expected = f"({n}, {'targets' if targets is None else targets}) where it is sparse, to match the problem"
            raise checks.fail("theta", expected, str(tuple(theta.shape)))
        theta = as_coordinates(theta, torch.device("cpu") if self.weights is None else self.weights.device)
        if self.weights is not None:
            checks.same_device("theta", theta, self.weights.device)
        checks.unit_interval("theta", theta.values())
        return theta

    def config(self) -> dict[str, Any]:
        """The weights."""
        return {"weights": self.weights}

    def __repr__(self) -> str:
        weighted = "" if self.weights is None else f"weights of shape {tuple(self.weights.shape)}"
        return f"ProbabilisticCoverage({weighted})"


class CoverageIncrements(DenseIncrements):
    """Increments of instances `theta` `(B, n, targets)`, weights `(B or 1, targets)`; states are the weights left."""

    def __init__(self, theta: Array, weights: Array) -> None:
        super().__init__(theta, weights)
        # A matrix product against copies of rows; a small one is over before the rows are found.
        self.favor = 0.125 if math.prod(theta.shape) > SMALL else 0.0

    def gains(self, states: Array) -> Array:
        return states @ self.theta[0].T

    def batch_gains(self, states: Array) -> Array:
        return (self.theta @ states[..., None])[..., 0]

    def grown(self, states: Array, items: Array) -> Array:
        return states * (1.0 - self.rows(items))

    def picked(self, states: np.ndarray, instances: np.ndarray, items: np.ndarray) -> np.ndarray:
        return np.einsum("aj,aj->a", self.theta[instances, items], states[instances])


class SparseCoverageIncrements(Increments):
    """The same for one sparse `theta` `(n, targets)`: work and memory follow the entries that are stored."""

    favor = 1.0

    def __init__(self, theta: scipy.sparse.csr_array, weights: np.ndarray) -> None:
        self.theta, self.n, self.empty = theta, len(theta.indptr) - 1, weights[None]

    def gains(self, states: np.ndarray) -> np.ndarray:
        return np.stack([self.theta @ left for left in states])

    def grown(self, states: np.ndarray, items: np.ndarray) -> np.ndarray:
        states = states.copy()
        for left, item in zip(states, items):
            entries = slice(self.theta.indptr[item], self.theta.indptr[item + 1])
            left[self.theta.indices[entries]] *= 1.0 - self.theta.data[entries]
        return states

    def picked(self, states: np.ndarray, instances: np.ndarray, items: np.ndarray) -> np.ndarray:
        starts = self.theta.indptr[items].astype(np.int64)
        lengths = self.theta.indptr[items + 1] - starts
        ends = np.cumsum(lengths)
        entries = np.arange(ends[-1]) + np.repeat(starts - (ends - lengths), lengths)  # of one row after the other
        terms = self.theta.data.take(entries) * states[0].take(self.theta.indices.take(entries))
        return np.bincount(np.repeat(np.arange(len(items)), lengths), weights=terms, minlength=len(items))


class CoverageParts(Parts):
    """`f_j(S) = w_j (1 - prod_{i in S} (1 - theta_ij))`: one part per target, `theta` `(n, P)`."""

    def __init__(self, theta: np.ndarray, weights: np.ndarray) -> None:
        self.theta, self.weights = theta, weights
        self.n, self.count = theta.shape
        # A part is a concave function of a sum, w (1 - exp(-a'x)), and its tangents bound it; 2^-53 is zero beside 1.
        self._rate = -np.log1p(-np.minimum(theta, 1 - 2**-53))

    def values(self, mask: np.ndarray) -> np.ndarray:
        return -self.weights * np.expm1(-self._rate[mask].sum(0))

    def at_set(self, mask: np.ndarray) -> list[Cut]:
        left = self.weights * (1 - self.theta[mask]).prod(0)
        return [(self.values(mask), np.where(mask, 0.0, (self.theta * left).T))]

    def at_point(self, x: np.ndarray) -> list[Cut]:
        reach = x @ self._rate
        left = self.weights * np.exp(-reach)
        constant = -self.weights * np.expm1(-reach) - left * reach
        return [(constant, (self._rate * left).T), *self.at_set(x > 0.5)]

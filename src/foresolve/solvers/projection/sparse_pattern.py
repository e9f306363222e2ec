"""Patterns of sparse rows, and what follows from them alone for the factorization of `C D C'`."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse
import torch
from scipy.sparse.csgraph import reverse_cuthill_mckee
from torch import Tensor

from foresolve.solvers.projection.elimination import ENTRY_COST, Elimination

# Full matrices have at most this many rows, and a band pays from that many on.
DENSE_ROWS = 3_000
SMALL_ROWS = 64
# Room for the list of products that make up C D C'.
PAIR_LIMIT = 30_000_000
# A column with more entries than this times sqrt(m) is long: multiplied out, it would add over 100 m entries.
LONG = 10


class Pattern:
    """The places of entries, and what follows from that alone; made once and shared by all who have the same rows."""

    def __init__(self, m: int, n: int, index: Tensor) -> None:
        self.m, self.n = m, n
        self.index = index
        self.row, self.column = index.cpu().numpy()
        self._on_device: dict[tuple[str, torch.device], Tensor] = {}

    def on(self, name: str, device: torch.device) -> Tensor:
        """An index array of this pattern as a tensor on `device`."""
        key = (name, device)
        if key not in self._on_device:
            self._on_device[key] = torch.from_numpy(np.ascontiguousarray(getattr(self, name))).to(device)
        return self._on_device[key]

    @cached_property
    def _gram(self) -> scipy.sparse.csr_array:
        ones = scipy.sparse.csr_array((np.ones(len(self.row)), (self.row, self.column)), (self.m, self.n))
        return scipy.sparse.csr_array(ones @ ones.T)

    @cached_property
    def order(self) -> np.ndarray:
        """The position of each row in the reverse Cuthill-McKee order, which keeps `C D C'` near its diagonal."""
        permutation = reverse_cuthill_mckee(scipy.sparse.csr_matrix(self._gram), symmetric_mode=True)
        order = np.empty(self.m, dtype=np.int64)
        order[permutation] = np.arange(self.m)
        return order

    @cached_property
    def bandwidth(self) -> int:
        entries = self._gram.tocoo()
        first, second = entries.coords
        return int(np.abs(self.order[first] - self.order[second]).max(initial=0))

    @cached_property
    def counts(self) -> np.ndarray:
        """The number of entries of each column."""
        return np.bincount(self.column, minlength=self.n)

    @cached_property
    def pairs(self) -> int:
        """The number of products of two entries that make up `C D C'`."""
        return int((self.counts.astype(np.int64) ** 2).sum())

    @property
    def few_pairs(self) -> bool:
        """True if there is room for a list of these products."""
        return self.pairs <= PAIR_LIMIT

    @property
    def fits_dense(self) -> bool:
        """True if `C D C'` is small enough for a full matrix."""
        return self.m <= DENSE_ROWS

    @cached_property
    def kind(self) -> str:
        """The cheapest way to factorize `C D C'`: "dense", "band" or "sparse".

        Costs are counted in operations of dense BLAS. A sparse factor has no fewer entries than its matrix, so small
        and full matrices need no analysis.
        """
        costs = {"dense": self.m**3 / 3} if self.fits_dense else {}
        if self.few_pairs and self.m > SMALL_ROWS and 4 * (self.bandwidth + 1) < self.m:
            costs["band"] = 2 * self.m * (self.bandwidth + 1) ** 2
        rest = self.rest
        if not costs or (rest.few_pairs and ENTRY_COST * rest._gram.nnz / 2 < min(costs.values())):
            costs["sparse"] = self.elimination.cost
        return min(costs, key=lambda kind: costs[kind])

    # -- long columns ------------------------------------------------------------------------------------------------

    @cached_property
    def long(self) -> np.ndarray:
        """A mask of the entries in long columns."""
        return np.flatnonzero(self.counts[self.column] > LONG * self.m**0.5)

    @cached_property
    def short(self) -> np.ndarray:
        """A mask of the entries in other columns."""
        return np.flatnonzero(self.counts[self.column] <= LONG * self.m**0.5)

    @cached_property
    def rest(self) -> Pattern:
        """The pattern without its long columns."""
        if len(self.long) == 0:
            return self
        return Pattern(self.m, self.n, torch.from_numpy(np.stack([self.row, self.column])[:, self.short]))

    @cached_property
    def elimination(self) -> Elimination:
        """Sparse factors of `C D C'`, the long columns as unknowns of their own."""
        rest = self.rest
        below, above = rest.inverse_order[rest.below], rest.inverse_order[rest.above]
        _, number = np.unique(self.column[self.long], return_inverse=True)
        return Elimination(self.m, below, above, self.row[self.long], number)

    # -- the lower triangle ------------------------------------------------------------------------------------------

    @cached_property
    def _products(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of entries in one column, the first at or below the second in `order`."""
        by_column = np.argsort(self.column, kind="stable")
        counts = self.counts
        start = np.cumsum(counts) - counts
        repeats = counts[self.column[by_column]]
        first = np.repeat(by_column, repeats)
        within = np.arange(len(first)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        second = by_column[np.repeat(start[self.column[by_column]], repeats) + within]
        keep = self.order[self.row[first]] >= self.order[self.row[second]]
        return first[keep], second[keep]

    @cached_property
    def first(self) -> np.ndarray:
        return self._products[0]

    @cached_property
    def second(self) -> np.ndarray:
        return self._products[1]

    @cached_property
    def variable(self) -> np.ndarray:
        return self.column[self.first]

    def places(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Places of pairs of rows in a full matrix, in `order`."""
        return self.order[first] * self.m + self.order[second]

    @cached_property
    def position(self) -> np.ndarray:
        """Places of the entries of the lower triangle of `C D C'` in a full matrix; the diagonal is always there."""
        first, second = self._gram.tocoo().coords
        lower = self.order[first] > self.order[second]
        on_diagonal = np.arange(self.m, dtype=np.int64) * (self.m + 1)
        return np.sort(np.concatenate([self.places(first[lower], second[lower]), on_diagonal]))

    @cached_property
    def target(self) -> np.ndarray:
        """The entry of `C D C'` that each pair adds to."""
        return np.searchsorted(self.position, self.places(self.row[self.first], self.row[self.second]))

    @cached_property
    def below(self) -> np.ndarray:
        """Row (in `order`) of each entry of the lower triangle of `C D C'`."""
        return self.position // self.m

    @cached_property
    def above(self) -> np.ndarray:
        """Column (in `order`) of each entry of the lower triangle of `C D C'`."""
        return self.position % self.m

    @cached_property
    def on_diagonal(self) -> np.ndarray:
        """Places of the diagonal among these entries, in order."""
        return np.flatnonzero(self.below == self.above)

    @cached_property
    def inverse_order(self) -> np.ndarray:
        return np.argsort(self.order)

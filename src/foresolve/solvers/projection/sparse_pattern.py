"""Where sparse rows have entries, and what follows from that alone for the factorisation of `C D C'`."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse
import torch
from scipy.sparse.csgraph import reverse_cuthill_mckee
from torch import Tensor

# Limits of the three ways to factorise C D C', by rows: a full matrix, a band, general sparse LU.
SMALL_ROWS = 64
DENSE_ROWS = 3_000
BAND_BYTES = 1_000_000_000
BAND_FLOPS = 3e10
PAIR_LIMIT = 30_000_000


class Pattern:
    """Where the entries are, and what follows from that alone; made once and shared by all who have the same rows."""

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
    def pairs(self) -> int:
        """How many products of two entries make up `C D C'`."""
        counts = np.bincount(self.column, minlength=self.n).astype(np.int64)
        return int((counts * counts).sum())

    @property
    def few_pairs(self) -> bool:
        """Whether there is room for a list of these products."""
        return self.pairs <= PAIR_LIMIT

    @property
    def fits_dense(self) -> bool:
        """Whether `C D C'` is small enough for a full matrix."""
        return self.m <= DENSE_ROWS

    @cached_property
    def kind(self) -> str:
        """How `C D C'` is best factorised: "dense", "band" or "lu"."""
        if not self.few_pairs:
            return "dense" if self.fits_dense else "lu"
        width = self.bandwidth + 1
        if (
            self.m > SMALL_ROWS
            and 4 * width < self.m
            and width * self.m * 8 <= BAND_BYTES
            and self.m * width**2 <= BAND_FLOPS
        ):
            return "band"
        return "dense" if self.fits_dense else "lu"

    @cached_property
    def _products(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of entries in one column, the first at or below the second in `order`."""
        by_column = np.argsort(self.column, kind="stable")
        counts = np.bincount(self.column, minlength=self.n)
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

    @cached_property
    def _targets(self) -> tuple[np.ndarray, np.ndarray]:
        keys = self.order[self.row[self.first]] * self.m + self.order[self.row[self.second]]
        on_diagonal = np.arange(self.m, dtype=np.int64) * (self.m + 1)  # present even for rows without entries
        unique, inverse = np.unique(np.concatenate([keys, on_diagonal]), return_inverse=True)
        return unique, inverse[: len(keys)]

    @cached_property
    def target(self) -> np.ndarray:
        """The entry of `C D C'` that each pair adds to."""
        return self._targets[1]

    @cached_property
    def below(self) -> np.ndarray:
        """Row (in `order`) of each entry of the lower triangle of `C D C'`."""
        return self._targets[0] // self.m

    @cached_property
    def above(self) -> np.ndarray:
        """Column (in `order`) of each entry of the lower triangle of `C D C'`."""
        return self._targets[0] % self.m

    @cached_property
    def on_diagonal(self) -> np.ndarray:
        """Where among these entries the diagonal is, in order."""
        return np.flatnonzero(self.below == self.above)

    @cached_property
    def position(self) -> np.ndarray:
        """Where these entries lie in a full matrix."""
        return self._targets[0]

    @cached_property
    def inverse_order(self) -> np.ndarray:
        return np.argsort(self.order)

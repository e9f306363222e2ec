"""The inverse of a dense metric on the variables that may move, as a product `W'W`, and rows seen through it.

With `w >= 0` on the diagonal of `H`, `F` the variables that may move, `s = (h + w)^{-1/2}` and `L` the Cholesky factor
of `s (H + w)_FF s`, whose diagonal is ones: `(H + w)_FF^{-1} = W'W` with `W = L^{-1} s`. Rows become `Y = C_F W'`, so
that `C_F (H + w)_FF^{-1} C_F' = Y Y'`.

A batch that shares `H` and `F` has one of it, and one with few free variables is worked out on these alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foresolve.solvers.arrays import Array
from foresolve.solvers.projection.cholesky import InverseRoot
from foresolve.solvers.projection.rows import times
from foresolve.solvers.projection.saddle import SaddleTerms, filled

# A face with at most this share of the variables is worked on alone.
FEW = 0.7


@dataclass(frozen=True)
class Whitening:
    """`W` and `Y` of a batch, or (of length 1) shared by it.

    Attributes
    ----------
    n: all variables.
    places: `(B, f)` of those that may move, padded to the most of the batch; `None` where they are many.
    s: `(B, f)`, 0 where a place is padding or a variable may not move.
    root: `L^{-1}`.
    rows: `Y` `(B, m, f)`.
    """

    n: int
    places: Any
    s: Any
    root: InverseRoot
    rows: Any

    @classmethod
    def of(cls, terms: SaddleTerms, h: Array, matrix: Array) -> Whitening:
        """The whitening of `H = matrix` `(1 or B, n, n)` with the diagonal `h`; the rest is as in the terms."""
        d = terms.inverse(h)
        shared = len(d) > 1 and terms.weight is None and len(matrix) == 1 and not terms.rows.batched
        if shared and bool((d == d[:1]).all()):
            d = d[:1]
        places = _few(d)
        s = _picked(d, places) ** 0.5
        root = InverseRoot(_scaled(matrix, places, s), s.shape[-1])
        rows = root.rows(_columns(filled(terms.rows), places) * s[:, None, :])
        return cls(d.shape[-1], places, s, root, rows)

    def __len__(self) -> int:
        return len(self.s)

    def select(self, index: Array) -> Whitening:
        """The whitening of some instances."""
        if len(self) == 1:
            return self
        places = None if self.places is None else self.places[index]
        twin = Whitening(self.n, places, self.s[index], self.root.select(index), self.rows[index])
        if "gram" in self.__dict__:
            twin.__dict__["gram"] = self.gram[index]
        return twin

    @cached_property
    def gram(self) -> Array:
        """`Y Y'`, `(B, m, m)`."""
        return self.rows @ self.rows.swapaxes(-1, -2)

    def apply(self, r: Array) -> Array:
        """`W r`, `(B, f)`."""
        return self.root.apply(self.s * _picked(r, self.places))

    def adjoint(self, u: Array) -> Array:
        """`W'u`, `(B, n)`."""
        part = self.s * self.root.adjoint(u)
        if self.places is None:
            return part
        if isinstance(part, Tensor):
            return part.new_zeros(len(part), self.n).scatter(1, self.places.expand(part.shape), part)
        out = np.zeros((len(part), self.n))
        out[np.arange(len(part))[:, None], self.places] = part
        return out

    def through_rows(self, u: Array) -> Array:
        """`Y u`, `(B, m)`."""
        return u @ self.rows[0].T if len(self) == 1 else times(self.rows, u)

    def back_through_rows(self, y: Array) -> Array:
        """`Y'y`, `(B, f)`."""
        return y @ self.rows[0] if len(self) == 1 else times(self.rows.swapaxes(-1, -2), y)


def _few(d: Array) -> Array | None:
    """The places of the variables that may move, padded to the most of the batch; `None` where they are many."""
    free, n = d > 0, d.shape[-1]
    most = max(int(free.sum(-1).max()), 1) if len(d) else n
    if n < 16 or most > FEW * n:
        return None
    if isinstance(d, Tensor):
        return torch.argsort((~free).to(torch.int8), dim=-1, stable=True)[:, :most]
    return np.argsort(~free, axis=-1, kind="stable")[:, :most]


def _picked(array: Array, places: Array | None) -> Array:
    """Entries of `(B, n)` at places `(1 or B, f)`."""
    if places is None:
        return array
    if isinstance(array, Tensor):
        return array.gather(1, places.expand(len(array), -1))
    return array[np.arange(len(array))[:, None], places]


def _scaled(matrix: Array, places: Array | None, s: Array) -> Array | Iterator[np.ndarray]:
    """`s H s` with a diagonal of ones, on the variables that may move: on the CPU one by one."""
    if isinstance(s, Tensor):
        part = matrix
        if places is not None and len(matrix) == 1:
            part = matrix[0][places[:, :, None], places[:, None, :]]
        elif places is not None:
            own = torch.arange(len(places), device=places.device)
            part = matrix[own[:, None, None], places[:, :, None], places[:, None, :]]
        scaled = part * s[:, :, None] * s[:, None, :]
        scaled.diagonal(dim1=-2, dim2=-1).fill_(1.0)
        return scaled
    return _one_by_one(matrix, places, s)


def _one_by_one(matrix: np.ndarray, places: np.ndarray | None, s: np.ndarray) -> Iterator[np.ndarray]:
    f = s.shape[-1]
    scaled = np.empty((f, f))
    for i, unit in enumerate(s):
        part = matrix[i if len(matrix) > 1 else 0]
        if places is not None:
            part = part[places[i][:, None], places[i]]
        np.multiply(part, unit, out=scaled)
        np.multiply(scaled, unit[:, None], out=scaled)
        scaled.ravel()[:: f + 1] = 1.0
        yield scaled


def _columns(values: Array, places: Array | None) -> Array:
    """Some columns of rows `(1 or B, m, n)`."""
    if places is None:
        return values
    if isinstance(values, Tensor):
        return torch.take_along_dim(values, places[:, None, :], -1)
    own = np.arange(len(places) if len(values) > 1 else 1)[:, None]
    return values[own, :, places].swapaxes(-1, -2)

"""Saddle point systems of metrics that couple variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from foresolve.solvers.arrays import Array, namespace
from foresolve.solvers.projection.cholesky import CholeskyFactor, Solve, cholesky_solver
from foresolve.solvers.projection.rows import DenseRows, diagonal, times
from foresolve.solvers.projection.saddle import Saddle, SaddleTerms, filled

# Rows of more entries than this are not filled in for the sake of a factor.
MOST_FILLED = 4_000_000
# A face with at most this share of the variables is worked on alone.
FEW = 0.7

JointSolve = Callable[[Array, Array], tuple[Array, Array]]


class LowRankSaddle(Saddle):
    """`H = diag(shift) + V V'`: with `q = V'dx` as unknowns and `d = 1 / (shift + w)`, `V'` is `k` more rows.

    [ C d C' + e    C d V     ] [ dy ]   [ C d r - p ]
    [ V' d C'       I + V'd V ] [ q  ] = [ V' d r    ],     dx = d (r - C'dy - V q).
    """

    def __init__(self, terms: SaddleTerms, shift: Array, factor: Array) -> None:
        super().__init__(terms)
        self.d, self.factor = terms.inverse(shift), factor
        rows = terms.rows
        fits = isinstance(rows, DenseRows) or rows.m * rows.n <= MOST_FILLED
        self._solve = (_stacked if fits else _bordered)(terms, self.d, factor)

    def step(self, r: Array, p: Array) -> tuple[Array, Array]:
        rows, weighted = self.terms.rows, self.d * r
        dy, q = self._solve(self.terms.masked(rows.apply(weighted)) - p, times(self.factor.swapaxes(-1, -2), weighted))
        return self.d * (r - rows.adjoint(dy) - times(self.factor, q)), dy


def _stacked(terms: SaddleTerms, d: Array, factor: Array) -> JointSolve:
    """By one Cholesky factorization of all rows."""
    xp, m = namespace(d), terms.rows.m
    values, columns = filled(terms.rows), factor.swapaxes(-1, -2)
    if terms.mask is not None:
        values = values * terms.mask[..., None]
    size = len(columns) if len(values) == 1 else len(values)
    parts = [xp.expand(part, (size, *part.shape[1:])) for part in (values, columns)]
    both = np.concatenate(parts, 1) if isinstance(d, np.ndarray) else torch.cat(parts, 1)
    e = xp.cat([terms.e, xp.full((len(d), factor.shape[-1]), 1.0, d)])
    solve = DenseRows(both if size != 1 else both[0]).factor(d, e, None, terms.lift)

    def joint(above: Array, below: Array) -> tuple[Array, Array]:
        both = solve(xp.cat([above, below]))
        return both[:, :m], both[:, m:]

    return joint


def _bordered(terms: SaddleTerms, d: Array, factor: Array) -> JointSolve:
    """By the rows' own factorization, and the Schur complement of the `k` columns."""
    rows, stack = terms.rows, np.stack if isinstance(d, np.ndarray) else torch.stack
    solve = rows.factor(d, terms.e, terms.mask, terms.lift)
    weighted = d[..., None] * factor
    columns = [terms.masked(rows.apply(weighted[..., j])) for j in range(factor.shape[-1])]
    cross, solved = stack(columns, -1), stack([solve(column) for column in columns], -1)
    inner = factor.swapaxes(-1, -2) @ weighted - cross.swapaxes(-1, -2) @ solved
    on_diagonal = diagonal(inner)
    on_diagonal += 1.0
    solve_inner = cholesky_solver(inner)

    def joint(above: Array, below: Array) -> tuple[Array, Array]:
        first = solve(above)
        q = solve_inner(below - times(cross.swapaxes(-1, -2), first))
        return first - times(solved, q), q

    return joint


class DenseSaddle(Saddle):
    """`H` a full matrix: with `s = (h + w)^{-1/2}`, `D = s (s (H + w) s)^{-1} s`, whose matrix has a diagonal of ones.

    Its Cholesky factor `L` whitens the rows: `C D C' = Y Y'` with `Y = C s L'^{-1}`, one more set of dense rows.
    A face with few free variables is factorized on these alone, and one that a whole batch shares, once.
    """

    def __init__(self, terms: SaddleTerms, h: Array, matrix: Array) -> None:
        super().__init__(terms)
        own = terms.common() if len(matrix) == 1 else terms
        d = own.inverse(h)
        self._places = _few(d)
        self._s = s = _picked(d, self._places) ** 0.5
        self._factor = CholeskyFactor(_scaled(matrix, self._places, s))
        self._normal: Solve = lambda p: p
        if own.rows.m:
            values = filled(own.rows)
            if own.mask is not None:
                values = values * own.mask[..., None]
            white = DenseRows(self._factor.whitened(_columns(values, self._places) * s[:, None, :]))
            self._normal = white.factor(namespace(s).full_like(s, 1.0), own.e, None, own.lift)

    def _response(self, r: Array) -> Array:
        """`D r`."""
        if self._places is None:
            return self._s * self._factor.solve(self._s * r)
        places = self._places
        if len(places) < len(r):
            places = namespace(r).expand(places, (len(r), places.shape[1]))
        part = self._s * self._factor.solve(self._s * _picked(r, places))
        out = namespace(r).zeros_like(r)
        if isinstance(out, Tensor):
            return out.scatter(1, places, part)
        np.put_along_axis(out, places, part, 1)
        return out

    def step(self, r: Array, p: Array) -> tuple[Array, Array]:
        rows, first = self.terms.rows, self._response(r)
        if not rows.m:
            return first, p
        dy = self._normal(self.terms.masked(rows.apply(first)) - p)
        return first - self._response(rows.adjoint(self.terms.masked(dy))), dy


class ReinforcedSaddle(DenseSaddle):
    """That of `H + E' W E` with `W = diag(ballast)` on equality rows `E`.

    With `E dx - e dy' = p`, `(H + E'WE) dx + E'dy' = r + E'W p` says `H dx + E'(1 + W e) dy' = r`: the same system,
    with `dy = (1 + W e) dy'`, and `e / (1 + W e)` in place of `e`.
    """

    def __init__(self, terms: SaddleTerms, h: Array, matrix: Array, ballast: Array) -> None:
        super().__init__(terms, h, matrix)
        self._ballast = ballast

    def step(self, r: Array, p: Array) -> tuple[Array, Array]:
        dx, dy = super().step(r + self.terms.rows.adjoint(self._ballast * p), p)
        return dx, dy * (1 + self._ballast * self.terms.e)


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
    if places is None:
        return array
    return array.gather(1, places) if isinstance(array, Tensor) else np.take_along_axis(array, places, 1)


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
    for i, unit in enumerate(s):
        part = matrix[i if len(matrix) > 1 else 0]
        if places is not None:
            part = part[np.ix_(places[i], places[i])]
        scaled = part * unit
        scaled *= unit[:, None]
        np.fill_diagonal(scaled, 1.0)
        yield scaled


def _columns(values: Array, places: Array | None) -> Array:
    """Some columns of rows `(1 or B, m, n)`."""
    if places is None:
        return values
    if isinstance(values, Tensor):
        return torch.take_along_dim(values, places[:, None, :], -1)
    return np.take_along_axis(values, places[:, None, :], -1)

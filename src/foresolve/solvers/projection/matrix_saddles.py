"""Saddle point systems of metrics that couple variables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from foresolve.solvers.arrays import Array, namespace
from foresolve.solvers.projection.cholesky import Solve, cholesky_solver
from foresolve.solvers.projection.rows import DenseRows, diagonal, row_space_solver, times
from foresolve.solvers.projection.saddle import Saddle, SaddleTerms, filled
from foresolve.solvers.projection.whitening import Whitening

# Rows of more entries than this are not filled in for the sake of a factor.
MOST_FILLED = 4_000_000

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
    """Solve by one Cholesky factorization of all rows."""
    xp, m = namespace(d), terms.rows.m
    values, columns = filled(terms.rows), factor.swapaxes(-1, -2)
    if terms.mask is not None:
        values = values * terms.mask[..., None]
    size = len(columns) if len(values) == 1 else len(values)
    parts = [xp.expand(part, (size, *part.shape[1:])) for part in (values, columns)]
    both = np.concatenate(parts, 1) if isinstance(d, np.ndarray) else torch.cat(parts, 1)
    e = xp.cat([terms.e, xp.full((len(d), factor.shape[-1]), 1.0, d)])
    # Not in the space of the variables: small variances and small shifts of rows would cancel there.
    solve = row_space_solver(both, d, e, terms.lift)

    def joint(above: Array, below: Array) -> tuple[Array, Array]:
        both = solve(xp.cat([above, below]))
        return both[:, :m], both[:, m:]

    return joint


def _bordered(terms: SaddleTerms, d: Array, factor: Array) -> JointSolve:
    """Solve by the rows' own factorization, and the Schur complement of the `k` columns."""
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
    """`H` a full matrix, by its `Whitening`: with `u = W r`, `(Y Y' + e) dy = Y u - p` and `dx = W'(u - Y'dy)`."""

    def __init__(self, terms: SaddleTerms, white: Whitening) -> None:
        super().__init__(terms)
        self._white = white
        own = terms.common() if len(white) == 1 else terms
        self._normal = _normal_solver(white, own) if terms.rows.m else None

    def step(self, r: Array, p: Array) -> tuple[Array, Array]:
        white, u = self._white, self._white.apply(r)
        if self._normal is None:
            return white.adjoint(u), p
        dy = self._normal(self.terms.masked(white.through_rows(u)) - p)
        return white.adjoint(u - white.back_through_rows(self.terms.masked(dy))), dy


def _normal_solver(white: Whitening, terms: SaddleTerms) -> Solve:
    """The solver of `Y Y' + e` on the rows that count; in the space of the variables where these are fewer."""
    e, mask, (m, size) = terms.e, terms.mask, white.rows.shape[-2:]
    if m > size:
        rows = DenseRows(white.rows[0] if len(white) == 1 else white.rows)
        return rows.factor(namespace(e).full((len(e), size), 1.0, e), e, mask, terms.lift)
    matrix = white.gram if mask is None else white.gram * mask[:, :, None] * mask[:, None, :]
    if len(matrix) < len(e):
        matrix = namespace(e).expand(matrix, (len(e), m, m))
    matrix = matrix + 0.0 if mask is None else matrix
    on_diagonal = diagonal(matrix)
    on_diagonal += terms.lift * on_diagonal + e
    return cholesky_solver(matrix)


class ReinforcedSaddle(DenseSaddle):
    """The saddle point system of `H + E' W E` with `W = diag(ballast)` on equality rows `E`.

    With `E dx - e dy' = p`, `(H + E'WE) dx + E'dy' = r + E'W p` says `H dx + E'(1 + W e) dy' = r`: the same system,
    with `dy = (1 + W e) dy'`, and `e / (1 + W e)` in place of `e`.
    """

    def __init__(self, terms: SaddleTerms, white: Whitening, ballast: Array) -> None:
        super().__init__(terms, white)
        self._ballast = ballast

    def step(self, r: Array, p: Array) -> tuple[Array, Array]:
        dx, dy = super().step(r + self.terms.rows.adjoint(self._ballast * p), p)
        return dx, dy * (1 + self._ballast * self.terms.e)

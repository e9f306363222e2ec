r"""Convex quadratic programs in exact integer arithmetic: the projection of `exact.py` in the metric of a matrix.

    max g'x - 1/2 x'Hx   s.t.  C x = r on equalities,  C x <= r elsewhere,  lower <= x <= upper

The same dual active-set method. On a face, with `F` the free variables and `A` the active rows, every step solves

    H_FF x_F + C_AF' y = g_F - H_FB x_B,    C_AF x_F = r_A - C_AB x_B

by the same elimination: pivots of `H_FF` are positive, those of the rows negative, or 0 for one that depends on others.
An `H` that is definite on the null space of the equality rows alone gets their squares added, `H + E'E` with `g + E'r`:
wherever they hold, that changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from tests.stress.exact import FREE, Face, Integers, Optimum, Projector, _integers, eliminate, fraction


@dataclass
class CurvedProjector(Projector):
    """`point` is `g`; `H` `(n, n)` of fractions; `leaning` where it takes the equality rows for it to be definite.

    Multipliers are those of `g - H x = C'y + w`.
    """

    H: np.ndarray
    leaning: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.h = lcm(*(value.denominator for value in self.H.flat))
        self.metric = _integers(value * self.h for value in self.H.flat).reshape(self.H.shape)
        self.s = self.s * self.h
        if self.leaning:
            E = self.C[self.equalities]
            self.metric = self.metric + E.T.dot(E)
            self.s = self.s + E.T.dot(self.rhs[self.equalities])

    def system(
        self, face: Face, top: Integers, sides: Sequence, held: Integers
    ) -> tuple[list[Fraction], list[Fraction], list[int]]:
        """`z` `(n,)` and `r` with `H_FF z_F + C_AF' r = top_F - H_FB held_B`, `C_A z = sides`, `z_B = held_B`.

        Rows that depend on those before them have no part in it: third, the places of those that have.
        """
        free = face.bound == FREE
        base = np.where(free, 0, held)
        C, size = self.C[face.rows], int(free.sum())
        table = np.zeros((size + len(C),) * 2, dtype=object)
        table[:size, :size] = self.metric[np.ix_(free, free)]
        table[:size, size:], table[size:, :size] = C[:, free].T, C[:, free]
        above = top - self.metric.dot(base)
        below = _integers(sides) - C.dot(base) if len(C) else _integers([])
        Y, D, kept = eliminate(table, np.concatenate([above[free], below])[:, None])
        assert kept[:size] == list(range(size)), "the metric is not definite"
        solution = [Fraction(int(value), D) for value in Y[:, 0]]
        z = np.array([Fraction(int(value)) for value in base], dtype=object)
        z[free] = solution[:size]
        rows = [i - size for i in kept[size:]]
        return list(z), [solution[size + i] for i in rows], rows

    def response(
        self, face: Face, top: Sequence[Fraction], sides: Sequence[Fraction], held: Sequence[Fraction]
    ) -> tuple[np.ndarray, bool]:
        """`u` with `H_FF u_F + C_AF' q = top_F - H_FB held_B`, `C_A u = sides`, `u_B = held_B`, rounded once.

        Second, whether the rows of the face are independent, so that `q` is unique.
        """
        scaled = [value * self.row_scale[i] for i, value in zip(face.rows, sides)]
        unit = lcm(*(value.denominator for value in (*top, *scaled, *held)))
        whole = [_integers(value * unit * scale for value in part) for part, scale in ((top, self.h), (held, 1))]
        below = [value * unit for value in scaled]
        if self.leaning:  # what was added to the metric stays out of it
            held_rows = {i: value for i, value in zip(face.rows, below) if self.polytope.equality[i]}
            whole[0] = whole[0] + sum(self.C[i] * int(value) for i, value in held_rows.items())
        z, _, kept = self.system(face, whole[0], below, whole[1])
        return np.array([float(value / unit) for value in z]), len(kept) == len(face.rows)

    def tangent(self, face: Face, direction: Sequence[Fraction]) -> np.ndarray:
        """`u` with `H_FF u_F + C_AF' q = direction_F`, `C_AF u_F = 0`, rounded once."""
        nothing = [Fraction(0)] * self.polytope.n
        return self.response(face, direction, [Fraction(0)] * len(face.rows), nothing)[0]

    def _solve(self, face: Face) -> tuple[list[Fraction], list[Fraction], list[Fraction]]:
        x, y, kept = self.system(face, self.s, self.rhs[face.rows], self._held(face))
        face.rows = [face.rows[i] for i in kept]
        return x, y, list(self._rest(face, self.s, x, y))

    def along(self, face: Face, normal: Integers) -> tuple[list[Fraction], list[Fraction]]:
        z, r, kept = self.system(face, normal, [0] * len(face.rows), np.zeros_like(self.s))
        assert len(kept) == len(face.rows)
        return z, r

    def _rest(self, face: Face, normal: Integers, z: list[Fraction], r: list[Fraction]) -> np.ndarray:
        pull = self.C[face.rows].T.dot(np.array(r, dtype=object)) if r else 0
        return normal - self.metric.dot(np.array(z, dtype=object)) - pull

    def _optimum(self, face: Face, x: list[Fraction], y: list[Fraction], w: list[Fraction]) -> Optimum:
        plain = super()._optimum(face, x, y, w)
        return Optimum(plain.x, [value / self.h for value in plain.y], [value / self.h for value in plain.w], face)


def fractions(array: np.ndarray) -> np.ndarray:
    """Numbers as they stand, as an array of fractions."""
    out = np.empty(array.shape, dtype=object)
    for place, value in np.ndenumerate(array):
        out[place] = fraction(value)
    return out

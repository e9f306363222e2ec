r"""The Euclidean projection on a polytope in exact integer arithmetic: the truth that layers are measured against.

    min 1/2 |x - s|^2   s.t.  C x = r on equalities,  C x <= r elsewhere,  lower <= x <= upper

Floating-point data are dyadic rationals, so the solution is rational too, and the dual active-set method of Goldfarb
and Idnani (1983) finds it in finitely many steps, or proves that there is none. Nothing here comes from foresolve. With
`F` the free variables and `A` the active rows, every step solves `(C_AF C_AF') y = b` by fraction-free Gauss-Jordan
elimination (Bareiss); a zero pivot of a Gram matrix means a row that depends on those before it, and is skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np

Integers = np.ndarray  # of Python integers, dtype object

FREE, AT_LOWER, AT_UPPER, FIXED = 0, -1, 1, 2


class ProvenInfeasible(Exception):
    """No point satisfies the constraints, and the multipliers that prove it were exact."""


@dataclass
class Face:
    """`rows`: those held as equalities; `bound` `(n,)`: FREE, AT_LOWER, AT_UPPER or FIXED."""

    rows: list[int]
    bound: np.ndarray

    def copy(self) -> Face:
        return Face(list(self.rows), self.bound.copy())


@dataclass(frozen=True)
class Optimum:
    """The projection as exact fractions.

    `y` `(m,)` and `w` `(n,)` are the multipliers of rows and bounds: `s - x = C'y + w`, in units of `x` (over those of
    the row).
    """

    x: list[Fraction]
    y: list[Fraction]
    w: list[Fraction]
    face: Face

    @property
    def point(self) -> np.ndarray:
        """`x`, rounded once."""
        return np.array([float(value) for value in self.x])


@dataclass(frozen=True)
class Polytope:
    """One instance: arrays of floats, or of fractions."""

    C: np.ndarray
    rhs: np.ndarray
    equality: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def n(self) -> int:
        return len(self.lower)

    def terms(self, x: np.ndarray) -> np.ndarray:
        """`sum_j |a_ij| |x_j| + |b_i|`: what the residual of a row is measured by."""
        return np.abs(self.C) @ np.abs(x) + np.abs(self.rhs)

    def broken(self, x: np.ndarray, size: float = 0.0) -> float:
        """By how much the worst row is broken, as a share of its own terms.

        Added to these is what rounding allows at the row's scale, for an `x` of the given size: a variable in [0, 1]
        that should be 0 and is 1e-17 breaks `x_1 - x_2 = 0` by all of its terms.
        """
        products = (self.C.astype(np.longdouble) * x.astype(np.longdouble)).sum(-1) - self.rhs
        excess = np.where(self.equality, np.abs(products), np.maximum(products, 0.0))
        reach = np.minimum(np.maximum(np.abs(self.lower), np.abs(self.upper)), np.abs(x).max(initial=size))
        excess = np.maximum(excess - 64 * np.finfo(float).eps * (np.abs(self.C) @ reach), 0.0)
        terms = self.terms(x)
        return float((excess / np.where(terms > 0, terms, 1.0)).max(initial=0.0))


def fraction(value: Any) -> Fraction:
    """A number as it stands: floating-point numbers are fractions."""
    return value if isinstance(value, Fraction) else Fraction(float(value))


def _content(row: Sequence[Fraction]) -> Fraction:
    """The factor that makes a row of fractions one of integers without a common divisor."""
    scale = lcm(*(value.denominator for value in row)) if row else 1
    common = gcd(*(int(value * scale) for value in row)) if row else 0
    return Fraction(scale, common or 1)


def _integers(values: Iterable[Any]) -> Integers:
    listed = [None if value is None else int(value) for value in values]
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


def eliminate(gram: Integers, sides: Integers) -> tuple[Integers, int, list[int]]:
    """`Y` and `D` with `gram Y = D sides` on the independent rows, and which rows these are; elsewhere `Y` is 0."""
    size = len(gram)
    table = np.concatenate([gram, sides], axis=1)
    previous, kept = 1, []
    for i in range(size):
        pivot = table[i, i]
        if pivot == 0:
            continue
        own = table[i].copy()
        table = (pivot * table - np.multiply.outer(table[:, i], own)) // previous
        table[i] = own
        previous, kept = pivot, [*kept, i]
    solution = np.zeros_like(sides)
    if kept:
        solution[kept] = table[kept, size:]
    return solution, previous, kept


@dataclass
class Projector:
    """The projection of `point` on a polytope, exactly; everything below is in integer units of its own."""

    polytope: Polytope
    point: Sequence[Fraction]
    steps: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        p = self.polytope
        m, n = p.C.shape
        rows = [[fraction(a) for a in row] for row in p.C]
        self.row_scale = [_content(row) for row in rows]
        self.C = np.zeros((m, n), dtype=object)
        for i, row in enumerate(rows):
            self.C[i] = _integers(a * self.row_scale[i] for a in row)
        rhs = [fraction(b) * scale for b, scale in zip(p.rhs, self.row_scale)]
        bounds = [[fraction(b) if np.isfinite(float(b)) else None for b in side] for side in (p.lower, p.upper)]
        numbers = [*self.point, *rhs, *(b for side in bounds for b in side if b is not None)]
        self.unit = lcm(*(number.denominator for number in numbers))
        self.rhs = _integers(b * self.unit for b in rhs)
        self.s = _integers(value * self.unit for value in self.point)
        self.lower, self.upper = (_integers(None if b is None else b * self.unit for b in side) for side in bounds)
        self.equalities = [i for i in range(m) if p.equality[i]]
        self.fixed = np.array([low is not None and low == high for low, high in zip(self.lower, self.upper)], bool)
        self.norms = np.maximum(np.linalg.norm(self.C.astype(float), axis=1), 1)

    # -- one face ----------------------------------------------------------------------------------------------------

    def tangent(self, face: Face, direction: Sequence[Fraction]) -> np.ndarray:
        """The orthogonal projection of a direction on the face, rounded once; its rows may be dependent."""
        unit = lcm(*(value.denominator for value in direction))
        normal = _integers(value * unit for value in direction)
        face = face.copy()
        free = face.bound == FREE
        CF = self.C[face.rows][:, free]
        _, _, kept = eliminate(CF.dot(CF.T), np.zeros((len(face.rows), 0), dtype=object))
        face.rows = [face.rows[i] for i in kept]
        return np.array([float(value / unit) for value in self.along(face, normal)[0]])

    def start(self, guess: Face | None = None) -> Face:
        """A face with all equalities and fixed variables in it."""
        bound = np.zeros(self.polytope.n, dtype=int) if guess is None else guess.bound.copy()
        bound[self.fixed] = FIXED
        rows = self.equalities + [i for i in (guess.rows if guess else []) if not self.polytope.equality[i]]
        return Face(rows, bound)

    def _held(self, face: Face) -> Integers:
        return np.where(face.bound == AT_UPPER, self.upper, self.lower)

    def _solve(self, face: Face) -> tuple[list[Fraction], list[Fraction], list[Fraction]]:
        """`x`, and multipliers of the rows of the face and of its bounds; dependent rows leave the face."""
        free = face.bound == FREE
        base = np.where(free, self.s, self._held(face))
        C = self.C[face.rows]
        CF = C[:, free]
        sides = (C.dot(base) - self.rhs[face.rows])[:, None]
        Y, D, kept = eliminate(CF.dot(CF.T), sides)
        pull = C.T.dot(Y[:, 0]) if len(C) else np.zeros_like(self.s)
        X = np.where(free, self.s * D - pull, base * D)
        W = self.s * D - X - pull
        x, w = ([Fraction(int(value), D) for value in values] for values in (X, W))
        y = [Fraction(int(Y[i, 0]), D) for i in kept]
        face.rows = [face.rows[i] for i in kept]
        return x, y, w

    def along(self, face: Face, normal: Integers) -> tuple[list[Fraction], list[Fraction]]:
        """`normal = z + C_A' r` on the free variables, `C_AF z = 0`: the two parts `z` `(n,)` and `r`."""
        free = face.bound == FREE
        C = self.C[face.rows]
        CF = C[:, free]
        Y, D, kept = eliminate(CF.dot(CF.T), CF.dot(normal[free])[:, None])
        assert len(kept) == len(face.rows)
        pull = C.T.dot(Y[:, 0]) if len(C) else np.zeros_like(self.s)
        z = [Fraction(int(value), D) for value in np.where(free, normal * D - pull, 0)]
        return z, [Fraction(int(value), D) for value in Y[:, 0]]

    def _rest(self, face: Face, normal: Integers, z: list[Fraction], r: list[Fraction]) -> np.ndarray:
        """What bounds must take of a normal: `normal - z - C_A' r`, where variables cannot move."""
        return normal - (self.C[face.rows].T.dot(np.array(r, dtype=object)) if r else 0)

    # -- the method --------------------------------------------------------------------------------------------------

    def solve(self, guess: Face | None = None) -> Optimum:
        """The projection; raises `ProvenInfeasible`."""
        face = self.start(guess)
        while True:
            x, y, w = self._solve(face)
            wrong = [i for i, value in zip(face.rows, y) if value < 0 and not self.polytope.equality[i]]
            loose = [j for j, value in enumerate(w) if face.bound[j] in (AT_LOWER, AT_UPPER)
                     and value * int(face.bound[j]) < 0]  # fmt: skip
            if not wrong and not loose:
                break
            face.rows = [i for i in face.rows if i not in wrong]
            face.bound[loose] = FREE
        while (broken := self._most_broken(x)) is not None:
            self._add(face, broken, x, y, w)
            x, y, w = self._solve(face)
        return self._optimum(face, x, y, w)

    def _optimum(self, face: Face, x: list[Fraction], y: list[Fraction], w: list[Fraction]) -> Optimum:
        prices = [Fraction(0)] * len(self.C)
        for i, value in zip(face.rows, y):
            prices[i] = value * self.row_scale[i] / self.unit
        return Optimum([value / self.unit for value in x], prices, [value / self.unit for value in w], face)

    def _most_broken(self, x: list[Fraction]) -> tuple[Integers, Fraction, tuple[str, int, int]] | None:
        """Normal `a`, amount `a'x - b > 0`, and name of the constraint that is broken most; `None` if none is."""
        denominator = lcm(*(value.denominator for value in x)) if x else 1
        X = _integers(value * denominator for value in x)
        worst, best = 0.0, None
        for i, amount in enumerate(self.C.dot(X) - self.rhs * denominator if len(self.C) else []):
            if amount > 0 or (amount < 0 and self.polytope.equality[i]):
                size = float(Fraction(abs(int(amount)), denominator)) / self.norms[i]
                if best is None or size > worst:
                    sign = 1 if amount > 0 else -1
                    worst, best = size, (sign * self.C[i], Fraction(abs(int(amount)), denominator), ("row", i, sign))
        for side, bounds in ((-1, self.lower), (1, self.upper)):
            for j, value in enumerate(X):
                if bounds[j] is not None and side * (value - bounds[j] * denominator) > 0:
                    amount = Fraction(side * int(value - bounds[j] * denominator), denominator)
                    if best is None or float(amount) > worst:
                        normal = np.array([0] * len(X), dtype=object)
                        normal[j] = side
                        worst, best = float(amount), (normal, amount, ("bound", j, side))
        return best

    def _add(self, face: Face, broken: tuple[Integers, Fraction, tuple[str, int, int]],
             x: list[Fraction], y: list[Fraction], w: list[Fraction]) -> None:  # fmt: skip
        """Step until the broken constraint holds, dropping those whose multiplier would turn negative."""
        normal, amount, (kind, index, side) = broken
        rows = dict(zip(face.rows, y))
        bounds = {j: w[j] * int(face.bound[j]) for j in range(len(w)) if face.bound[j] in (AT_LOWER, AT_UPPER)}
        while True:
            self.steps += 1
            z, r = self.along(face, normal)
            rates = dict(zip(face.rows, r))
            left = self._rest(face, normal, z, r)
            slopes = {j: left[j] * int(face.bound[j]) for j in bounds}
            blocking = [(rows[i] / rates[i], "row", i) for i in rows if rates[i] > 0 and not self.polytope.equality[i]]
            blocking += [(bounds[j] / slopes[j], "bound", j) for j in bounds if slopes[j] > 0]
            length = sum(a * b for a, b in zip(normal, z))
            full = amount / length if length else None
            first = min(blocking, default=None)
            if full is None and first is None:
                raise ProvenInfeasible
            if first is None or (full is not None and full <= first[0]):
                break
            step, what, dropped = first
            rows = {i: rows[i] - step * rates[i] for i in rows if (what, i) != ("row", dropped)}
            bounds = {j: bounds[j] - step * slopes[j] for j in bounds if (what, j) != ("bound", dropped)}
            amount -= step * length
            if what == "row":
                face.rows.remove(dropped)
            else:
                face.bound[dropped] = FREE
        if kind == "row":
            face.rows.append(index)
        else:
            face.bound[index] = side

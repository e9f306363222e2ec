"""The truth about one instance of a linear problem: its smoothed decision, derivative and best decision."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import scipy.optimize

from tests.stress.exact import (
    AT_LOWER,
    AT_UPPER,
    FIXED,
    FREE,
    Face,
    Optimum,
    Polytope,
    Projector,
    ProvenInfeasible,
    fraction,
)
from tests.stress.refined import RefinedFace, certified, clarabel_guess

TIE = 1e-9  # slack and multiplier below this share of x: rounding decides on which side of a kink an instance lies


@dataclass(frozen=True)
class Tie:
    """The two faces between which a nearly tied instance lies; they are the same where nothing is tied."""

    strict: Face
    tight: Face


@dataclass(frozen=True)
class Truth:
    """`x`, or that there is none (`feasible=False`), or that nothing could be proven (`x=None`)."""

    p: Polytope
    s: np.ndarray
    x: np.ndarray | None
    feasible: bool = True
    projector: Projector | None = None
    optimum: Optimum | None = None
    y: np.ndarray | None = None
    w: np.ndarray | None = None
    face: Face | None = None

    @property
    def size(self) -> float:
        """The size of `x`, or of what bounds it where `x` is 0."""
        assert self.x is not None
        size = float(np.abs(self.x).max(initial=0.0))
        if size > 0:
            return size
        widths = self.p.upper - self.p.lower
        lengths = [float(v) for v in (*widths[np.isfinite(widths) & (widths > 0)], *np.abs(self.s[self.s != 0]))]
        return min(lengths, default=1.0)

    @property
    def _least(self) -> float:
        """What a multiplier must push by, in units of `x`, to count."""
        return TIE * self.size + 1e-14 * float(np.abs(self.s).max(initial=0.0))

    def tie(self) -> Tie:
        """What holds with a multiplier, and what also holds without one."""
        p, x, face = self.p, self.x, self.face
        assert x is not None
        assert face is not None
        assert self.y is not None
        assert self.w is not None
        free = face.bound == FREE
        least = self._least
        norms = np.linalg.norm(p.C[:, free], axis=1)
        pushes = np.abs(self.y) * np.linalg.norm(p.C, axis=1) > least
        slack = p.rhs - p.C @ x
        near = (slack <= TIE * p.terms(x)) | (slack <= TIE * self.size * np.where(norms > 0, norms, np.inf))
        strict, tight = [], []
        for i in range(len(p.rhs)):
            if p.equality[i] or (i in face.rows and pushes[i]):
                strict.append(i)
            elif i in face.rows or near[i]:
                tight.append(i)
        strict_bound, tight_bound = face.bound.copy(), face.bound.copy()
        weak = np.isin(face.bound, (AT_LOWER, AT_UPPER)) & (np.abs(self.w) <= least)
        strict_bound[weak] = FREE
        close = TIE * self.size
        tight_bound[free & (x - p.lower <= close)] = AT_LOWER
        tight_bound[free & (p.upper - x <= close)] = AT_UPPER
        return Tie(Face(strict, strict_bound), Face(strict + tight, tight_bound))

    def tangent(self, face: Face, v: np.ndarray) -> np.ndarray:
        """`v` projected on a face: the derivative of the projection is this map."""
        if self.projector is not None:
            return self.projector.tangent(face, [fraction(value) for value in v])
        return RefinedFace(self.p, face).tangent(v)

    def derivative(self, v: np.ndarray) -> np.ndarray | None:
        """`J'v` for the projection with Jacobian `J`; `None` at a kink, where the two sides differ."""
        tie = self.tie()
        strict = self.tangent(tie.strict, v)
        same = tie.strict.rows == tie.tight.rows and (tie.strict.bound == tie.tight.bound).all()
        if not same and np.abs(strict - self.tangent(tie.tight, v)).max() > 1e-9 * np.abs(v).max(initial=0.0):
            return None
        return strict

    def pieces(self, v: np.ndarray, most: int = 6) -> list[np.ndarray]:
        """`J'v` for all choices of what is nearly tied; none where there are more than `most` ties."""
        tie = self.tie()
        rows = [i for i in tie.tight.rows if i not in tie.strict.rows]
        bounds = np.flatnonzero(tie.strict.bound != tie.tight.bound).tolist()
        if len(rows) + len(bounds) > most:
            return []
        results = []
        for held in product((False, True), repeat=len(rows) + len(bounds)):
            bound = tie.strict.bound.copy()
            for j, hold in zip(bounds, held[len(rows) :]):
                bound[j] = tie.tight.bound[j] if hold else bound[j]
            chosen = [i for i, hold in zip(rows, held) if hold]
            results.append(self.tangent(Face(tie.strict.rows + chosen, bound), v))
        return results

    def agrees(self, v: np.ndarray, gradient: np.ndarray, rng: np.random.Generator) -> bool:
        """Whether a difference quotient of exact projections, each side, confirms `J'v` along a random direction."""
        if self.projector is None or self.optimum is None:
            return True
        d = rng.standard_normal(len(v))
        step = Fraction(self.size) / 2**36
        slopes = []
        for sign in (1, -1):
            moved = [s + sign * step * fraction(t) for s, t in zip(self.projector.point, d)]
            x = Projector(self.p, moved).solve(self.optimum.face).x
            change = sum((a - b) * fraction(t) for a, b, t in zip(x, self.optimum.x, v)) / (sign * step)
            slopes.append(float(change))
        scale = float(np.linalg.norm(v) * np.linalg.norm(d))
        return all(abs(slope - gradient @ d) <= 1e-7 * scale for slope in slopes)


def _cheap(p: Polytope) -> bool:
    """Whether integers stay short enough: few rows, or rows of small whole numbers."""
    whole = p.C.size == 0 or bool((np.round(p.C) == p.C).all() and np.abs(p.C).max() <= 64)
    return len(p.rhs) <= (110 if whole else 45) and p.n <= 400


def project(p: Polytope, gain: np.ndarray, gamma: float, hint: np.ndarray | None = None) -> Truth:
    """`argmax gain'x - gamma |x|^2`, exact or certified; `hint` is a decision whose face may be the one."""
    point = [fraction(value) / (2 * fraction(gamma)) for value in gain]
    s = np.array([float(value) for value in point])
    small = p.n + len(p.rhs) <= 60
    truth = None if small else _certified(p, s, hint)
    if truth is None:
        truth = _exact(p, s, point) if small or _cheap(p) else Truth(p, s, None)
    return truth


def _exact(p: Polytope, s: np.ndarray, point: list[Fraction]) -> Truth:
    projector = Projector(p, point)
    guess = clarabel_guess(p, s) if p.n + len(p.rhs) > 24 else None
    try:
        optimum = projector.solve(None if guess is None else guess[0])
    except ProvenInfeasible:
        return Truth(p, s, None, feasible=False)
    y, w = (np.array([float(value) for value in values]) for values in (optimum.y, optimum.w))
    return Truth(p, s, optimum.point, True, projector, optimum, y, w, optimum.face)


def _certified(p: Polytope, s: np.ndarray, hint: np.ndarray | None) -> Truth | None:
    """From Clarabel's face, or from that of a hint."""
    guess = clarabel_guess(p, s)
    prices = np.zeros(len(p.rhs)) if guess is None else guess[1]
    for face in (None if guess is None else guess[0], None if hint is None else face_of(p, hint)):
        proven = certified(p, s, face, prices) if face is not None else None
        if proven is not None:
            refined, (x, y, w) = proven
            return Truth(p, s, x, y=y, w=w, face=refined.face)
    return None


def face_of(p: Polytope, x: np.ndarray) -> Face:
    """The face that a point seems to lie on."""
    size = float(np.abs(x).max(initial=0.0))
    bound = np.where(p.lower == p.upper, FIXED, FREE)
    free = bound == FREE
    bound[free & (x <= p.lower + 1e-12 * size)] = AT_LOWER
    bound[free & (x >= p.upper - 1e-12 * size)] = AT_UPPER
    slack = p.rhs - p.C @ x
    tight = ~p.equality & (slack <= 1e-10 * p.terms(x))
    return Face(np.flatnonzero(tight).tolist(), bound)


def best_value(p: Polytope, gain: np.ndarray, x: np.ndarray) -> float:
    """`max gain'x`; infinite where it has no bound. Where `x` is proven to be best by duality, its value is taken."""
    if p.n > 24:
        bound = _dual_bound(p, gain)
        if bound - float(gain @ x) <= 1e-8 * float(np.abs(gain) @ np.abs(x)):
            return bound
    best = best_fraction(p, [fraction(g) for g in gain], x)
    return float("inf") if best is None else float(best)


def _dual_bound(p: Polytope, gain: np.ndarray) -> float:
    """`r'y + sum_j max (gain - C'y)_j x_j` over the box: a bound on `gain'x` for any `y`, taken from SciPy."""
    rows, sides = p.C[~p.equality], p.rhs[~p.equality]
    equalities = {"A_eq": p.C[p.equality], "b_eq": p.rhs[p.equality]} if p.equality.any() else {}
    inequalities = {"A_ub": rows, "b_ub": sides} if len(rows) else {}
    bounds = np.stack([p.lower, p.upper], -1)
    result = scipy.optimize.linprog(-gain, **inequalities, **equalities, bounds=bounds, method="highs")
    if result.status != 0:
        return float("inf")
    y = np.zeros(len(p.rhs))
    y[p.equality], y[~p.equality] = -result.eqlin.marginals, np.maximum(-result.ineqlin.marginals, 0.0)
    left = gain - p.C.T @ y
    ends = np.where(left > 0, p.upper, p.lower)
    return float(p.rhs @ y + np.where(left == 0, 0.0, left * ends).sum())


def best_fraction(p: Polytope, gain: list[Fraction], x: np.ndarray) -> Fraction | None:
    """`max gain'x`, from the exact projection of `x + t gain` for a huge `t`; `None` where there is no bound.

    For `t` large enough that is a best decision, exactly: the set of best decisions is a face. `x` is a point to start
    from.
    """
    largest = max(map(abs, gain), default=Fraction(0))
    length = Fraction(2) ** 200 / (largest or 1)
    point = [fraction(a) + length * g for a, g in zip(x, gain)]
    best = Projector(p, point).solve(face_of(p, x)).x
    if max(map(abs, best), default=Fraction(0)) > 2**100:
        return None
    return sum((g * b for g, b in zip(gain, best)), Fraction(0))

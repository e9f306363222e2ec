"""The truth about one instance of a quadratic program: its decision, derivatives, and the best value."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tests.stress.curved_exact import CurvedProjector
from tests.stress.exact import FREE, Face, Polytope, ProvenInfeasible, fraction
from tests.stress.reference import TIE, Truth, face_of

STEP = Fraction(1, 2**60)
ROUNDING = 1e-15  # of stationarity, in units of its terms


@dataclass(frozen=True)
class CurvedTruth(Truth):
    """As `Truth`, for the metric `H`; `y` and `w` are in units of `x`, by what they push in their own rows' terms."""

    H: np.ndarray | None = None
    gain: np.ndarray | None = None
    condition: float = 1.0

    @property
    def _least(self) -> float:
        return self.size * (TIE + ROUNDING * self.condition)

    def derivative(self, v: np.ndarray) -> np.ndarray | None:
        tie = self.tie()
        strict = self.tangent(tie.strict, v)
        same = tie.strict.rows == tie.tight.rows and (tie.strict.bound == tie.tight.bound).all()
        if not same and np.abs(strict - self.tangent(tie.tight, v)).max() > 1e-9 * np.abs(strict).max(initial=0.0):
            return None
        return strict

    def agrees(self, v: np.ndarray, gradient: np.ndarray, rng: np.random.Generator) -> bool:
        projector, optimum = self.projector, self.optimum
        assert isinstance(projector, CurvedProjector)
        assert optimum is not None
        d = rng.standard_normal(len(v)) * self.terms
        slopes = []
        for sign in (1, -1):
            moved = [g + sign * STEP * fraction(t) for g, t in zip(projector.point, d)]
            x = CurvedProjector(self.p, moved, projector.H, projector.leaning).solve(optimum.face).x
            change = sum((a - b) * fraction(t) for a, b, t in zip(x, optimum.x, v)) / (sign * STEP)
            slopes.append(float(change))
        scale = float(np.abs(gradient) @ np.abs(d)) + float(np.abs(v).max(initial=0.0)) * self.size
        return all(abs(slope - gradient @ d) <= 1e-7 * scale for slope in slopes)

    def reach(self, v: np.ndarray) -> float:
        """What came in from behind the layer, in units of a gradient: that of free variables, in their own metric."""
        assert self.H is not None
        assert self.face is not None
        free = self.face.bound == FREE
        roots = np.sqrt(np.maximum(self.H.diagonal()[free], 1e-300))
        return float((np.abs(v[free]) / roots).max(initial=0.0) / roots.max(initial=1e-150))

    def weakest(self, face: Face) -> float:
        """The least singular value of the rows of a face over its free variables, each of norm 1; or 1."""
        assert self.H is not None
        free = face.bound == FREE
        rows = self.p.C[face.rows][:, free] / np.sqrt(np.maximum(self.H.diagonal()[free], 1e-300))
        norms = np.linalg.norm(rows, axis=1)
        if not rows.size or not norms.all() or len(rows) > rows.shape[1]:
            return 0.0 if len(rows) else 1.0
        return float(np.linalg.svd(rows / norms[:, None], compute_uv=False)[-1])

    @cached_property
    def terms(self) -> np.ndarray:
        """What stationarity is made of, `|g| + |H| |x| + |C'| |y|`, `(n,)`."""
        assert self.optimum is not None
        assert self.H is not None
        assert self.gain is not None
        y = np.abs([float(value) for value in self.optimum.y])
        return np.abs(self.gain) + np.abs(self.H) @ np.abs(self.optimum.point) + np.abs(self.p.C).T @ y


def decide(p: Polytope, gain: np.ndarray, H: np.ndarray, *, leaning: bool, hint: np.ndarray | None) -> CurvedTruth:
    """`argmax gain'x - x'Hx / 2`, exact; `hint` is a decision whose face may be the one."""
    point = [fraction(value) for value in gain]
    projector = CurvedProjector(p, point, H, leaning)
    whole = H.astype(float)
    size = np.linalg.lstsq(whole, gain, rcond=None)[0]
    guess = None if hint is None or not np.isfinite(hint).all() else face_of(p, hint)
    try:
        optimum = projector.solve(guess)
    except ProvenInfeasible:
        return CurvedTruth(p, size, None, feasible=False)
    truth = CurvedTruth(p, size, optimum.point, True, projector, optimum, face=optimum.face, H=whole, gain=gain,
                        condition=_condition(p, whole, optimum.face, leaning=leaning))  # fmt: skip
    y, w = (np.array([float(value) for value in values]) for values in (optimum.y, optimum.w))
    terms = np.where(truth.terms > 0, truth.terms, 1.0)
    norms = np.maximum(np.linalg.norm(p.C, axis=1), 1e-300)
    pushes = (np.abs(y)[:, None] * np.abs(p.C) / terms).max(-1, initial=0.0)
    object.__setattr__(truth, "y", truth.size * pushes / norms)
    object.__setattr__(truth, "w", truth.size * w / terms)
    return truth


def _condition(p: Polytope, H: np.ndarray, face: Face, *, leaning: bool) -> float:
    """Of the metric on the free variables, each in units of its own."""
    free = face.bound == FREE
    if leaning:
        E = p.C[p.equality]
        H = H + E.T @ E * (np.abs(H).max() / max(np.abs(E).max(), 1e-300) ** 2)
    part = H[np.ix_(free, free)]
    if not part.size:
        return 1.0
    scale = np.sqrt(np.maximum(part.diagonal(), 1e-300))
    values = np.linalg.eigvalsh(part / scale / scale[:, None])
    return float(values[-1] / max(values[0], 1e-9 * values[-1]))


def value(gain: list[Fraction], Q: np.ndarray, x: list[Fraction]) -> Fraction:
    """`gain'x - x'Qx / 2`."""
    point = np.array(x, dtype=object)
    return np.array(gain, dtype=object).dot(point) - point.dot(Q.dot(point)) / 2


def lacking(p: Polytope, gain: np.ndarray, Q: np.ndarray, x: np.ndarray) -> float | None:
    """What `x` lacks of the best value of `gain'x - x'Qx / 2`; `None` where there is no best.

    `Q` may be semidefinite: by `eps |x' - x|^2 / 2` every other decision is made worse, for an `eps` that is next to
    nothing, and what is best then is best as nearly.
    """
    exact, point = [fraction(g) for g in gain], [fraction(a) for a in x]
    sizes = [abs(value) for value in (*exact, *Q.flat) if value != 0]
    eps = min(sizes, default=Fraction(1)) / 2**200
    anchored = Q.copy()
    anchored[np.arange(len(x)), np.arange(len(x))] += eps
    moved = [g + eps * a for g, a in zip(exact, point)]
    best = CurvedProjector(p, moved, anchored).solve(face_of(p, x)).x
    far = max((abs(a - b) for a, b in zip(best, point)), default=Fraction(0))
    if far > Fraction(2) ** 80 * max(*map(abs, point), Fraction(1)):
        return None
    return float(value(exact, Q, best) - value(exact, Q, point))

"""Random quadratic programs in every form of Q, and their decisions by other solvers and in exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import clarabel
import numpy as np
import piqp
import pytest
import scipy.sparse
import torch
from torch import Tensor

import foresolve
from foresolve.errors import InvalidInputError

# How Q is given; "leaning" is definite on the null space of A_eq alone.
FORMS = ("diagonal", "dense", "sparse", "large sparse", "low rank", "factor", "leaning")
# Of these Q is not definite, and the layer needs a gamma.
SEMIDEFINITE = ("factor",)


@dataclass(frozen=True)
class Program:
    """One program `max theta'x - x'Qx / 2 - gamma |x|^2`, all in dense NumPy."""

    Q: np.ndarray
    A_ub: np.ndarray
    b_ub: np.ndarray
    A_eq: np.ndarray
    b_eq: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    theta: np.ndarray
    gamma: float = 0.0

    @property
    def n(self) -> int:
        return len(self.theta)

    @property
    def H(self) -> np.ndarray:
        """`Q + 2 gamma I`."""
        return self.Q + 2 * self.gamma * np.eye(self.n)

    def value(self, x: np.ndarray) -> float:
        return float(self.theta @ x - x @ self.H @ x / 2)

    def problem(self, **changes: Any) -> foresolve.QuadraticProgram:
        rows = {"A_ub": self.A_ub, "b_ub": self.b_ub, "A_eq": self.A_eq, "b_eq": self.b_eq}
        given: dict[str, Any] = rows | {"bounds": (self.lower, self.upper)} | changes
        if not {"Q", "diagonal", "factor"} & set(given):
            given["Q"] = self.Q
        return foresolve.QuadraticProgram(**given)

    def broken(self, x: np.ndarray) -> float:
        """The largest violation of a row or bound, in units of its terms."""
        terms = [np.abs(A) @ np.abs(x) + np.abs(b) for A, b in ((self.A_eq, self.b_eq), (self.A_ub, self.b_ub))]
        size = max(float(np.abs(x).max(initial=0.0)), 1e-300)
        parts = [
            np.abs(self.A_eq @ x - self.b_eq) / np.maximum(terms[0], 1e-6 * size),
            np.maximum(self.A_ub @ x - self.b_ub, 0.0) / np.maximum(terms[1], 1e-6 * size),
            np.maximum(self.lower - x, 0.0) / size,
            np.maximum(x - self.upper, 0.0) / size,
        ]
        return max(float(part.max(initial=0.0)) for part in parts)


def dyadic(array: np.ndarray, unit: float = 1 / 64) -> np.ndarray:
    """Rounded to few binary digits, so that sums and products of few are exact."""
    return np.round(array / unit) * unit


def draw(
    seed: int,
    n: int = 8,
    m_eq: int = 2,
    m_ub: int = 4,
    *,
    rank: int | None = None,
    dependent: bool = False,
    fixed: bool = False,
    free: bool = False,
    ties: bool = False,
    spread: float = 0.0,
    gamma: float = 0.0,
) -> Program:
    """A feasible program of exact data; `spread` scales variables in Q over so many orders of magnitude."""
    rng = np.random.default_rng(seed)
    A_eq, A_ub = dyadic(rng.standard_normal((m_eq, n))), dyadic(rng.standard_normal((m_ub, n)))
    lower, upper = dyadic(-0.1 - rng.random(n)), dyadic(0.1 + rng.random(n))
    if fixed:
        upper[: n // 4 + 1] = lower[: n // 4 + 1]
    if free:
        lower[-(n // 4 + 1) :] = -np.inf
        upper[-(n // 3 + 1) :] = np.inf
    if dependent:
        A_eq = np.concatenate([A_eq, A_eq[:1] + A_eq[-1:], A_eq[:1]]) if m_eq else A_eq
        A_ub = np.concatenate([A_ub, A_ub[:2]])
    inside = np.clip(dyadic(rng.uniform(-0.8, 0.8, n)), lower, upper)
    slack = 0.0 if ties else 0.125
    b_eq, b_ub = A_eq @ inside, A_ub @ inside + slack * (np.arange(len(A_ub)) % 3)
    factor = dyadic(rng.standard_normal((n, n if rank is None else rank)))
    scale = 2.0 ** np.round(rng.uniform(-spread, spread, n) * np.log2(10) / 2)
    factor = factor * scale[:, None]
    theta = dyadic(2 * rng.standard_normal(n)) * scale
    Q = factor @ factor.T
    return Program(Q, A_ub, b_ub, A_eq, b_eq, lower, upper, np.round(theta) if ties else theta, gamma)


def of_form(form: str, seed: int, **changes: Any) -> tuple[Program, dict[str, Any]]:
    """A program, and its Q as `QuadraticProgram` takes it in that form."""
    rng = np.random.default_rng([seed, 7])
    n = changes.pop("n", 210 if form == "large sparse" else 8)
    program = draw(seed, n, **changes)
    if form == "diagonal":
        diagonal = dyadic(0.25 + rng.random(n))
        return replace(program, Q=np.diag(diagonal)), {"diagonal": diagonal}
    if form == "dense":
        Q = program.Q + np.eye(n) / 4
        return replace(program, Q=Q), {"Q": Q}
    if form in {"sparse", "large sparse"}:
        entries = scipy.sparse.random_array((n, n), density=min(2.0 / n, 0.3), rng=rng)
        B = scipy.sparse.csc_array((dyadic(entries.data + 0.1), entries.coords), (n, n))
        Q = scipy.sparse.csc_array(B @ B.T + scipy.sparse.diags_array(dyadic(0.25 + rng.random(n))))
        return replace(program, Q=Q.toarray()), {"Q": Q}
    if form == "low rank":
        factor, diagonal = dyadic(rng.standard_normal((n, 2))), dyadic(0.25 + rng.random(n))
        return replace(program, Q=np.diag(diagonal) + factor @ factor.T), {"diagonal": diagonal, "factor": factor}
    if form == "factor":
        factor = dyadic(rng.standard_normal((n, 2)))
        return replace(program, Q=factor @ factor.T), {"factor": factor}
    assert form == "leaning"
    # Nothing is felt of the first two variables, which two equality rows hold.
    Q = program.Q + np.eye(n) / 4
    Q[:2], Q[:, :2] = 0.0, 0.0
    A_eq = program.A_eq.copy()
    A_eq[:2, :2] = np.array([[2.0, 0.5], [-0.5, 1.0]])
    inside = np.clip(np.zeros(n), program.lower, program.upper)
    b_ub = np.maximum(program.b_ub, program.A_ub @ inside + 0.125)
    b_eq = A_eq @ inside
    return replace(program, Q=Q, A_eq=A_eq, b_eq=b_eq, b_ub=b_ub), {"Q": Q}


# -- other solvers -----------------------------------------------------------------------------------------------------


def by_clarabel(p: Program) -> tuple[np.ndarray, np.ndarray] | None:
    """The decision and the multipliers of equality and inequality rows; `None` where Clarabel gives up."""
    eye = np.eye(p.n)
    has_upper, has_lower = np.isfinite(p.upper), np.isfinite(p.lower)
    rows = [p.A_eq, p.A_ub, eye[has_upper], -eye[has_lower]]
    sides = [p.b_eq, p.b_ub, p.upper[has_upper], -p.lower[has_lower]]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
        setattr(settings, name, 1e-12)
    cones = [clarabel.ZeroConeT(len(p.b_eq)), clarabel.NonnegativeConeT(sum(map(len, sides[1:])))]
    solver = clarabel.DefaultSolver(
        scipy.sparse.csc_matrix(p.H), -p.theta, scipy.sparse.csc_matrix(np.concatenate(rows)),
        np.concatenate(sides), cones, settings,
    )  # fmt: skip
    solution = solver.solve()
    if str(solution.status) not in {"Solved", "AlmostSolved", "InsufficientProgress"}:
        return None
    return np.array(solution.x), np.array(solution.z)[: len(p.b_eq) + len(p.b_ub)]


def by_piqp(p: Program) -> tuple[np.ndarray, np.ndarray] | None:
    """As `by_clarabel`, by PIQP."""
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-11
    solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = 1e-11
    A = (p.A_eq, p.b_eq) if len(p.b_eq) else (np.zeros((0, p.n)), np.zeros(0))
    G = p.A_ub if len(p.b_ub) else np.zeros((0, p.n))
    solver.setup(p.H, -p.theta, *A, G, np.full(len(p.b_ub), -np.inf), p.b_ub, p.lower, p.upper)
    status = solver.solve()
    if status != piqp.PIQP_SOLVED:
        return None
    z = np.asarray(solver.result.z_u) if len(p.b_ub) else np.zeros(0)
    return np.array(solver.result.x), np.concatenate([np.array(solver.result.y), z])


# -- exact arithmetic --------------------------------------------------------------------------------------------------


def exact(p: Program, *guesses: tuple[np.ndarray, np.ndarray] | None) -> np.ndarray | None:
    """The decision, proven in exact arithmetic and rounded once; `None` where no guess leads to it.

    A guess gives a face. On it the optimality conditions are linear equations of rational numbers; where their solution
    keeps to all other constraints and all multipliers have the right sign, it is the decision, whoever guessed.
    """
    for guess in guesses:
        if guess is None:
            continue
        for sides, active in _faces(p, *guess):
            x = _on_face(p, sides, active)
            if x is not None:
                return x
    return None


def _faces(p: Program, x: np.ndarray, y: np.ndarray) -> Iterator[tuple[np.ndarray, list[int]]]:
    """Faces that a decision in floating-point numbers may lie on: -1, 0, 1 for each variable, and inequality rows.

    The rows that push most come first, for some may depend on others.
    """
    m_eq = len(p.b_eq)
    size = float(np.abs(x).max(initial=0.0)) or 1.0
    slack, norms = p.b_ub - p.A_ub @ x, np.linalg.norm(p.A_ub, axis=1)
    h = np.maximum(p.H.diagonal(), 1e-12 * p.H.diagonal().max() or 1.0)
    pull = (p.theta - p.H @ x - np.concatenate([p.A_eq, p.A_ub]).T @ y) / h
    for near in (1e-6, 1e-8, 1e-4):
        at = np.where(x - p.lower <= near * size, -1, np.where(p.upper - x <= near * size, 1, 0))
        pushed = np.where((np.abs(pull) > near * size) | (p.lower == p.upper), at, 0)
        tight = slack <= near * size * np.maximum(norms, 1e-300)
        pushing = tight & (y[m_eq:] * norms / np.median(h) > near * size)
        for sides, rows in ((pushed, pushing), (at, tight), (at, pushing), (pushed, tight)):
            yield sides, sorted(np.flatnonzero(rows).tolist(), key=lambda i: -y[m_eq + i])


def _on_face(p: Program, sides: np.ndarray, active: list[int]) -> np.ndarray | None:
    """The decision, if it lies on the face of these bounds and inequality rows."""
    E, b, G, g = (_fractions(part) for part in (p.A_eq, p.b_eq, p.A_ub, p.b_ub))
    H, c = _fractions(p.Q) + np.diag(_fractions(np.full(p.n, 2 * p.gamma))), _fractions(p.theta)
    # Equality rows hold: with their squares beside H nothing changes, and H may be singular without them.
    curved, slope = (H + E.T @ E, c + E.T @ b) if len(b) else (H, c)
    free, C = sides == 0, np.concatenate([E, G[active]])
    x = _fractions(np.where(free, 0.0, np.where(sides < 0, p.lower, p.upper)))
    k, m = int(free.sum()), len(C)
    right = np.concatenate([(slope - curved @ x)[free], np.concatenate([b, g[active]]) - C @ x])
    table = np.empty((k + m, k + m), dtype=object)
    table[:k, :k], table[:k, k:], table[k:, :k] = curved[np.ix_(free, free)], C[:, free].T, C[:, free]
    table[k:, k:] = Fraction(0)
    solution = _eliminated(table, right)
    if solution is None:
        return None
    x[free], y = solution[:k], solution[k:]
    pull = slope - curved @ x - (C.T @ y if m else 0)
    wrong = [
        any(x[i] < Fraction(float(p.lower[i])) for i in np.flatnonzero(np.isfinite(p.lower))),
        any(x[i] > Fraction(float(p.upper[i])) for i in np.flatnonzero(np.isfinite(p.upper))),
        any(left > 0 for left in G @ x - g) if len(g) else False,
        any(left != 0 for left in E @ x - b) if len(b) else False,
        any(price < 0 for price in y[len(b) :]),
        any(pull[i] * int(sides[i]) < 0 for i in np.flatnonzero(~free) if p.lower[i] < p.upper[i]),
        any(pull[i] != 0 for i in np.flatnonzero(free)),
    ]
    return None if any(wrong) else x.astype(float)


def _eliminated(table: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """The solution of a saddle point system; rows that depend on those before get 0, `None` where they contradict."""
    size = len(table)
    table = np.concatenate([table, right[:, None]], axis=1)
    kept = []
    for i in range(size):
        if table[i, i] == 0:
            continue
        table[i] = table[i] / table[i, i]
        for j in range(size):
            if j != i and table[j, i] != 0:
                table[j] = table[j] - table[j, i] * table[i]
        kept.append(i)
    solution = np.full(size, Fraction(0), dtype=object)
    solution[kept] = table[kept, size]
    rest = [i for i in range(size) if i not in kept]
    return None if any(table[i, size] != 0 for i in rest) else solution


def _fractions(array: np.ndarray) -> np.ndarray:
    out = np.empty(array.shape, dtype=object)
    for place, value in np.ndenumerate(array):
        out[place] = Fraction(float(value))
    return out


def tensor(array: Any) -> Tensor:
    return torch.as_tensor(array, dtype=torch.float64)


def check_named(call: Callable[[], object], parts: Sequence[str]) -> None:
    """That a mistake is refused with a message that has all of these parts."""
    with pytest.raises(InvalidInputError) as caught:
        call()
    missing = [part for part in parts if part not in str(caught.value)]
    assert not missing, str(caught.value)

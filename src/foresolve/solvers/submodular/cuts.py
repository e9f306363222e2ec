r"""Exact maximization of monotone submodular functions over the bases of a matroid, by cuts and HiGHS.

A function is given as a sum of parts `f = sum_p f_p`, each with linear bounds `f_p(S) <= c + a'1_S` that hold for all
sets, and with equality for the set they are made for. So

    max sum_p eta_p   s.t.   eta_p <= c + a'x  for all bounds so far,   x a base

is an upper bound, and its solution asks for further ones, until the best set seen has that value (Nemhauser and Wolsey,
"Maximizing submodular set functions: formulations and analysis of algorithms", 1981; bounds per part are far tighter
than bounds on the sum).
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
import scipy.sparse

from foresolve.errors import SolverError
from foresolve.solvers.exact.highs_model import OPTIMAL, TIME_LIMIT, HighsModel
from foresolve.solvers.submodular.increments import Values

SCALE = 1e3  # what f of all items is brought to: HiGHS' tolerances are absolute
TOLERANCE = 1e-9
MOST_LINEAR = 30  # rounds of cuts at fractional points before the first search
MOST_ROUNDS = 500

Cut = tuple[np.ndarray, np.ndarray]  # constants (P,) and slopes (P, n)


class Parts(ABC):
    """`f = sum_p f_p`, `P` parts over `n` items, each monotone and submodular with `f_p(empty) = 0`."""

    count: int
    n: int

    @abstractmethod
    def values(self, mask: np.ndarray) -> np.ndarray:
        """`f_p(S)` `(P,)` of the set `mask` `(n,)`."""

    @abstractmethod
    def at_set(self, mask: np.ndarray) -> list[Cut]:
        """Bounds of which the first holds with equality at the set; a constant of infinity where a part has none."""

    @abstractmethod
    def at_point(self, x: np.ndarray) -> list[Cut]:
        """Bounds that cut off what they can at a fractional `x` `(n,)`."""


class WholeParts(Parts):
    """Any function, in one part: `value` gives `f` `(N,)` of sets `(N, n)`.

    With `g_i(S) = f(S + i) - f(S)`, for all sets `T`

        f(T) <= f(S) + sum_{i in T - S} g_i(S) - sum_{i in S - T} g_i(all - i)
        f(T) <= f(S) + sum_{i in T - S} g_i(empty) - sum_{i in S - T} g_i(S - i).
    """

    count = 1

    def __init__(self, value: Values, n: int) -> None:
        self.n, self._empty = n, float(value(np.zeros((1, n), dtype=bool))[0])
        self.value = lambda masks: value(masks) - self._empty
        every = np.ones(n, dtype=bool)
        self._first = self.value(np.eye(n, dtype=bool))
        self._last = self.value(every[None])[0] - self.value(~np.eye(n, dtype=bool))

    def values(self, mask: np.ndarray) -> np.ndarray:
        return self.value(mask[None])

    def at_set(self, mask: np.ndarray) -> list[Cut]:
        have = self.values(mask)
        turned = self.value(mask ^ np.eye(self.n, dtype=bool)) - have  # each item put in or taken out
        return [
            (have - last[mask].sum(), np.where(mask, last, gains)[None])
            for gains, last in ((turned, self._last), (self._first, -turned))
        ]

    def at_point(self, x: np.ndarray) -> list[Cut]:
        return self.at_set(x > 0.5)


class Bases(NamedTuple):
    """`{x 0/1 : A x <= b, sum x = rank}`."""

    matrix: scipy.sparse.csr_array
    rhs: np.ndarray
    rank: int


def maximize_by_cuts(parts: Parts, bases: Bases, start: np.ndarray, gap: float, time_limit: float) -> np.ndarray:
    """A base `(n,)` whose value is within `gap` (relative) of the best, from a base `start`.

    Raises `SolverError` where the time (seconds) is up before that is known. To be called on a fresh thread: HiGHS
    refuses `threads=1` on one where another user of it chose otherwise.
    """
    return _Search(parts, bases, start, gap, time_limit).run()


class _Search:
    def __init__(self, parts: Parts, bases: Bases, start: np.ndarray, gap: float, time_limit: float) -> None:
        self.parts, self.bases, self.gap, self.deadline = parts, bases, gap, time.monotonic() + time_limit
        self.best, self.value = start.astype(bool), float(parts.values(start.astype(bool)).sum())
        self.most = parts.values(np.ones(parts.n, dtype=bool))
        self.scale = SCALE / max(float(self.most.sum()), 1e-300)  # whose inverse is still a number
        self.rows: list[tuple[scipy.sparse.csr_array, np.ndarray]] = []

    def run(self) -> np.ndarray:
        if self.most.sum() <= 0 or self.bases.rank == 0:
            return self.best
        empty = self.parts.at_set(np.zeros(self.parts.n, dtype=bool))
        first = self._violated([*empty, *self.parts.at_set(self.best)], None)
        self._load(integer=False, cuts=first)
        for _ in range(MOST_LINEAR):
            point = self._solve()
            cuts = self._violated(self.parts.at_point(point[: self.parts.n]), point)
            if cuts is None:
                break
            self._add(cuts)
        self._load(integer=True, cuts=None)
        bound = np.inf
        for _ in range(MOST_ROUNDS):
            point = self._solve()
            bound = min(bound, self.highs.bound() / self.scale)
            mask = point[: self.parts.n] > 0.5
            value = float(self.parts.values(mask).sum())
            if value > self.value:
                self.best, self.value = mask, value
            cuts = None
            if bound - self.value > self.gap * abs(self.value):
                cuts = self._violated(self.parts.at_set(mask), point)
            if cuts is None:  # the bound is met, or the best point is a set with its very value
                return self.best
            self._add(cuts)
        raise self._stopped(f"{MOST_ROUNDS} rounds of cuts", bound)

    def _violated(self, cuts: list[Cut], point: np.ndarray | None) -> tuple[scipy.sparse.csr_array, np.ndarray] | None:
        """Rows `eta_p - a'x <= c` that `point` breaks (all of them without one)."""
        blocks, sides = [], []
        n, count = self.parts.n, self.parts.count
        for constants, slopes in cuts:
            which = np.flatnonzero(np.isfinite(constants))
            if point is not None:
                bound = (constants + slopes @ point[:n]) * self.scale
                which = np.flatnonzero(point[n:] > bound + 10 * TOLERANCE * np.maximum(1.0, np.abs(bound)))
            eta = scipy.sparse.csr_array((np.ones(len(which)), (np.arange(len(which)), which)), (len(which), count))
            blocks.append(scipy.sparse.hstack([scipy.sparse.csr_array(-slopes[which] * self.scale), eta]))
            sides.append(constants[which] * self.scale)
        side = np.concatenate(sides)
        return (scipy.sparse.csr_array(scipy.sparse.vstack(blocks)), side) if len(side) else None

    def _load(self, *, integer: bool, cuts: tuple[scipy.sparse.csr_array, np.ndarray] | None) -> None:
        """A new model with the matroid's rows and all cuts so far."""
        if cuts is not None:
            self.rows.append(cuts)
        n, count = self.parts.n, self.parts.count
        pad = scipy.sparse.csr_array((len(self.bases.rhs) + 1, count))
        members = scipy.sparse.vstack([self.bases.matrix, scipy.sparse.csr_array(np.ones((1, n)))])
        stack = scipy.sparse.vstack([scipy.sparse.hstack([members, pad]), *(rows for rows, _ in self.rows)])
        matrix = scipy.sparse.csr_array(stack)
        upper = np.concatenate([self.bases.rhs, [self.bases.rank], *(side for _, side in self.rows)])
        lower = np.full(len(upper), -np.inf)
        lower[len(self.bases.rhs)] = self.bases.rank
        tolerances = dict.fromkeys(
            ("primal_feasibility_tolerance", "dual_feasibility_tolerance", "mip_feasibility_tolerance"), TOLERANCE
        )
        self.highs = HighsModel({**tolerances, "mip_abs_gap": 0.0})
        self.highs.load(
            matrix,
            (lower, upper),
            (np.zeros(n + count), np.concatenate([np.ones(n), self.most * self.scale])),
            maximize=True,
            costs=np.repeat([0.0, 1.0], [n, count]),
            integer=np.repeat([integer, False], [n, count]),
        )

    def _add(self, cuts: tuple[scipy.sparse.csr_array, np.ndarray]) -> None:
        self.rows.append(cuts)
        self.highs.add_rows(*cuts)

    def _solve(self) -> np.ndarray:
        left = self.deadline - time.monotonic()
        if left > 0:
            status = self.highs.run(seconds=left)
            if status == OPTIMAL:
                return self.highs.decision()
            if status != TIME_LIMIT:
                raise SolverError(
                    f"HiGHS stopped without an optimum (status: {status!r})", remedy="Use another `method`"
                )
        raise self._stopped("the time limit", np.inf)

    def _stopped(self, what: str, bound: float) -> SolverError:
        known = f" of at most {bound:.6g}" if np.isfinite(bound) else ""
        return SolverError(
            (
                f"the exact method met {what} before it could prove an optimum{known}; the best set so far has the "
                f"value {self.value:.6g}"
            ),
            remedy="Raise `time_limit`, or use method='greedy'",
        )

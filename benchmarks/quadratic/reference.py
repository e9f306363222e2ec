"""Answers to compare with: `python -m benchmarks.quadratic.reference [NAME ...]`, in the reference environment.

x: PIQP at 1e-12 (its distance from Clarabel's answer is reported), whose active set is then taken as a guess: on it
x and its multipliers solve one linear system; rows that are violated come in, rows with negative multipliers go out,
until there are none. What is left of the optimality conditions bounds the distance from the true optimum, since Q is
definite.

Gradient: the adjoint of that linear system, where multipliers and slacks are clear of each other; elsewhere there is a
kink nearby, and the instance is counted but not compared. Central differences of x confirm it for some instances.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks._harness.layers.accuracy import CHECKED, save_reference
from benchmarks._harness.layers.inputs import Matrix, dense
from benchmarks._harness.layers.solvers import with_clarabel, with_piqp
from benchmarks.quadratic.catalogue import PROBLEMS, SUITE
from benchmarks.quadratic.inputs import Case, load
from benchmarks.quadratic.kkt import Face

DIRECTIONS = 4
STEP = 1e-6
CHANGES = 50
FEASIBLE = 1e-11
# An inequality whose multiplier and slack are both below this share of the largest ones lies next to a kink.
CLEAR = 1e-6


@dataclass(frozen=True)
class Curvature:
    """Q, and its smallest eigenvalue."""

    matrix: Matrix
    least: float

    @classmethod
    def of(cls, Q: Matrix) -> Curvature:
        return cls(Q, float(np.linalg.eigvalsh(dense(Q))[0]))


@dataclass(frozen=True)
class Answer:
    """`distance` bounds the Euclidean distance from the optimum among the points as feasible as x."""

    x: np.ndarray
    face: Face | None
    smooth: bool
    distance: float
    gap: float


def solve(case: Case, Q: Curvature, theta: np.ndarray, compare: bool = False) -> Answer:
    c = case.sign * theta
    point = with_piqp(case, Q.matrix, c)
    gap = float(np.abs(point.x - with_clarabel(case, Q.matrix, c).x).max()) if compare else 0.0
    G, h = case.inequalities()
    active = point.multipliers > point.slacks
    for _ in range(CHANGES):
        face = Face(case, Q.matrix, active)
        x, multipliers, rest = face.point(c)
        slacks = h - G @ x
        wrong = (active & (multipliers < 0.0)) | (~active & (slacks < -FEASIBLE))
        if not wrong.any():
            clear = np.maximum(slacks / max(1.0, np.abs(x).max()), multipliers / np.abs(c).max())
            distance = float(np.linalg.norm(rest)) / Q.least
            return Answer(x, face, bool(clear.min(initial=1.0) > CLEAR), distance, gap)
        active = active ^ wrong
    return Answer(point.x, None, False, float("inf"), gap)


class Derivatives:
    """v'x along random directions of theta and, where it is a leaf, of Q, for the instances that are checked."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.rng = np.random.default_rng(1)
        self.of_Q = case.hessian() is None
        self.rows: dict[str, list] = {key: [] for key in ("pairs", "smooth", "directions", "derivatives")}
        if self.of_Q:
            self.rows.update(directions_Q=[], derivatives_Q=[])
        self.difference = 0.0

    def add(self, draw: int, instance: int, Q: Curvature, answer: Answer) -> None:
        case, n = self.case, self.case.n
        v, directions = case.cotangent[instance], self.rng.standard_normal((DIRECTIONS, n))
        slope = np.zeros(n) if answer.face is None else answer.face.derivative(v)
        row = {"pairs": (draw, instance), "smooth": answer.smooth}
        row.update(directions=directions, derivatives=case.sign * directions @ slope)
        if self.of_Q:
            square = self.rng.standard_normal((DIRECTIONS, n, n))
            # Symmetric, so that all ways to write the gradient of a symmetric matrix agree.
            square = (square + np.swapaxes(square, 1, 2)) / 2.0
            row.update(directions_Q=square.reshape(DIRECTIONS, -1), derivatives_Q=-square @ answer.x @ slope)
        for key, value in row.items():
            self.rows[key].append(value)
        if answer.smooth and instance < 4:
            self.difference = max(self.difference, self._difference(draw, instance, Q, row))

    def _difference(self, draw: int, instance: int, Q: Curvature, row: dict) -> float:
        """How far the first derivative of each leaf is from central differences, relative to all of them."""
        case = self.case
        theta, v = case.theta[draw, instance], case.cotangent[instance]

        def gap(ahead: Answer, behind: Answer, derivatives: np.ndarray) -> float:
            value = float((ahead.x - behind.x) @ v) / (2.0 * STEP)
            return abs(value - derivatives[0]) / max(1e-6, float(np.sqrt((derivatives**2).mean())))

        step = STEP * row["directions"][0]
        found = gap(solve(case, Q, theta + step), solve(case, Q, theta - step), row["derivatives"])
        if self.of_Q:
            turn = STEP * row["directions_Q"][0].reshape(case.n, case.n)
            sides = [solve(case, Curvature.of(Q.matrix + sign * turn), theta) for sign in (1.0, -1.0)]
            found = max(found, gap(sides[0], sides[1], row["derivatives_Q"]))
        return found

    def arrays(self) -> dict[str, np.ndarray]:
        return {key: np.array(values) for key, values in self.rows.items()}


def answers_of(case: Case) -> tuple[list[Answer], Derivatives]:
    """Of all draws and instances, in this order."""
    answers, derivatives = [], Derivatives(case)
    shared = case.hessian()
    common = None if shared is None else Curvature.of(shared)
    for draw, instance in np.ndindex(case.theta.shape[:2]):
        Q = common or Curvature.of(case.curvature(draw, instance))
        answer = solve(case, Q, case.theta[draw, instance], compare=draw == 0 and instance < 4)
        answers.append(answer)
        if instance < (CHECKED if draw == 0 else 1):
            derivatives.add(draw, instance, Q, answer)
    return answers, derivatives


def summary_of(case: Case, answers: list[Answer], derivatives: Derivatives) -> dict[str, Any]:
    x = np.stack([answer.x for answer in answers])
    smooth = derivatives.rows["smooth"]
    return {
        "case": case.name,
        "instances": len(answers),
        "polished": sum(answer.face is not None for answer in answers),
        "clarabel_vs_piqp": max(answer.gap for answer in answers),
        "free_share": float(((x > case.lower + 1e-9) & (x < case.upper - 1e-9)).mean()),
        "largest": float(np.abs(x).max()),
        "infeasibility": max(case.infeasibility(row) for row in x),
        "certified_distance": max(answer.distance for answer in answers),
        "gradients": len(smooth),
        "kinks": len(smooth) - sum(smooth),
        "gradient_vs_differences": derivatives.difference,
    }


def main(names: list[str]) -> None:
    for name in names or PROBLEMS:
        case = load(name)
        answers, derivatives = answers_of(case)
        x = np.stack([answer.x for answer in answers]).reshape(case.theta.shape)
        save_reference(SUITE, name, summary_of(case, answers, derivatives), x=x, **derivatives.arrays())


if __name__ == "__main__":
    main(sys.argv[1:])

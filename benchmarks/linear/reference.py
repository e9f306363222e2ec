"""Answers to compare with: `python -m benchmarks.linear.reference [NAME ...]`, in the reference environment.

x: Clarabel and PIQP at tight tolerances, checked against each other, then polished: once the active set is
known, x is the projection of c / (2 gamma) onto an affine space, found by least squares to machine precision.
The polished point is kept only where it is feasible and agrees with the interior point solvers; how far it
can be from the optimum is then bounded by certificate.py.

Gradient: central differences of that x in a few random directions. x is piecewise linear in theta, so the
difference is exact as long as theta +- h d stays within one piece; where slopes ahead and behind differ for
every step, there is a kink nearby, and the instance is counted but not compared.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from benchmarks._harness.layers.accuracy import save_reference
from benchmarks._harness.layers.solvers import with_clarabel, with_piqp
from benchmarks.linear.catalogue import PROBLEMS, SUITE
from benchmarks.linear.certificate import distance_bound
from benchmarks.linear.inputs import Case, load

DIRECTIONS = 4
STEPS = (1e-4, 1e-5, 1e-6)
# Where a multiplier and a slack are both tiny, the active set is a guess: several are tried.
GUESSES = (1.0, 1e-2, 1e2, 1e-4, 1e4)
AGREE = 1e-6


@dataclass
class Answer:
    x: np.ndarray
    polished: bool
    gap: float


def polish(case: Case, c: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Project c / (2 gamma) onto the face on which the `active` rows of `inequalities()` are tight."""
    rows, below, above = np.split(active, np.cumsum([len(case.b_ub), case.n]))
    x = np.where(below, case.lower, np.where(above, case.upper, 0.0))
    free = ~(below | above)
    A, b = case.equalities()
    C = sp.vstack([A, case.A_ub[rows]], format="csr")
    residual = np.concatenate([b, case.b_ub[rows]]) - C @ x
    center = c[free] / (2.0 * case.gamma)
    C = C[:, free].toarray()
    step = np.linalg.lstsq(C, residual - C @ center, rcond=1e-11)[0] if C.size else 0.0
    x[free] = center + step
    return x


def solve(case: Case, theta: np.ndarray, compare: bool = False) -> Answer:
    c = case.sign * theta
    point = with_clarabel(case, case.hessian(), c)
    x, multipliers, slacks = point.x, point.multipliers, point.slacks
    gap = float(np.abs(x - with_piqp(case, case.hessian(), c).x).max()) if compare else 0.0
    best: np.ndarray | None = None
    # An active set with every multiplier clear of its slack needs one guess.
    clear = float(np.maximum(multipliers, slacks).min()) > 1e-4
    for guess in GUESSES[:1] if clear else GUESSES:
        exact = polish(case, c, multipliers > guess * slacks)
        if case.infeasibility(exact) > 1e-10 or float(np.abs(exact - x).max()) > 1e-5:
            continue
        # Difference of two objectives, written so that nothing cancels.
        if best is None or (exact - best) @ (c - case.gamma * (exact + best)) > 0.0:
            best = exact
    return Answer(x if best is None else best, best is not None, gap)


def derivative(
    case: Case, theta: np.ndarray, here: np.ndarray, direction: np.ndarray, v: np.ndarray
) -> tuple[float, bool]:
    """Derivative of v'x(theta + t d) at t = 0 and whether it exists, as far as the smallest step can tell.

    Two central differences would agree across a kink at theta itself (both average the two sides), so the
    slopes ahead and behind are compared instead.
    """
    value = float("nan")
    for h in STEPS:
        ahead = float((solve(case, theta + h * direction).x - here) @ v) / h
        behind = float((here - solve(case, theta - h * direction).x) @ v) / h
        value = (ahead + behind) / 2.0
        if abs(ahead - behind) <= AGREE * max(abs(value), 1e-3 * float(np.linalg.norm(v))):
            return value, True
    return value, False


def checked(case: Case) -> Iterator[tuple[int, int]]:
    """(draw, instance) pairs whose gradient is checked; fewer where a solve is expensive."""
    instances = 32 if case.n <= 200 else 8
    yield from ((0, instance) for instance in range(instances))
    yield from ((draw, 0) for draw in range(1, 4))


def gradients(case: Case, x: np.ndarray) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    pairs = list(checked(case))
    directions = rng.standard_normal((len(pairs), DIRECTIONS, case.n))
    values = np.full((len(pairs), DIRECTIONS), np.nan)
    smooth = np.zeros(len(pairs), dtype=bool)
    for k, (draw, instance) in enumerate(pairs):
        theta, v = case.theta[draw, instance], case.cotangent[instance]
        slopes = [derivative(case, theta, x[draw, instance], d, v) for d in directions[k]]
        values[k] = [value for value, _ in slopes]
        smooth[k] = all(agree for _, agree in slopes)
    return {"pairs": np.array(pairs), "directions": directions, "derivatives": values, "smooth": smooth}


def main(names: list[str]) -> None:
    for name in names or PROBLEMS:
        case = load(name)
        draws, batch, n = case.theta.shape
        x = np.empty((draws, batch, n))
        answers = []
        for draw in range(draws):
            for instance in range(batch):
                answer = solve(case, case.theta[draw, instance], compare=instance < 4)
                x[draw, instance] = answer.x
                answers.append(answer)
        checks = gradients(case, x)
        inside = (x > case.lower + 1e-9) & (x < case.upper - 1e-9)
        summary = {
            "case": name,
            "instances": len(answers),
            "polished": sum(answer.polished for answer in answers),
            "clarabel_vs_piqp": max(answer.gap for answer in answers),
            "free_share": float(inside.mean()),
            "infeasibility": max(case.infeasibility(row) for row in x.reshape(-1, n)),
            "certified_distance": max(
                distance_bound(case, case.theta[draw, instance], x[draw, instance])
                for draw in range(draws)
                for instance in range(batch)
            ),
            "gradients": len(checks["pairs"]),
            "kinks": int((~checks["smooth"]).sum()),
        }
        save_reference(SUITE, name, summary, x=x, **checks)


if __name__ == "__main__":
    main(sys.argv[1:])

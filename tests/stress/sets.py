"""Submodular maximization of few items against enumeration of all sets.

The multilinear extension is a sum over all `2^n` sets, its derivatives are differences of that sum, and the smoothed
decision is right where it is the exact projection of `grad F(x) / 2 gamma` on the matroid's polytope, at a maximum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

import foresolve
from tests.stress.draws import Generator
from tests.stress.exact import FREE, Face, Polytope
from tests.stress.outcomes import TOLERANCE, Outcome, Verdict, judged
from tests.stress.reference import Truth, project
from tests.stress.set_draws import Lattice, SetDraw
from tests.stress.watching import Watched, watch


def check(draw: SetDraw, rng: Generator) -> list[Verdict]:
    """The smoothed decision and its gradient, the greedy and the best set."""
    built = watch(draw.problem)
    if built.value is None:
        return [Verdict("sets", Outcome.CRASH, note=built.crash or str(built.refusal))]
    lattices = draw.lattices()
    if not lattices:
        return _empty(draw, built.value)
    verdicts = _smoothed(draw, built.value, lattices, rng)
    for method in ("greedy", "exact", "continuous_greedy"):
        decided = watch(lambda method=method: built.value.solve(draw.theta, method=method))
        verdicts += _sets(draw, method, decided, lattices)
    return verdicts + _selected(draw, built.value, lattices, rng)


def _selected(draw: SetDraw, problem: foresolve.SubmodularProblem, lattices: list[Lattice],
              rng: Generator) -> list[Verdict]:  # fmt: skip
    """The values of random sets under the problem of some instances, in another order: each keeps what is its own."""
    if len(draw.batch) != 1:
        return []
    index = rng.permutation(draw.count)[: int(rng.integers(1, draw.count + 1))]
    codes = rng.integers(0, 1 << problem.n, len(index))
    x = torch.from_numpy(lattices[0].sets[codes]).to(draw.theta.dtype)
    chosen = torch.from_numpy(index)
    done = watch(lambda: problem.select(chosen).objective(x, draw.theta[chosen]))
    if done.value is None:
        return [Verdict("select", Outcome.CRASH, note=done.crash or str(done.refusal))]
    verdicts = []
    for i, code, value in zip(index.tolist(), codes, done.value.double().tolist()):
        expected = float(lattices[i].values(lattices[i].theta)[code])
        off = abs(value - expected) / (abs(expected) or 1.0)
        verdicts.append(judged("select", i, off, 1e-9 + 16 * torch.finfo(draw.theta.dtype).eps, warned=False))
    return verdicts


def _empty(draw: SetDraw, problem: foresolve.SubmodularProblem) -> list[Verdict]:
    """Nothing in, nothing out."""
    calls = {method: lambda method=method: problem.solve(draw.theta, method=method) for method in ("greedy", "exact")}
    calls["multilinear"] = lambda: foresolve.MultilinearRelaxation(draw.gamma)(draw.theta, problem)
    verdicts = []
    for part, call in calls.items():
        done = watch(call)
        right = done.value is not None and tuple(done.value.shape) == (*draw.batch, problem.n)
        note = "empty batch" if right else f"empty batch: {done.crash or done.refusal or done.value.shape}"
        verdicts.append(Verdict(part, Outcome.RIGHT if right else Outcome.CRASH, note=note))
    return verdicts


def _sets(draw: SetDraw, method: str, decided: Watched, lattices: list[Lattice]) -> list[Verdict]:
    if decided.value is None:
        note = decided.crash or str(decided.refusal)
        return [Verdict(method, Outcome.CRASH, i, note=note) for i in range(max(draw.count, 1))]
    rounding = 1e-9 + 4 * torch.finfo(draw.theta.dtype).eps
    verdicts = []
    for i, (lattice, x) in enumerate(zip(lattices, decided.value.double().reshape(draw.count, -1).numpy())):
        code = int((np.round(x) * (1 << np.arange(lattice.n))).sum())
        if (x != np.round(x)).any() or not lattice.independent[code]:
            verdicts.append(Verdict(method, Outcome.WRONG, i, note=f"not an independent set: {x.tolist()}"))
            continue
        value, best = float(lattice.values(lattice.theta)[code]), lattice.best()
        uniform = isinstance(draw.matroid, foresolve.UniformMatroid)
        # Continuous greedy takes 100 steps, which costs it less than a hundredth of its bound.
        promised = {"greedy": lattice.greedy(), "exact": best, "continuous_greedy": (1 - 1 / np.e - 0.01) * best}[
            method
        ]
        if method == "greedy":
            promised = max(promised, (1 - 1 / np.e if uniform else 0.5) * best)
        lacks = (promised - value) / (best or 1.0)
        verdicts.append(judged(method, i, lacks, rounding, decided.warned, f"{value:.12g} of {promised:.12g}"))
    return verdicts


def _smoothed(draw: SetDraw, problem: foresolve.SubmodularProblem, lattices: list[Lattice],
              rng: Generator) -> list[Verdict]:  # fmt: skip
    layer = foresolve.MultilinearRelaxation(draw.gamma, base=draw.base, max_iter=1000)
    theta = draw.theta.detach().clone().requires_grad_()
    solved = watch(lambda: layer.solve(theta, problem))
    if solved.value is None:
        return [Verdict("multilinear", Outcome.CRASH, note=solved.crash or str(solved.refusal))]
    x = solved.value.x.detach().double().reshape(draw.count, problem.n).numpy()
    late = (solved.value.status != 0).reshape(-1).tolist()
    saddle = solved.warned and not any(late)  # ended where the decision has no derivative, and said so
    done = watch(lambda: torch.autograd.grad((solved.value.x * draw.cotangent).sum(), theta)[0])
    if done.value is None:
        return [Verdict("multilinear gradient", Outcome.CRASH, note=done.crash or str(done.refusal))]
    gradients = done.value.double().reshape(draw.count, *theta.shape[-2:]).numpy()
    verdicts = []
    for i, lattice in enumerate(lattices):
        warned = late[i] or saddle or done.warned
        verdicts += SmoothedSet(draw, lattice, x[i], rng).verdicts(i, gradients[i], warned)
    return verdicts


@dataclass(frozen=True)
class SmoothedSet:
    """A smoothed decision of one instance."""

    draw: SetDraw
    lattice: Lattice
    x: np.ndarray
    rng: Generator

    def verdicts(self, i: int, given: np.ndarray, warned: bool) -> list[Verdict]:
        x, draw = self.x, self.draw
        if not np.isfinite(x).all() or not np.isfinite(given).all():
            return [Verdict("multilinear", Outcome.NAN, i)]
        rounding = TOLERANCE + 2 * torch.finfo(draw.theta.dtype).eps
        # Rounding x to the dtype of theta moves grad F / 2 gamma by up to its slope.
        curvature = float(np.abs(self.lattice.hessian(x)).sum(-1).max()) / (2 * draw.gamma)
        truth = project(self.lattice.polytope(), self.lattice.gradient(x, self.lattice.theta), draw.gamma)
        assert truth.x is not None
        residual = float(np.abs(x - truth.x).max())
        forward = judged("multilinear", i, residual / (1 + curvature), rounding, warned, f"residual {residual:.1e}")
        return [forward, self._gradient(i, given, truth, warned, rounding)]

    def _gradient(self, i: int, given: np.ndarray, truth: Truth, warned: bool, rounding: float) -> Verdict:
        """`dx = Z (Z'KZ)^-1 Z' d/dtheta grad F` with `K = 2 gamma I - H` and `Z` a basis of the face."""
        part, draw, lattice = "multilinear gradient", self.draw, self.lattice
        v = draw.cotangent.double().reshape(draw.count, -1)[i].numpy()
        tie = truth.tie()
        Z, weak = (_basis(truth.p, face) for face in (tie.strict, tie.tight))
        if Z.shape != weak.shape:
            return Verdict(part, Outcome.KINK, i)
        curvature = Z.T @ (2 * draw.gamma * np.eye(lattice.n) - lattice.hessian(truth.x)) @ Z
        eigenvalues = np.linalg.eigvalsh(curvature) if Z.size else np.ones(1)
        if eigenvalues.min() < 1e-6 * draw.gamma:
            outcome = Outcome.WARNED_RIGHT if warned else Outcome.UNVERIFIED
            wrong = eigenvalues.min() < -1e-6 * draw.gamma and not warned
            return Verdict(part, Outcome.WRONG if wrong else outcome, i, note="not a strict maximum")
        direction = self.rng.standard_normal(lattice.theta.shape)
        step = 1e-5 * lattice.theta[lattice.theta > 0].min(initial=1.0)  # keeps the order of facility location's items
        ends = [lattice.gradient(truth.x, lattice.theta + sign * step * direction) for sign in (1, -1)]
        slope = (ends[0] - ends[1]) / (2 * step)
        dx = Z @ np.linalg.solve(curvature, Z.T @ slope) if Z.size else np.zeros(lattice.n)
        scale = float(np.linalg.norm(v)) * max(
            float(np.linalg.norm(dx)), 1e-3 * float(np.linalg.norm(slope)) / draw.gamma
        )
        off = abs(float((given * direction).sum()) - float(v @ dx)) / (scale or 1.0)
        worst = 2 * draw.gamma / float(eigenvalues.min())  # how much a rounded x can move the derivative
        return judged(part, i, off, 10 * rounding * max(1.0, worst**2), warned, f"off by {off:.1e}")


def _basis(p: Polytope, face: Face) -> np.ndarray:
    """Orthonormal directions along a face, `(n, k)`."""
    free = face.bound == FREE
    rows = p.C[face.rows][:, free]
    _, sigma, vt = np.linalg.svd(rows, full_matrices=True) if len(rows) else (None, np.zeros(0), np.eye(free.sum()))
    rank = int((sigma > 1e-10 * sigma.max(initial=0.0)).sum())
    basis = np.zeros((p.n, vt.shape[0] - rank))
    basis[free] = vt[rank:].T
    return basis

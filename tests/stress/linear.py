"""Checks of one draw: smoothed decisions, their gradients, exact decisions."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.optimize
import torch

import foresolve
from foresolve.errors import InfeasibleError, UnboundedError
from tests.stress.exact import Polytope, Projector, ProvenInfeasible, fraction
from tests.stress.models import Draw
from tests.stress.outcomes import Outcome, Verdict, Watched, judged, watch
from tests.stress.reference import Truth, best_value, project

TOLERANCE = 1e-6
MOST_CANDIDATES = 1 << 13


def check(draw: Draw, rng: np.random.Generator) -> list[Verdict]:
    """All checks that the draw asks for."""
    built = watch(draw.build)
    if built.crash or built.refusal is not None:
        outcome = Outcome.CRASH if built.crash else Outcome.REFUSED
        note = built.crash or f"construction: {built.refusal}"
        return [Verdict(part, outcome, i, note=note) for part in draw.parts for i in range(max(draw.count, 1))]
    verdicts = []
    if {"forward", "gradient"} & set(draw.parts):
        verdicts += SmoothedCheck(draw, built.value, rng).verdicts()
    if "exact" in draw.parts:
        verdicts += exact_decisions(draw, built.value)
    return verdicts


class SmoothedCheck:
    """`QuadraticRelaxation` on one draw, against the exact projections of its instances."""

    def __init__(self, draw: Draw, problem: foresolve.LinearProgram, rng: np.random.Generator) -> None:
        self.draw, self.problem, self.rng = draw, problem, rng
        self.layer = foresolve.QuadraticRelaxation(draw.gamma)
        self.rounding = TOLERANCE + 2 * torch.finfo(draw.theta.dtype).eps

    def verdicts(self) -> list[Verdict]:
        solved, theta = self._solve(self.draw, self.problem)
        truths = self._truths(solved)
        if solved.refusal is not None:
            return self._refused(solved.refusal, truths)
        if solved.crash:
            return [Verdict("forward", Outcome.CRASH, i, note=solved.crash) for i in range(max(self.draw.count, 1))]
        return self._judge(solved, theta, truths)

    def _solve(self, draw: Draw, problem: foresolve.LinearProgram) -> tuple[Watched, torch.Tensor]:
        theta = draw.theta.detach().clone().requires_grad_("gradient" in draw.parts)
        return watch(lambda: self.layer.solve(theta, problem)), theta

    def _gammas(self) -> np.ndarray:
        if self.draw.gamma is not None:
            return np.full(self.draw.count, self.draw.gamma)
        gamma = self.layer.smoothing(self.draw.theta, self.problem)
        return np.broadcast_to(gamma.detach().double().numpy(), self.draw.batch).reshape(-1)

    def _truths(self, solved: Watched) -> list[Truth]:
        gains, gammas, batch = self.draw.gains(), self._gammas(), self.draw.batch
        x = (
            None
            if solved.value is None
            else solved.value.x.detach().double().numpy().reshape(self.draw.count, self.draw.model.n)
        )
        return [
            project(self.draw.model.instance(i, batch), gains[i], float(gammas[i]), None if x is None else x[i])
            for i in range(self.draw.count)
        ]

    # -- errors of ours ----------------------------------------------------------------------------------------------

    def _refused(self, refusal: Exception, truths: list[Truth]) -> list[Verdict]:
        """The instances that an error names must have no decision, and it must name all of them."""
        if not isinstance(refusal, InfeasibleError):
            return [Verdict("forward", Outcome.REFUSED, i, note=str(refusal)) for i in range(len(truths))]
        verdicts, rest = [], []
        for i, truth in enumerate(truths):
            if i in refusal.instances:
                verdicts.append(_said_infeasible("forward", i, truth))
            elif truth.feasible:
                rest.append(i)
            elif barely(truth.p, -1e-8):
                verdicts.append(Verdict("forward", Outcome.UNVERIFIED, i, note="infeasible by less than 1e-8"))
            else:
                verdicts.append(Verdict("forward", Outcome.WRONG, i, note="infeasible, but not named"))
        if rest:
            others = self.draw.only(rest)
            verdicts += [
                Verdict(v.part, v.outcome, rest[v.instance], v.error, v.note)
                for v in SmoothedCheck(others, others.build(), self.rng).verdicts()
            ]
        return verdicts

    # -- decisions ---------------------------------------------------------------------------------------------------

    def _judge(self, solved: Watched, theta: torch.Tensor, truths: list[Truth]) -> list[Verdict]:
        solution, count = solved.value, self.draw.count
        x = solution.x.detach().double().numpy().reshape(count, self.draw.model.n)
        late = (solution.status != 0).reshape(-1).tolist()
        verdicts = [self._decision(i, x[i], late[i], truths[i]) for i in range(count)] if count else []
        if any(late) != solved.warned:
            note = f"status {solution.status.tolist()}, but warnings {solved.messages}"
            verdicts.append(Verdict("forward", Outcome.WRONG, note=note))
        if not count:
            empty = tuple(solution.x.shape) == tuple(self.draw.theta.shape)
            return [Verdict("forward", Outcome.RIGHT if empty else Outcome.WRONG, note="empty batch")]
        if "gradient" in self.draw.parts:
            verdicts += self._gradients(solution.x, theta, truths, late)
        return verdicts

    def _decision(self, i: int, x: np.ndarray, late: bool, truth: Truth) -> Verdict:
        if not np.isfinite(x).all():
            return Verdict("forward", Outcome.NAN, i)
        p = truth.p
        broken = p.broken(x)
        outside = float(np.maximum(p.lower - x, x - p.upper).max(initial=0.0))
        if not truth.feasible:
            if broken <= TOLERANCE:
                return Verdict("forward", Outcome.UNVERIFIED, i, broken, "infeasible, by less than the tolerance")
            return judged("forward", i, broken, self.rounding, late, "infeasible, but decided")
        if truth.x is None:
            outcome = Outcome.UNVERIFIED if broken <= self.rounding or late else Outcome.WRONG
            return Verdict("forward", outcome, i, broken, "no reference")
        far = float(np.abs(x - truth.x).max(initial=0.0)) / truth.size
        outside /= truth.size
        note = f"x off by {far:.1e} of its size, a row by {broken:.1e} of its terms, a bound by {outside:.1e}"
        return judged("forward", i, max(far, broken, outside), self.rounding, late, note)

    # -- gradients ---------------------------------------------------------------------------------------------------

    def _gradients(self, x: torch.Tensor, theta: torch.Tensor, truths: list[Truth], late: list[bool]) -> list[Verdict]:
        cotangent = self.draw.cotangent.to(x)
        done = watch(lambda: torch.autograd.grad((x * cotangent).sum(), theta)[0])
        if done.crash or done.refusal is not None:
            note = done.crash or str(done.refusal)
            return [Verdict("gradient", Outcome.CRASH, i, note=note) for i in range(self.draw.count)]
        if done.warned and self.draw.count > 1:
            return self._one_by_one(truths, late)
        given = done.value.double().numpy().reshape(-1, x.shape[-1])
        if given.shape[0] != self.draw.count:  # theta shared by instances with constraints of their own
            return self._one_by_one(truths, late)
        gammas = self._gammas()
        return [self._gradient(i, given[i], gammas[i], truths[i], late[i] or done.warned) for i in range(len(given))]

    def _one_by_one(self, truths: list[Truth], late: list[bool]) -> list[Verdict]:
        """A warning is about some instance: which one shows where each is differentiated by itself."""
        verdicts = []
        for i in range(self.draw.count):
            one = self.draw.only([i])
            check = SmoothedCheck(one, one.build(), self.rng)
            solved, theta = check._solve(one, check.problem)
            if solved.value is None:
                verdicts.append(Verdict("gradient", Outcome.CRASH, i, note=f"alone: {solved.crash or solved.refusal}"))
                continue
            (verdict,) = check._gradients(solved.value.x, theta, [truths[i]], [late[i]])
            verdicts.append(Verdict(verdict.part, verdict.outcome, i, verdict.error, verdict.note))
        return verdicts

    def _gradient(self, i: int, given: np.ndarray, gamma: float, truth: Truth, warned: bool) -> Verdict:
        if not np.isfinite(given).all():
            return Verdict("gradient", Outcome.NAN, i)
        if truth.x is None:
            return Verdict("gradient", Outcome.UNVERIFIED, i, note="no reference")
        v = self.draw.cotangents()[i]
        u = truth.derivative(v)
        if u is None:
            return Verdict("gradient", Outcome.KINK, i)
        if not truth.agrees(v, u, self.rng):
            return Verdict("gradient", Outcome.UNVERIFIED, i, note="the reference's differences disagree with it")
        expected, scale = self._through_gamma(i, u, gamma), float(np.linalg.norm(v)) / (2 * gamma)
        size = max(float(np.abs(expected).max(initial=0.0)), 1e-3 * scale)
        if size == 0:
            return judged("gradient", i, float(np.abs(given).max(initial=0.0)), 0.0, warned, "zero cotangent")
        off = float(np.abs(given - expected).max(initial=0.0)) / size
        return judged("gradient", i, off, self.rounding, warned, f"off by {off:.1e} of its size {size:.1e}")

    def _through_gamma(self, i: int, u: np.ndarray, gamma: float) -> np.ndarray:
        """From the gradient by `s = gain / 2 gamma` to that by `theta`; a relative gamma moves with `theta`."""
        if self.draw.gamma is not None:
            return (-u if self.draw.minimizes else u) / (2 * gamma)
        one = self.draw.only([i])
        theta = one.theta.detach().double().requires_grad_()
        problem = one.build()
        point = problem.gain(theta) / (2 * self.layer.smoothing(theta, problem).reshape(-1, 1))
        return torch.autograd.grad(point, theta, torch.from_numpy(u)[None])[0][0].numpy()


# -- exact decisions ---------------------------------------------------------------------------------------------------


def exact_decisions(draw: Draw, problem: foresolve.LinearProgram) -> list[Verdict]:
    """`problem.solve`, one instance at a time where the batch is refused."""
    decided = watch(lambda: problem.solve(draw.theta))
    if decided.crash:
        return [Verdict("exact", Outcome.CRASH, i, note=decided.crash) for i in range(max(draw.count, 1))]
    polytopes = [draw.model.instance(i, draw.batch) for i in range(draw.count)]
    gains = draw.gains()
    if decided.refusal is not None:
        return _exact_refused(draw, decided.refusal, polytopes, gains)
    x = decided.value.detach().double().numpy().reshape(draw.count, draw.model.n)
    return [_exact_decision(draw, i, x[i], polytopes[i], gains[i], decided.warned) for i in range(draw.count)]


def _exact_refused(draw: Draw, refusal: Exception, polytopes: list[Polytope], gains: np.ndarray) -> list[Verdict]:
    named = [int(i) for i in getattr(refusal, "instances", ())]
    verdicts, rest = [], []
    for i, p in enumerate(polytopes):
        if i not in named and isinstance(refusal, InfeasibleError | UnboundedError):
            rest.append(i)
        elif isinstance(refusal, InfeasibleError) and draw.model.integrality is None:
            verdicts.append(_said_infeasible("exact", i, project(p, gains[i], 0.5)))
        elif isinstance(refusal, InfeasibleError):
            best = _integer_best(draw, p, gains[i])
            outcome = Outcome.UNVERIFIED if best is None else Outcome.WRONG if np.isfinite(best) else Outcome.REFUSED
            verdicts.append(Verdict("exact", outcome, i, note=str(refusal)))
        elif isinstance(refusal, UnboundedError) and draw.model.integrality is None:
            verdicts.append(_said_unbounded(i, p, gains[i]))
        else:
            verdicts.append(Verdict("exact", Outcome.REFUSED, i, note=str(refusal)))
    if rest and len(rest) < draw.count:
        others = draw.only(rest)
        verdicts += [Verdict(v.part, v.outcome, rest[v.instance], v.error, v.note)
                     for v in exact_decisions(others, others.build())]  # fmt: skip
    elif rest:
        verdicts += [Verdict("exact", Outcome.WRONG, i, note=f"names no instance: {refusal}") for i in rest]
    return verdicts


def _exact_decision(draw: Draw, i: int, x: np.ndarray, p: Polytope, gain: np.ndarray, warned: bool) -> Verdict:
    if not np.isfinite(x).all():
        return Verdict("exact", Outcome.NAN, i)
    rounding = TOLERANCE + 2 * torch.finfo(draw.theta.dtype).eps
    broken = p.broken(x)
    size = max(float(np.abs(x).max(initial=0.0)), 1e-300)
    outside = float(np.maximum(p.lower - x, x - p.upper).max(initial=0.0)) / size
    whole = 0.0
    if draw.model.integrality is not None:
        whole = float((np.abs(x - np.round(x)) * draw.model.integrality).max())
    if max(broken, outside, whole) > rounding:
        note = f"a row broken by {broken:.1e} of its terms, a bound by {outside:.1e}, integrality by {whole:.1e}"
        return judged("exact", i, max(broken, outside, whole), rounding, warned, note)
    try:
        best = best_value(p, gain, x) if draw.model.integrality is None else _integer_best(draw, p, gain)
    except ProvenInfeasible:
        return Verdict("exact", Outcome.UNVERIFIED, i, broken, "infeasible by less than the tolerance")
    if best is None:
        return Verdict("exact", Outcome.UNVERIFIED, i, note="no reference")
    scale = max(float(np.abs(gain) @ np.abs(x)), abs(best) if np.isfinite(best) else 0.0, 1e-300)
    lacks = (best - float(gain @ x)) / scale
    return judged("exact", i, max(broken, lacks), rounding, warned, f"lacks {lacks:.1e} of the best value")


def _integer_best(draw: Draw, p: Polytope, gain: np.ndarray) -> float | None:
    """The best value over integer points: by enumeration where there are few, else by SciPy on rows of norm 1.

    Minus infinity where there is none.
    """
    integer = np.asarray(draw.model.integrality, dtype=bool)
    if integer.all() and np.isfinite(p.lower).all() and np.isfinite(p.upper).all():
        ranges = [np.arange(np.ceil(low), np.floor(high) + 1) for low, high in zip(p.lower, p.upper)]
        if np.prod([float(len(r)) for r in ranges]) <= MOST_CANDIDATES:
            points = np.array(list(itertools.product(*ranges))).reshape(-1, p.n)
            products = points @ p.C.T
            excess = np.where(p.equality, np.abs(products - p.rhs), products - p.rhs)
            terms = np.abs(points) @ np.abs(p.C).T + np.abs(p.rhs)
            feasible = (excess <= 1e-12 * terms).all(-1)
            return float((points @ gain)[feasible].max(initial=-np.inf))
    norms = np.abs(p.C).max(-1, initial=0.0)
    norms[norms == 0] = 1.0
    rows = scipy.optimize.LinearConstraint(
        p.C / norms[:, None], np.where(p.equality, p.rhs / norms, -np.inf), p.rhs / norms
    )
    bounds = scipy.optimize.Bounds(p.lower, p.upper)
    options = {"mip_rel_gap": 0.0, "time_limit": 5.0}
    scale = float(np.abs(gain).max(initial=0.0)) or 1.0
    result = scipy.optimize.milp(
        -gain / scale, constraints=rows, bounds=bounds, integrality=integer.astype(int), options=options
    )
    if result.status == 0:
        return float(-result.fun * scale)
    return -np.inf if result.status == 2 else None


def _said_infeasible(part: str, i: int, truth: Truth) -> Verdict:
    if not truth.feasible:
        return Verdict(part, Outcome.REFUSED, i)
    if truth.projector is not None and barely(truth.p, 1e-8):
        return Verdict(part, Outcome.UNVERIFIED, i, note="feasible by less than 1e-8")
    return Verdict(part, Outcome.WRONG, i, note="said to be infeasible, but is not")


def barely(p: Polytope, margin: float) -> bool:
    """Whether tightening the inequalities by `margin` of their terms (loosening: negative) turns the answer round."""
    width = np.where(np.isfinite(p.upper), np.abs(p.upper), 0.0)
    width = np.maximum(width, np.where(np.isfinite(p.lower), np.abs(p.lower), 0.0))
    amount = margin * (np.abs(p.C) @ width + np.abs(p.rhs))
    C, rhs, equality = p.C, p.rhs - amount, p.equality
    if margin < 0:  # equalities become two inequalities that leave room
        C, rhs = np.concatenate([C, -C[p.equality]]), np.concatenate([rhs, -p.rhs[p.equality] - amount[p.equality]])
        equality = np.zeros(len(C), dtype=bool)
    else:
        rhs = np.where(p.equality, p.rhs, rhs)
    moved = Polytope(C, rhs, equality, p.lower, p.upper)
    try:
        Projector(moved, [fraction(0.0)] * p.n).solve()
    except ProvenInfeasible:
        return margin > 0
    return margin < 0


def _said_unbounded(i: int, p: Polytope, gain: np.ndarray) -> Verdict:
    try:
        best = best_value(p, gain, np.zeros(p.n))
    except ProvenInfeasible:
        return Verdict("exact", Outcome.REFUSED, i, note="infeasible, said to be unbounded")
    bounded = best is None or np.isfinite(best)
    return Verdict("exact", Outcome.WRONG if bounded else Outcome.REFUSED, i, note="said to be unbounded")

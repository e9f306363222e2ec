"""Checks of one draw: smoothed decisions and their gradients, then exact decisions."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import foresolve
from foresolve.errors import InfeasibleError
from tests.stress.decisions import exact_decisions
from tests.stress.feasibility import barely, said_infeasible
from tests.stress.models import Draw
from tests.stress.outcomes import TOLERANCE, Outcome, Verdict, judged
from tests.stress.reference import Truth, project
from tests.stress.watching import Watched, watch


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
        self.layer = self._layer()
        self.rounding = TOLERANCE + 2 * torch.finfo(draw.theta.dtype).eps

    def _layer(self) -> Any:
        return foresolve.QuadraticRelaxation(self.draw.gamma)

    def _late(self, solved: Watched) -> list[bool]:
        """Which instances the layer says it did not finish."""
        return (solved.value.status != 0).reshape(-1).tolist()

    def verdicts(self) -> list[Verdict]:
        solved, theta = self._solve(self.draw, self.problem)
        if solved.crash:
            return [Verdict("forward", Outcome.CRASH, i, note=solved.crash) for i in range(max(self.draw.count, 1))]
        truths = self._truths(solved)
        if solved.refusal is not None:
            return self._refused(solved.refusal, truths)
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
                verdicts.append(said_infeasible("forward", i, truth))
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
                for v in type(self)(others, others.build(), self.rng).verdicts()
            ]
        return verdicts

    # -- decisions ---------------------------------------------------------------------------------------------------

    def _judge(self, solved: Watched, theta: torch.Tensor, truths: list[Truth]) -> list[Verdict]:
        solution, count = solved.value, self.draw.count
        x = solution.x.detach().double().numpy().reshape(count, self.draw.model.n)
        late = self._late(solved)
        verdicts = [self._decision(i, x[i], late[i], truths[i]) for i in range(count)] if count else []
        if any(late) != solved.warned:
            note = f"unfinished by status: {late}, but warnings: {solved.messages}"
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
        broken = p.broken(x, 0.0 if truth.x is None else truth.size)
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
            check = type(self)(one, one.build(), self.rng)
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
        if u is not None and not truth.agrees(v, u, self.rng):
            return Verdict("gradient", Outcome.UNVERIFIED, i, note="the reference's differences disagree with it")
        pieces = truth.pieces(v) if u is None else [u]
        if not pieces:
            return Verdict("gradient", Outcome.KINK, i, note="many ties")
        scale = self._incoming(v, gamma, truth)
        off, size = min(_off(given, self._through_gamma(i, piece, gamma), scale) for piece in pieces)
        note = f"off by {off:.1e} of its size {size:.1e}"
        if u is None:  # the gradient of any of the pieces that meet here will do
            return (
                Verdict("gradient", Outcome.KINK, i, off)
                if off <= self.rounding
                else judged("gradient", i, off, self.rounding, warned, f"of no piece at the kink: {note}")
            )
        return judged("gradient", i, off, self.rounding, warned, note)

    def _incoming(self, v: np.ndarray, gamma: float, truth: Truth) -> float:
        """The size of what came in from behind the layer, in units of a gradient."""
        return float(np.linalg.norm(v)) / (2 * gamma)

    def _through_gamma(self, i: int, u: np.ndarray, gamma: float) -> np.ndarray:
        """From the gradient by `s = gain / 2 gamma` to that by `theta`; a relative gamma moves with `theta`."""
        if self.draw.gamma is not None:
            return (-u if self.draw.minimizes else u) / (2 * gamma)
        one = self.draw.only([i])
        theta = one.theta.detach().double().requires_grad_()
        problem = one.build()
        point = problem.gain(theta) / (2 * self.layer.smoothing(theta, problem).reshape(-1, 1))
        return torch.autograd.grad(point, theta, torch.from_numpy(u)[None])[0][0].numpy()


def _off(given: np.ndarray, expected: np.ndarray, scale: float) -> tuple[float, float]:
    """The error of a gradient as a share of its size, and that size: a hundredth of `scale`, what came in, at least."""
    size = max(float(np.abs(expected).max(initial=0.0)), 1e-2 * scale)
    error = float(np.abs(given - expected).max(initial=0.0))
    return (error / size if size else error), size


class WarmCheck(SmoothedCheck):
    """The same from a start: the solution for other parameters, near or far."""

    def _solve(self, draw: Draw, problem: foresolve.LinearProgram) -> tuple[Watched, torch.Tensor]:
        theta = draw.theta.detach().clone().requires_grad_("gradient" in draw.parts)
        noise = torch.from_numpy(self.rng.standard_normal(tuple(theta.shape)) * 10.0 ** self.rng.uniform(-6, 1))
        other = (theta.detach().double() * (1 + noise)).to(theta.dtype)
        start = watch(lambda: self.layer.solve(other, problem)).value
        return watch(lambda: self.layer.solve(theta, problem, start)), theta


def check_warm(draw: Draw, rng: np.random.Generator) -> list[Verdict]:
    return WarmCheck(draw, draw.build(), rng).verdicts()

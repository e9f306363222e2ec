"""Checks of one quadratic program: decisions, their gradients, duals and theirs, exact decisions."""

from __future__ import annotations

from unittest import mock

import numpy as np
import torch

import foresolve
from foresolve.errors import InfeasibleError, UnboundedError
from foresolve.layers import Duals
from foresolve.problems import quadratic_term
from tests.stress.curved_models import CurvedDraw
from tests.stress.curved_reference import CurvedTruth, decide, lacking
from tests.stress.duals import dual_gradients, dual_verdict
from tests.stress.exact import Polytope, ProvenInfeasible
from tests.stress.feasibility import said_infeasible
from tests.stress.linear import SmoothedCheck, WarmCheck
from tests.stress.outcomes import TOLERANCE, Outcome, Verdict, judged
from tests.stress.reference import Truth
from tests.stress.watching import Watched, watch


def check(draw: CurvedDraw, rng: np.random.Generator) -> list[Verdict]:
    """All checks that the draw asks for; a small program may be told to take the way of a large sparse one."""
    few = int(draw.facts.get("few", quadratic_term.FEW))
    with mock.patch.object(quadratic_term, "FEW", few):
        return _check(draw, rng)


def _check(draw: CurvedDraw, rng: np.random.Generator) -> list[Verdict]:
    built = watch(draw.build)
    if built.crash or built.refusal is not None:
        note = built.crash or f"construction: {built.refusal}"
        outcome = Outcome.CRASH if built.crash else Outcome.WRONG  # every draw is convex
        return [Verdict(part, outcome, i, note=note) for part in draw.parts for i in range(max(draw.count, 1))]
    kind = WarmCurvedCheck if draw.facts.get("warm") else CurvedCheck
    verdicts = kind(draw, built.value, rng).verdicts()
    if "exact" in draw.parts:
        verdicts += exact_decisions(draw, built.value)
    return verdicts


class CurvedCheck(SmoothedCheck):
    """`QuadraticRelaxation` on one quadratic program, against exact decisions."""

    draw: CurvedDraw

    def _gammas(self) -> np.ndarray:
        if self.draw.gamma is not None:
            return np.full(self.draw.count, self.draw.gamma)
        gamma = self.layer.smoothing(self.draw.theta, self.problem).detach().double()
        return gamma.expand(self.draw.batch).reshape(-1).numpy()

    def _truths(self, solved: Watched) -> list[Truth]:
        draw, gains, gammas = self.draw, self.draw.gains(), self._gammas()
        shape = (draw.count, draw.model.n)
        x = None if solved.value is None else solved.value.x.detach().double().numpy().reshape(shape)
        return [
            decide(
                draw.model.instance(i, draw.batch), gains[i], draw.curve.exact(i, draw.batch, float(gammas[i])),
                leaning=draw.curve.leaning and not gammas[i], hint=None if x is None else x[i],
            )
            for i in range(draw.count)
        ]  # fmt: skip

    def _judge(self, solved: Watched, theta: torch.Tensor, truths: list[Truth]) -> list[Verdict]:
        verdicts = super()._judge(solved, theta, truths)
        if "duals" not in self.draw.parts or not self.draw.count:
            return verdicts
        late = self._late(solved)
        for i, (truth, duals) in enumerate(zip(truths, self._duals(solved.value.duals))):
            if isinstance(truth, CurvedTruth) and truth.x is not None:
                x = solved.value.x.detach().double().numpy().reshape(self.draw.count, -1)[i]
                verdicts.append(dual_verdict(i, x, duals, truth, self.rounding, late[i]))
        if self.draw.theta.dtype == torch.float64 and not any(late):
            verdicts += dual_gradients(solved.value.duals, theta, truths, self.draw.minimizes, self.rng)
        return verdicts

    def _duals(self, duals: Duals) -> list[dict[str, np.ndarray]]:
        parts = {
            name: part.detach().double().numpy().reshape(self.draw.count, -1) for name, part in vars(duals).items()
        }
        return [{name: part[i] for name, part in parts.items()} for i in range(self.draw.count)]

    def _incoming(self, v: np.ndarray, gamma: float, truth: Truth) -> float:
        assert isinstance(truth, CurvedTruth)
        return truth.reach(v)

    def _through_gamma(self, i: int, u: np.ndarray, gamma: float) -> np.ndarray:
        """A relative gamma moves with `theta`, and `x` with gamma by `-2 J x`."""
        own = -u if self.draw.minimizes else u
        if self.draw.gamma is not None or not gamma:
            return own
        one = self.draw.only([i])
        theta = one.theta.detach().double().requires_grad_()
        smoothing = self.layer.smoothing(theta, one.build()).sum()
        x = self.layer(theta.detach(), one.build()).double().numpy()[0]
        slope = torch.autograd.grad(smoothing, theta)[0][0].numpy()
        return own - 2 * float(u @ x) * slope


class WarmCurvedCheck(WarmCheck, CurvedCheck):
    """The same from a start."""


# -- exact decisions ---------------------------------------------------------------------------------------------------


def exact_decisions(draw: CurvedDraw, problem: foresolve.QuadraticProgram) -> list[Verdict]:
    """`problem.solve`: feasible in each row's own terms, as good as the best; one by one where a batch is refused."""
    decided = watch(lambda: problem.solve(draw.theta))
    if decided.crash:
        return [Verdict("exact", Outcome.CRASH, i, note=decided.crash) for i in range(max(draw.count, 1))]
    polytopes = [draw.model.instance(i, draw.batch) for i in range(draw.count)]
    gains, forms = draw.gains(), [draw.curve.exact(i, draw.batch) for i in range(draw.count)]
    if decided.refusal is not None and draw.count > 1:
        verdicts = []
        for i in range(draw.count):
            one = draw.only([i])
            verdicts += [Verdict(v.part, v.outcome, i, v.error, v.note) for v in exact_decisions(one, one.build())]
        return verdicts
    if decided.refusal is not None:
        return [_refused(decided.refusal, polytopes[0], gains[0], forms[0])]
    x = decided.value.detach().double().numpy().reshape(draw.count, draw.model.n)
    rounding = TOLERANCE + 2 * torch.finfo(draw.theta.dtype).eps
    return [_decision(i, x[i], polytopes[i], gains[i], forms[i], rounding) for i in range(draw.count)]


def _refused(refusal: Exception, p: Polytope, gain: np.ndarray, Q: np.ndarray) -> Verdict:
    try:
        lacks = lacking(p, gain, Q, np.zeros(p.n))
    except ProvenInfeasible:
        right = isinstance(refusal, InfeasibleError)
        return Verdict("exact", Outcome.REFUSED if right else Outcome.WRONG, note=f"infeasible: {refusal}")
    if isinstance(refusal, InfeasibleError):
        return said_infeasible("exact", 0, decide(p, gain, Q + np.eye(p.n, dtype=int), leaning=False, hint=None))
    if isinstance(refusal, UnboundedError):
        return Verdict("exact", Outcome.REFUSED if lacks is None else Outcome.WRONG, note=str(refusal))
    # It has a best decision, which was not found, but nobody was deceived.
    return Verdict("exact", Outcome.WARNED_OFF, note=str(refusal))


def _decision(i: int, x: np.ndarray, p: Polytope, gain: np.ndarray, Q: np.ndarray, rounding: float) -> Verdict:
    if not np.isfinite(x).all():
        return Verdict("exact", Outcome.NAN, i)
    broken, size = p.broken(x), max(float(np.abs(x).max(initial=0.0)), 1e-300)
    outside = float(np.maximum(p.lower - x, x - p.upper).max(initial=0.0)) / size
    try:
        lacks = lacking(p, gain, Q, x)
    except ProvenInfeasible:
        return judged("exact", i, broken, rounding, False, "infeasible, but decided")
    if lacks is None:
        return Verdict("exact", Outcome.WRONG, i, note="there is no best decision")
    whole = np.abs(Q.astype(float))
    terms = float(np.abs(gain) @ np.abs(x) + np.abs(x) @ whole @ np.abs(x) / 2)
    short = lacks / max(terms, abs(lacks), 1e-300)
    note = f"a row broken by {broken:.1e} of its terms, a bound by {outside:.1e}, lacks {short:.1e} of the best value"
    return judged("exact", i, max(broken, outside, short), rounding, False, note)

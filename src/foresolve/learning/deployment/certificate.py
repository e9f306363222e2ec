"""What is proven of decisions, and how anyone can check it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from foresolve.layers.base import Layer
from foresolve.problems.base import Problem
from foresolve.problems.certificates import bounds_of, certifiable, row_duals

Kind = Literal["duals", "solver's word"]

# A decision is proven to be the best where its gap is at most this share of the sum of |coefficient x amount| ...
TOLERANCE = 1e-6
# ... or, where that is next to nothing, this share of the largest that the sum can be within the bounds.
ROUNDING = 1e-12
# A stated number is the recomputed one up to this share of what it is summed from.
AGREEMENT = 1e-9


@dataclass(frozen=True)
class Certificate:
    r"""A bound that no decision can beat, and the multipliers that prove it.

    For a linear objective over rows and bounds, :math:`\max g^\top x` over
    :math:`\{A_{eq} x = b_{eq}, A_{ub} x \le b_{ub}, \ell \le x \le u\}`, and any `y` with :math:`y_{ub} \ge 0`,

    .. math::
        g^\top x = y^\top A x + (g - A^\top y)^\top x \;\le\; b^\top y + \sum_j \max(r_j \ell_j, r_j u_j),
        \qquad r = g - A^\top y.

    Attributes
    ----------
    kind: "duals" where that holds; "solver's word" for quadratic and submodular objectives and black boxes, where
        feasibility and value can be checked, and no more.
    bound: `(B,)`, in the user's own sense: no decision costs less, or is worth more. Infinite where nothing is known.
    gap: `(B,)`, between the objective and the bound, not negative but for rounding.
    proven: `(B,)`, whether the decision is feasible and its gap within 1e-6 of :math:`\sum_j |g_j x_j|`: then it is the
        best. Elsewhere the bound holds all the same, and that the decision is the best is the solver's word: the bound
        is that of the program without integrality.
    claim: who says that the decisions which are not proven to be the best are, in words: an exact solver; a heuristic
        and a rule do not.
    duals: `(B, m)`, `y` for the rows of `problem.constraints` (with `A_eq` first where the program was made of both),
        for an objective that is maximized; `None` where there are none.
    """

    kind: Kind
    bound: Tensor
    gap: Tensor
    proven: Tensor
    claim: str
    duals: Tensor | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.bound)

    def __getitem__(self, index: Tensor) -> Certificate:
        """That of some instances."""
        duals = None if self.duals is None else self.duals[index]
        return Certificate(self.kind, self.bound[index], self.gap[index], self.proven[index], self.claim, duals)

    def __str__(self) -> str:
        count, best = len(self), int(self.proven.sum())
        if self.kind != "duals":
            return f"{counted(count)}, without multipliers for such a problem: {self.claim}"
        told = f"{best} of {counted(count)} proven to be the best by multipliers of the rows"
        if best == count:
            return told
        left = self.gap[~self.proven]
        return f"{told}; for the others the bound holds (gaps up to {float(left.max()):.4g}): {self.claim}"


@dataclass(frozen=True)
class Verification:
    """Whether stated decisions, objectives and bounds are correct; truthy where everything holds.

    Attributes
    ----------
    feasible: `(B,)`, whether rows, bounds and integrality hold.
    value: `(B,)`, whether the stated objective is that of the decision.
    bound: `(B,)`, whether the stated bound follows from the multipliers, the gap from it, and `proven` from both.
    failures: what does not hold, in words.
    checked: what was checked, in words.
    """

    feasible: Tensor
    value: Tensor
    bound: Tensor
    failures: tuple[str, ...]
    checked: str

    def __bool__(self) -> bool:
        return bool((self.feasible & self.value & self.bound).all())

    def __str__(self) -> str:
        if self:
            return f"verified: {self.checked}"
        return "\n".join(["not verified:", *(f"  {failure}" for failure in self.failures)])


def counted(count: int) -> str:
    """How many decisions, in words."""
    return f"{count} decision{'' if count == 1 else 's'}"


def relaxes(rule: object) -> bool:
    """Whether a rule leaves integrality aside, as layers do."""
    return isinstance(rule, Layer)


def objective_terms(problem: Problem, x: Tensor, theta: Tensor, value: Tensor) -> Tensor:
    """What rounding of an objective is measured by, `(B,)`: the sum of |coefficient x amount|, or the value itself."""
    if not problem.linear:
        return value.abs()
    return (problem.gain(theta) * x).abs().sum(-1) + problem.constant(theta).abs()


def certify(problem: Problem, x: Tensor, theta: Tensor, feasible: Tensor, claim: str) -> Certificate:
    """Of decisions `(B, n)` for predictions `(B, ...)`; a linear program is solved for each, where there are rows."""
    x, theta = x.detach().double(), theta.detach().double()
    if certifiable(problem):
        return _from_duals(problem, x, theta, feasible, claim, row_duals(problem, theta))
    return _without_duals(problem, len(x), claim)


def _without_duals(problem: Problem, count: int, claim: str) -> Certificate:
    """What is known without multipliers: no bound, and nothing is proven."""
    endless = torch.full((count,), torch.inf, dtype=torch.float64)
    return Certificate("solver's word", problem.signed(endless), endless, torch.zeros(count, dtype=torch.bool), claim)


def _from_duals(problem: Problem, x: Tensor, theta: Tensor, feasible: Tensor, claim: str, duals: Tensor) -> Certificate:
    """What multipliers prove; nothing is solved."""
    bounds = bounds_of(problem, theta, duals)
    gap = bounds.value - problem.objective(x, theta).cpu()
    terms = (problem.gain(theta) * x).abs().sum(-1).cpu()  # without the constant, beside which any gap looks small
    # A decision that is worth more than the bound has broken a row: it is no better than one that is worth less.
    close = gap.abs() <= TOLERANCE * terms + ROUNDING * bounds.reach
    return Certificate("duals", problem.signed(bounds.value), gap, feasible.cpu() & close, claim, duals)


def recertify(problem: Problem, x: Tensor, theta: Tensor, feasible: Tensor, certificate: Certificate) -> Certificate:
    """The certificate as it follows from its own multipliers; nothing is solved."""
    if certificate.duals is None:
        return _without_duals(problem, len(x), certificate.claim)
    x, theta = x.detach().double(), theta.detach().double()
    return _from_duals(problem, x, theta, feasible, certificate.claim, certificate.duals)


def agree(numbers: Tensor, stated: Tensor, terms: Tensor) -> Tensor:
    """Whether numbers are what is stated, up to the rounding of what they are summed from; infinite ones exactly."""
    return (numbers == stated) | (numbers.isfinite() & ((numbers - stated).abs() <= AGREEMENT * terms))

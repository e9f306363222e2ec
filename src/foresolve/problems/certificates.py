"""Bounds on what any decision can be worth, which hold by arithmetic alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.problems.base import Problem
from foresolve.problems.linear import LinearProgram
from foresolve.problems.traits import require
from foresolve.solvers.exact.duals import dual_bound, find_duals
from foresolve.solvers.exact.verification import Program, as_numpy
from foresolve.solvers.projection.polytope import Polytope

NEEDS = ("rows", "linear")


class Bounds(NamedTuple):
    """What no decision's objective, to be maximized, exceeds `(B,)`, and the largest that its terms can be `(B,)`."""

    value: Tensor
    reach: Tensor


def certifiable(problem: Problem) -> bool:
    """Whether multipliers of rows bound the objective: rows, bounds and a linear objective."""
    return problem.traits.issuperset(NEEDS)


def row_duals(problem: Problem, theta: Tensor) -> Tensor:
    """Multipliers `(B, m)` of the rows of `problem.constraints` for theta `(B, ...)`, at the optima of the relaxations.

    Integrality is left aside. They are for objectives that are maximized: of inequalities not negative. They are found
    by a linear program for each instance, in HiGHS; zeros, which are valid too, where it finds none.
    """
    polytope, gains, model_of = _numbers(problem, theta)
    return torch.from_numpy(find_duals(polytope, gains, model_of))


def bounds_of(problem: Problem, theta: Tensor, duals: Tensor) -> Bounds:
    r"""The bounds that multipliers `(B, m)` prove for `theta` `(B, ...)`; nothing is solved.

    .. math::
        g^\top x + d \;\le\; b^\top y + \sum_j \max(r_j \ell_j, r_j u_j) + d, \qquad r = g - C^\top y

    with `g = problem.gain(theta)`, `d = problem.constant(theta)` and rows `C`. Rounding is on the safe side.
    """
    polytope, gains, model_of = _numbers(problem, theta)
    if duals.shape != (len(gains), polytope.rows.m):
        expected = f"({len(gains)}, {polytope.rows.m}), a multiplier for each row of each instance"
        raise checks.fail("duals", expected, str(tuple(duals.shape)))
    y = duals.detach().cpu().double().numpy()
    value, reach = np.empty(len(gains)), np.empty(len(gains))
    for program, positions in _programs(polytope, model_of):
        value[positions], reach[positions] = dual_bound(program, gains[positions], y[positions])
    constant = problem.constant(theta.detach().double()).cpu().reshape(-1)
    return Bounds(torch.from_numpy(value) + constant, torch.from_numpy(reach) + constant.abs())


def _numbers(problem: Problem, theta: Tensor) -> tuple[Polytope, np.ndarray, np.ndarray]:
    """The feasible sets with all their bounds, the gains `(B, n)`, and whose feasible set each instance has."""
    require(problem, NEEDS, "a certificate")
    theta = theta.detach().double()
    gains = problem.gain(theta).cpu().numpy()
    program = cast(LinearProgram, problem.at(theta))
    # Also those upper bounds that the rows imply: solvers are spared them, but they keep every bound finite.
    constraints = replace(program.constraints, implied_upper=False)
    batch = constraints.batch_shape
    polytope = as_numpy(constraints.polytope(batch))
    model_of = np.broadcast_to(np.arange(batch.numel()).reshape(batch), (len(gains),))
    return polytope, gains, model_of


def _programs(polytope: Polytope, model_of: np.ndarray) -> Iterator[tuple[Program, np.ndarray]]:
    """Each feasible set with the instances that it is of."""
    order = np.argsort(model_of, kind="stable")
    for positions in np.split(order, np.flatnonzero(np.diff(model_of[order])) + 1):
        if len(positions):
            yield Program.of(polytope, int(model_of[positions[0]])), positions

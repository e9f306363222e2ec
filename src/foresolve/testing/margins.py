"""How far a decision is from a change of its face."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from torch import Tensor

from foresolve.errors import NoGradientWarning
from foresolve.layers.base import Layer
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.layers.solutions import Solution
from foresolve.problems.base import Problem
from foresolve.problems.linear import LinearProgram


def margin(layer: Layer, problem: Problem, theta: Tensor) -> Tensor | None:
    """For the quadratic relaxation, the margins of the flattened batch `(B,)`; `None` for a layer without duals."""
    if not (isinstance(layer, QuadraticRelaxation) and isinstance(problem, LinearProgram)):
        return None
    problem = problem.at(theta.detach())  # where `theta` makes constraints, those that hold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoGradientWarning)
        solution = layer.solve(theta.detach(), problem)
    return margins(problem, solution, layer.smoothing(theta.detach(), problem).detach())


def margins(problem: LinearProgram, solution: Solution, gamma: Tensor | float) -> Tensor:
    r"""The least over all constraints of slack and multiplier, whichever is larger, `(B,)`, in units of `x`.

    With strict complementarity each constraint is either slack or held by a positive multiplier; the face, and with it
    the derivative, changes only where both vanish. A row counts per unit of its norm: `(b - a'x) / |a|` and
    `|a| y / h`, with `h` the size of `2 gamma + diag(Q)`.
    """
    x, (_, *parts) = solution.x.detach().double(), vars(solution.duals).values()
    of_rows, of_lower, of_upper = (part.detach() for part in parts)
    batch = x.shape[:-1]
    gammas = torch.as_tensor(gamma, dtype=torch.float64, device=x.device).detach().expand(batch).reshape(-1)
    smoothed = problem.smoothed(x.reshape(-1, x.shape[-1]), gammas, batch)
    unit = (smoothed.unit.unsqueeze(-1) * smoothed.polytope.metric.unit).detach()
    unit = unit.expand(batch.numel(), 1).reshape(*batch, 1)
    matrices = problem.A_ub if isinstance(problem.A_ub, list) else [problem.A_ub]
    A = torch.from_numpy(np.stack([matrix.toarray() for matrix in matrices])).to(x)
    A = A[0] if not isinstance(problem.A_ub, list) else A.reshape(*problem.batch_shape, *A.shape[1:])
    norm = A.norm(dim=-1)
    slack = (problem.b_ub.detach() - (A @ x.unsqueeze(-1)).squeeze(-1)) / norm.clamp_min(1e-300)
    rows = torch.where(norm > 0, torch.maximum(slack, norm * of_rows / unit), torch.inf)
    lower, upper = problem.lower.detach(), problem.upper.detach()
    pairs = [rows]
    for distance, dual in ((x - lower, of_lower), (upper - x, of_upper)):
        pairs.append(torch.where(upper > lower, torch.maximum(distance, dual / unit), torch.inf))
    everything = torch.cat([pair.expand(*x.shape[:-1], -1) for pair in pairs], -1)
    return everything.amin(-1).reshape(-1)

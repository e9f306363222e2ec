r"""Points of a matroid polytope as convex combinations of independent sets: `x = sum_q weights_q 1_{S_q}`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.errors import SolverError
from foresolve.sets.matroids.laminar import LaminarMatroid
from foresolve.sets.matroids.matroid import Matroid

# Numbers in [0, 1] as integers: sums of them are exact, so that no rounding decides whether a set is independent.
ONE = 1 << 40


class SetCombination(NamedTuple):
    """`weights` `(B, m)`, which add to 1, and independent `sets` `(B, m, n)`, boolean; some weights may be 0."""

    weights: Tensor
    sets: Tensor


def decompose(x: Tensor, matroid: Matroid) -> SetCombination:
    """Independent sets whose mean is `x` `(*batch, n)`, a point of the independence polytope; the batch is flattened.

    For laminar matroids there are `n + 1` of them (systematic sampling); for others columns are generated, a linear
    program and a run of the greedy algorithm at a time. Points outside by no more than rounding are moved inside.

    Examples
    --------
    >>> import torch
    >>> from foresolve.sets import UniformMatroid
    >>> weights, sets = decompose(torch.tensor([0.75, 0.75, 0.5]), UniformMatroid(3, 2))
    >>> weights[0].tolist()
    [0.0, 0.5, 0.25, 0.25]
    >>> sets[0].int().tolist()
    [[1, 1, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]]
    """
    if isinstance(matroid, LaminarMatroid):
        return _systematic(units(x, matroid), matroid)
    x = checks.as_tensor("x", x)
    flat, batch = matroid._take("x", x, check=True)
    _inside({"lower": -flat, "upper": flat - 1}, tolerance(x, matroid), batch)
    combinations = [columns(row, matroid) for row in flat.cpu().numpy()]
    short = torch.tensor([[gap] for gap, _, _ in combinations], dtype=torch.float64).reshape(-1, 1)
    _inside({"sets": short}, tolerance(x, matroid), batch)
    most = max((len(weights) for _, weights, _ in combinations), default=0)
    weights, sets = flat.new_zeros(len(flat), most), flat.new_zeros(*(len(flat), most, matroid.n), dtype=torch.bool)
    for b, (_, weight, columns_) in enumerate(combinations):
        weights[b, : len(weight)], sets[b, : len(weight)] = torch.from_numpy(weight), torch.from_numpy(columns_)
    return SetCombination(weights, sets)


def tolerance(x: Tensor, matroid: Matroid) -> float:
    """The distance that `x` may be outside of the polytope: more for lower precision and larger sums."""
    return max(1e-9, 64 * torch.finfo(x.dtype).eps) * max(1, matroid.rank)


def units(x: Any, matroid: LaminarMatroid) -> Tensor:
    """`x` `(*batch, n)` as integers `(B, n)` in units of `1 / ONE`, exactly in the independence polytope.

    Let `P_i` be the sums of the first `i` items in an order in which each set of the family is an interval. Where two
    of them differ by an integer up to rounding, they are made to differ by that integer: then every `x(S)` is a
    difference of two `P`, and is at most the integer `c_S` exactly.
    """
    x = checks.as_tensor("x", x)
    flat, batch = matroid._take("x", x, check=True)
    tol = tolerance(x, matroid)
    _inside(matroid.excess(flat, base=False), tol, batch)
    flat = matroid.project(flat, base=False).x
    total = flat.index_select(1, matroid.order).cumsum(1)
    integer = total.floor()
    part, place = torch.nn.functional.pad(total - integer, (1, 0)).sort(dim=1)  # P_0 = 0 too
    starts = torch.nn.functional.pad(part.diff(dim=1) > tol, (1, 0))  # of a cluster of equal parts
    cluster = starts.cumsum(1)
    value = torch.where(starts, part, 0.0).cummax(1).values
    wraps = (cluster == cluster[:, -1:]) & (cluster > 0) & (part[:, -1:] >= 1 - tol)
    value = torch.where(wraps, 1.0, value)
    part = torch.zeros_like(part).scatter(1, place, value)[:, 1:]
    exact = integer.long() * ONE + (part * ONE).round().long()
    steps = torch.nn.functional.pad(exact, (1, 0)).diff(dim=1)
    return torch.zeros_like(steps).index_copy(1, matroid.order, steps)


def _systematic(amounts: Tensor, matroid: LaminarMatroid) -> SetCombination:
    """Lay the items end to end, each as long as its `x_i`, and take those that hold a point of `t + Z`, `0 <= t < 1`.

    An item holds one for a share `x_i` of the `t`; a set of the family is an interval of a length of at most `c_S`, so
    it holds at most `c_S` points. The outcome changes only where `t` passes the fractional part of an end.
    """
    end = amounts.index_select(1, matroid.order).cumsum(1)
    integer, part = end // ONE, end % ONE
    offset = torch.nn.functional.pad(part, (1, 0)).sort(dim=1).values
    weights = torch.nn.functional.pad(offset, (0, 1), value=ONE).diff(dim=1).double() / ONE
    sets = torch.zeros(*offset.shape, matroid.n, dtype=torch.bool, device=end.device)
    for q in range(offset.shape[1]):
        points = integer + (part > offset[:, q : q + 1])  # of t + Z up to the item's end, for t just above the offset
        sets[:, q].index_copy_(1, matroid.order, torch.nn.functional.pad(points, (1, 0)).diff(dim=1) > 0)
    return SetCombination(weights, sets)


def columns(x: np.ndarray, matroid: Matroid) -> tuple[float, np.ndarray, np.ndarray]:
    r"""The most of `x` `(n,)` that independent sets can make up: what is missing, the weights `(m,)`, sets `(m, n)`.

    .. math::
        \max_{\lambda \ge 0} \sum_I \lambda_I |I| \quad \text{s.t.} \quad
        \sum_I \lambda_I 1_I \le x, \; \sum_I \lambda_I = 1

    What is missing is `max_A x(A) - r(A)` (Edmonds' min-max theorem), so it is 0 just for points of the polytope.
    """
    from scipy.optimize import linprog  # slow to import, and needed by few

    x = np.clip(x, 0.0, None)
    sets = [np.zeros(matroid.n, dtype=bool)]
    left = x.copy()
    for _ in range(matroid.n):  # columns to start from: the heaviest sets of what is left
        sets.append(_greedy(left, matroid))
        if not sets[-1].any():
            break
        left[sets[-1]] -= left[sets[-1]].min()
    for _ in range(200 + 20 * matroid.n):
        chosen = np.array(sets)
        result = linprog(
            -chosen.sum(1, dtype=np.float64),
            A_ub=chosen.T.astype(np.float64),
            b_ub=x,
            A_eq=np.ones((1, len(chosen))),
            b_eq=[1.0],
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if result.status != 0:
            raise SolverError(f"the linear program of the decomposition was not solved: {result.message}")
        gains = 1.0 + result.ineqlin.marginals
        better = _greedy(gains, matroid)
        if gains[better].sum() + result.eqlin.marginals[0] <= 1e-9:
            weights = np.clip(result.x, 0.0, None)
            used = weights > 0
            return float(x.sum() + result.fun), weights[used] / weights.sum(), chosen[used]
        sets.append(better)
    raise SolverError("the decomposition into independent sets did not end; report this with the matroid and `x`")


def _greedy(gains: np.ndarray, matroid: Matroid) -> np.ndarray:
    chosen = matroid.maximize(torch.from_numpy(gains).to(matroid.device), base=False)
    return chosen.cpu().numpy() > 0


def _inside(excess: dict[str, Tensor], tol: float, batch: torch.Size) -> None:
    """Refuse points that are outside by more than rounding, naming the first."""
    for kind, amount in excess.items():
        if amount.numel() and float(amount.max()) > tol:
            row, which = (int(i) for i in (amount > tol).nonzero()[0])
            verb = {"lower": "item {} is below 0", "upper": "item {} is above 1"}.get(kind, "set {} is exceeded")
            where = f"{verb.format(which)} by {float(amount[row, which]):.3g}"
            name = checks.instance_names([row], batch)
            raise checks.fail("x", "in the matroid's independence polytope", f"{name}, where {where}")

r"""Facility location, its multilinear extension and its derivatives.

Take one target, and number the items by falling worth: `theta_1 >= ... >= theta_n`. With `q = 1 - x`,
`Q_t = prod_{s <= t} q_s` (the probability that none of the best `t` is there), `delta_t = theta_t - theta_{t+1}`
(`theta_{n+1} = 0`) and `S_r = sum_{t >= r} delta_t Q_t`,

    F                   = sum_t delta_t (1 - Q_t)
    dF/dx_r             = S_r / q_r
    H_rs                = -S_max(r,s) / (q_r q_s) = -min(S_r, S_s) / (q_r q_s)               for r != s, and H_rr = 0
    dF/dtheta_t         = x_t Q_{t-1}
    d(v' grad F)/dtheta_t = Q_{t-1} (v_t - x_t sum_{r<t} v_r / q_r),

where `min` holds because `S` falls with the rank; summed over targets, of which each has an order of its own.

The quotients leave items out of products, which must survive `x = 1`. All terms of `S` are of one sign, so `S` is as
exact as its terms, and a quotient as its parts, however small `q` is: only an exact zero has to be kept from vanishing.
It becomes `TINY = 1e-100`, which cancels where the item is left out (twice in the Hessian: `1e-200` is still a normal
float64), and where it is not leaves a term of `TINY` or, underflowed, zero. Sums are prefix and suffix sums, without
differences, for the same reason.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from foresolve._base import checks
from foresolve.sets.functions.function import ClosedForm, Local

TINY = 1e-100
CHUNK = 2**22  # numbers of a pairwise minimum at once


class FacilityLocation(ClosedForm):
    r"""Every target is served by the best item of the set: item `i` is worth `theta_ij >= 0` to target `j`.

    .. math::
        f(S) = \sum_j \max_{i \in S} \theta_{ij}, \quad f(\emptyset) = 0

    The extension and its derivatives are exact, in `O(n \log n)` per target. Where two items are worth the same to a
    target, the derivative in `theta` is that for one of the orders of the two (a supergradient in between exists, but
    no derivative).

    Shapes
    ------
    `theta` is `(*batch, items, targets)` with entries `>= 0`.

    Examples
    --------
    >>> import torch
    >>> from foresolve.sets import FacilityLocation
    >>> theta = torch.tensor([[3.0, 0.0], [2.0, 1.0]])
    >>> FacilityLocation().value(torch.tensor([1.0, 1.0]), theta)
    tensor(4.)
    >>> FacilityLocation().multilinear(torch.tensor([0.5, 1.0]), theta)
    tensor(3.5000)
    """

    theta_dims = 2
    theta_bounds = (0.0, math.inf)

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        """`f(S)` `(*batch,)` for sets given as 0/1 `(*batch, n)`."""
        return (mask.to(theta.dtype).unsqueeze(-1) * theta).amax(-2).sum(-1)

    def local(self, x: Tensor, theta: Tensor) -> FacilityLocal:
        """The extension around `x` `(B, n)`, for parameters `(B or 1, n, targets)`."""
        return FacilityLocal(x, theta)

    def check_theta(self, theta: Any, n: int) -> Tensor:
        """`theta` as a floating tensor `(*batch, n, targets)` of numbers `>= 0`, or an error."""
        theta = checks.as_tensor("theta", theta)
        if theta.ndim < 2 or theta.shape[-2] != n:
            raise checks.fail("theta", f"(*batch, {n}, targets) to match the problem", str(tuple(theta.shape)))
        checks.finite("theta", theta)
        if bool((theta < 0).any()):
            where = (theta < 0).nonzero()[0].tolist()
            found = f"{theta.detach()[tuple(where)].item():g} at {where}"
            raise checks.fail("theta", ">= 0", found, "End the network in softplus, exp or relu")
        return theta

    def __repr__(self) -> str:
        return "FacilityLocation()"


class FacilityLocal(Local):
    """The formulas above; targets come before items, so that sorts and sums run along the last dimension."""

    def __init__(self, x: Tensor, theta: Tensor) -> None:
        batch = len(x)
        self.x, self.q = x, (1 - x).clamp_min(TINY)
        worth, order = theta.detach().mT.sort(stable=True, dim=-1, descending=True)
        self._order = order.expand(batch, -1, -1)
        missed = self._sorted(self.q).cumprod(-1)  # Q
        steps = worth - pad(worth[..., 1:], (0, 1))
        self.value = (steps * (1 - missed)).sum((-1, -2))
        self._tail = (steps * missed).flip(-1).cumsum(-1).flip(-1)  # S, sorted
        self._before = pad(missed[..., :-1], (1, 0), value=1.0)  # Q_{t-1}
        self.gradient = self._unsorted(self._tail).sum(-2) / self.q

    def _sorted(self, values: Tensor) -> Tensor:
        """Numbers of items `(B, n)` in the order of each target, `(B, targets, n)`."""
        return values.unsqueeze(-2).expand(self._order.shape).gather(-1, self._order)

    def _unsorted(self, values: Tensor) -> Tensor:
        return torch.empty_like(values).scatter_(-1, self._order, values)

    def hessian(self, index: Tensor) -> Tensor:
        f, targets = index.shape[-1], self._order.shape[-2]
        tail = self._unsorted(self._tail).gather(-1, index.unsqueeze(-2).expand(-1, targets, -1))
        total = tail.new_zeros(*index.shape, f)
        step = max(1, CHUNK // max(1, total.numel()))
        for part in tail.split(step, -2):
            total -= torch.minimum(part.unsqueeze(-1), part.unsqueeze(-2)).sum(1)
        total.diagonal(dim1=-2, dim2=-1).zero_()
        q = self.q.gather(-1, index)
        return total / (q.unsqueeze(-1) * q.unsqueeze(-2))

    def product(self, v: Tensor) -> Tensor:
        ratio = self._sorted(v / self.q)
        later = self._tail * ratio
        after = pad(later[..., 1:], (0, 1)).flip(-1).cumsum(-1).flip(-1)
        return -self._unsorted(self._tail * _before(ratio) + after).sum(-2) / self.q

    def cross(self, v: Tensor) -> Tensor:
        ahead = _before(self._sorted(v / self.q))
        return self._unsorted(self._before * (self._sorted(v) - self._sorted(self.x) * ahead)).mT

    def slope(self) -> Tensor:
        return self._unsorted(self._before * self._sorted(self.x)).mT


def _before(values: Tensor) -> Tensor:
    """Sums of all entries in front of each."""
    return pad(values[..., :-1], (1, 0)).cumsum(-1)

r"""Facility location: its value, its multilinear extension with derivatives, its increments and cuts.

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

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from foresolve._base import checks
from foresolve.sets.functions.extension import TINY, Local, cleaned
from foresolve.sets.functions.function import ClosedForm
from foresolve.sets.functions.sparse import refuse_sparse
from foresolve.solvers.arrays import Array, namespace, to_array
from foresolve.solvers.submodular.cuts import Cut, Parts
from foresolve.solvers.submodular.increments import DenseIncrements, Increments

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

    def increments(self, theta: Tensor, n: int) -> Increments:
        """Increments of the whole batch `(B, n, targets)`."""
        return FacilityIncrements(to_array(theta.double()))

    def cuts(self, theta: Tensor, n: int) -> Parts:
        """One part per target."""
        return FacilityParts(theta[0].double().numpy())

    def theta_shape(self, n: int) -> tuple[int | None, ...]:
        """`(n, targets)`, any number of them."""
        return n, None

    def check_theta(self, theta: Any, n: int) -> Tensor:
        """`theta` as a floating tensor `(*batch, n, targets)` of numbers `>= 0`, or an error."""
        refuse_sparse(theta, type(self).__name__)
        theta = checks.as_tensor("theta", theta)
        if theta.ndim < 2 or theta.shape[-2] != n:
            raise checks.fail("theta", f"(*batch, {n}, targets) to match the problem", str(tuple(theta.shape)))
        checks.finite("theta", theta)
        if bool((theta < 0).any()):
            where = (theta < 0).nonzero()[0].tolist()
            entry = f"{theta.detach()[tuple(where)].item():g} at {where}"
            raise checks.fail("theta", ">= 0", entry, "End the network in softplus, exp or relu")
        return theta

    def config(self) -> dict[str, Any]:
        """Nothing: all that there is, is in `theta`."""
        return {}

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
        gradient = self._unsorted(self._tail).sum(-2) / self.q
        self.gradient = cleaned(gradient, worth[..., 0].sum(-1, keepdim=True))

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


class FacilityIncrements(DenseIncrements):
    """Increments of instances `theta` `(B, n, targets)`; the state is what each target has.

    Gains are differences `sum_j max(state_j, theta_ij) - sum_j state_j`, a third of the work of a sum of differences;
    the tie rule of greedy absorbs their rounding.
    """

    favor = 0.3

    def __init__(self, theta: Array) -> None:
        targets = theta.shape[-1]
        self._ones = theta.new_ones(targets) if isinstance(theta, Tensor) else np.ones(targets)
        super().__init__(theta, namespace(theta).zeros_like(self._ones))
        self._reached: Array = None if isinstance(theta, Tensor) else np.empty(theta.shape[1:])  # stays in the cache
        self.cost = 8.0 * targets  # as many multiplications as a maximum takes time

    def gains(self, states: np.ndarray) -> np.ndarray:
        reached, totals = np.empty_like(states), np.empty((len(states), self.n))
        for i in range(self.n):
            np.maximum(states, self.theta[0, i], out=reached)
            totals[:, i] = reached @ self._ones
        return totals - (states @ self._ones)[:, None]

    def batch_gains(self, states: Array) -> Array:
        if isinstance(states, Tensor):
            return torch.maximum(self.theta, states[:, None]) @ self._ones - states.sum(-1, keepdim=True)
        reached, totals = self._reached, np.empty((self.count, self.n))
        for b in range(self.count):
            np.maximum(self.theta[b], states[b], out=reached)
            np.matmul(reached, self._ones, out=totals[b])
        return totals - states.sum(-1)[:, None]

    def grown(self, states: Array, items: Array) -> Array:
        return namespace(states).maximum(states, self.rows(items))

    def picked(self, states: np.ndarray, instances: np.ndarray, items: np.ndarray) -> np.ndarray:
        reached = np.maximum(self.theta[instances, items], states[instances])
        return reached @ self._ones - states.sum(-1)[instances]


class FacilityParts(Parts):
    """`f_j(S) = max_{i in S} theta_ij`: one part per target, `theta >= 0` `(n, P)`.

    For every level `c >= 0`, `f_j(S) <= c + sum_i max(theta_ij - c, 0) [i in S]`. The best level at `x` is the worth of
    the item at which the best items add up to 1.
    """

    def __init__(self, theta: np.ndarray) -> None:
        self.theta = theta
        self.n, self.count = theta.shape
        self._order = np.argsort(-theta, axis=0, kind="stable")
        self._sorted = np.take_along_axis(theta, self._order, 0)

    def values(self, mask: np.ndarray) -> np.ndarray:
        return self.theta[mask].max(0, initial=0.0)

    def at_set(self, mask: np.ndarray) -> list[Cut]:
        return self._at_level(self.values(mask))

    def at_point(self, x: np.ndarray) -> list[Cut]:
        full = x[self._order].cumsum(0) >= 1 - 1e-9
        last = full.argmax(0)
        return self._at_level(np.where(full[-1], self._sorted[last, np.arange(self.count)], 0.0))

    def _at_level(self, level: np.ndarray) -> list[Cut]:
        return [(level, np.maximum(self.theta - level, 0.0).T)]


def _before(values: Tensor) -> Tensor:
    """Sums of all entries in front of each."""
    return pad(values[..., :-1], (1, 0)).cumsum(-1)

"""What smoothed layers hand back beside the decisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor

from foresolve.solvers.status import Status


class SmoothedDecisions:
    """What smoothing costs a batch of decisions, and what it gives."""

    free: Tensor
    _kept: Callable[[], Tensor]

    @property
    def kept(self) -> Tensor:
        r"""The share of what there is to gain that smoothing leaves, for each instance, `(*batch,)`.

        :math:`(f(x) - f(x_\infty)) / (f(x_0) - f(x_\infty))`, with :math:`x_\infty` the point of smallest norm and
        :math:`x_0` the best one without smoothing, both for the same parameters; 1 where there is nothing to gain. It
        takes two more solves.
        """
        return self._kept()

    @property
    def passing(self) -> float:
        """The share of the instances that pass a gradient: those that do not sit on a vertex."""
        return float((self.free > 0).double().mean())


@dataclass(frozen=True)
class Duals:
    """Multipliers of the maximization `max theta'x - x'Qx / 2 - gamma |x|^2`, all `>= 0` but those of equalities.

    They satisfy `theta - Q x - 2 gamma x = A_eq' eq + A_ub' ub - lower + upper` (`-theta` where `theta` are costs):
    prices, by how much the objective grows with a right-hand side or bound. They are differentiable in `theta`, `Q`,
    `gamma` and the constraints. Where active rows depend on each other multipliers are not unique: these are a valid
    choice, and their derivative is the change of least norm.
    """

    eq: Tensor
    ub: Tensor
    lower: Tensor
    upper: Tensor


@dataclass(frozen=True)
class Solution(SmoothedDecisions):
    """A batch of smoothed decisions with their certificates; every tensor is `(*batch, ...)`.

    Attributes
    ----------
    x: the decisions, attached to the autograd graph.
    duals: the multipliers (one valid choice where they are not unique).
    status: `Status` codes.
    residual: the largest violation of the optimality conditions: of a row in units of its terms
        `sum_j |a_ij x_j| + |b_i|`, of stationarity in units of the size of `x`; where an instance is ill-conditioned,
        how far rounding moves `x`. At most `tol` where the status is CONVERGED.
    iterations: linear systems factorized.
    free: coordinates that can still move when `theta` does; 0 means a vertex, with no gradient.
    multipliers: of all rows, in the units of the projection; what a warm start continues from.
    """

    x: Tensor
    duals: Duals
    status: Tensor
    residual: Tensor
    iterations: Tensor
    free: Tensor
    multipliers: Tensor = field(repr=False)
    _derivative_error: Callable[[], Tensor] = field(repr=False)
    _kept: Callable[[], Tensor] = field(repr=False)

    @property
    def converged(self) -> Tensor:
        """Whether each instance reached its tolerance."""
        return self.status == int(Status.CONVERGED)

    @property
    def derivative_error(self) -> Tensor:
        """How far the derivative is off, as far as one can tell, in units of what it is applied to; `(*batch,)`.

        Every product with the derivative is checked: what moves along the face must leave its active rows as they are.
        This is the largest estimate so far, of a random vector that every solve begins with and of each `backward`
        since. `status` speaks of `x` alone; a derivative may be lost where `x` is right.
        """
        return self._derivative_error()


@dataclass(frozen=True)
class MultilinearSolution(SmoothedDecisions):
    """A batch of smoothed decisions with their certificates; every tensor is `(*batch, ...)`.

    The multipliers satisfy `grad F - 2 gamma x = price - lower + upper`.

    Attributes
    ----------
    x: the decisions, attached to the autograd graph.
    value: the multilinear extension at `x`.
    price: for each item, the sum of the multipliers of the tight sets that hold it (of the budget, if there is one).
    lower, upper: the multipliers of `x >= 0` and `x <= 1`, non-negative.
    status: `Status` codes.
    residual: the largest entry of `x - Proj(grad F / 2 gamma)` where it was measured last.
    iterations: steps taken.
    free: coordinates that can move when `theta` does; 0 means a vertex, with no gradient.
    """

    x: Tensor
    value: Tensor
    price: Tensor
    lower: Tensor
    upper: Tensor
    status: Tensor
    residual: Tensor
    iterations: Tensor
    free: Tensor
    _kept: Callable[[], Tensor] = field(repr=False)

    @property
    def converged(self) -> Tensor:
        """Whether each instance reached its tolerance."""
        return self.status == int(Status.CONVERGED)


@dataclass(frozen=True)
class Combination(SmoothedDecisions):
    """Smoothed decisions as convex combinations of vertices; every tensor is `(*batch, ...)`.

    Attributes
    ----------
    x: the decisions, differentiable.
    vertices, weights: `(*batch, K, n)` and `(*batch, K)`, with weight 0 where an instance needs fewer: a distribution
        over discrete decisions, of mean `x`.
    gap: a bound on what the objective lacks.
    iterations: how many vertices were asked for.
    """

    x: Tensor
    vertices: Tensor
    weights: Tensor
    gap: Tensor
    iterations: Tensor
    _kept: Callable[[], Tensor] = field(repr=False)

    @property
    def free(self) -> Tensor:  # type: ignore[override]
        """How many vertices there are beside one: 0 means a vertex, with no gradient."""
        return (self.weights > 0).sum(-1) - 1

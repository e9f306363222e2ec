"""The published backward pass for linear programs, kept for its table."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.autograd import apply, first_order, sliceable
from foresolve.layers.base import Layer, gains
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.problems.base import Problem
from foresolve.problems.linear import LinearProgram
from foresolve.solvers.arrays import Array, namespace, to_array, to_tensor
from foresolve.solvers.projection.polytope import Polytope

# The published code bounds multipliers and slacks from below by this number before it divides them.
SMALLEST = 1e-8


class WilderQuadratic(Layer):
    r"""The matching layer of Wilder, Dilkina and Tambe (AAAI 2019) as its code runs: a soft backward pass. **A
    heuristic.**

    Forward it is `QuadraticRelaxation(gamma)`, the projection of :math:`\theta / 2\gamma` (the published objective is
    :math:`\theta^\top x - x^\top Q x` with :math:`Q = 0.1 I` and no 1/2: `gamma` is 0.1). Backward it solves

    .. math::
        \Big( q I + \sum_i \omega_i \, g_i g_i^\top \Big) \, dx = d\theta, \qquad
        \omega_i = \frac{10^{-8}}{\max(\text{slack}_i, 10^{-8})}

    over all inequalities :math:`g_i^\top x \le h_i`, bounds among them; an equality is two of them. The derivation
    behind it divides a multiplier by a slack, which is large where a constraint is active. The code takes the
    multipliers from a solver that gives those of a minimization the other sign, and cuts them off from below at 1e-8:
    so they are *all* 1e-8, and an active constraint has weight one where it should hold exactly. A variable at a bound
    then has a gradient of up to :math:`1 / (1 + q)`, and pairs that are not chosen learn. `q` is the published
    :math:`Q`, 0.1 at first and times 0.8 after each epoch, while the forward pass keeps its own: `fit(...,
    anneal={"curvature": geometric(0.1, 0.1 * 0.8**11)})` for 12 epochs. With weights going to infinity and `q = 2
    gamma` it would be the exact gradient.

    Finite differences do not agree with it, though it may train well. Use `QuadraticRelaxation` unless you want the
    published numbers.

    Parameters
    ----------
    gamma: the smoothing of the forward pass.
    curvature: `q`, of the backward pass alone.

    Shapes
    ------
    As `QuadraticRelaxation`; no constraint may require grad.

    Examples
    --------
    >>> import torch, foresolve
    >>> theta = torch.tensor([1.0, 0.8, 0.2, 0.5], requires_grad=True)
    >>> x = foresolve.layers.WilderQuadratic()(theta, foresolve.BipartiteMatching(2, 2))
    >>> x[1].backward()
    >>> theta.grad  # the second pair is at zero, both its nodes are taken
    tensor([-0.3984,  0.5796,  0.2570, -0.3984])
    """

    needs = ("linear", "rows", "fixed")

    def __init__(self, gamma: float = 0.1, curvature: float = 0.1) -> None:
        super().__init__()
        self.relaxation = QuadraticRelaxation(checks.positive("gamma", gamma))
        self.curvature = curvature

    @property
    def gamma(self) -> float:
        """The smoothing of the forward pass."""
        return cast(float, self.relaxation.gamma)

    @property
    def curvature(self) -> float:
        """`q`, of the backward pass."""
        return self._curvature

    @curvature.setter
    def curvature(self, value: float) -> None:
        self._curvature = checks.positive("curvature", value)

    def forward(self, theta: Tensor, problem: Problem) -> Tensor:
        """Smoothed decisions `(*batch, n)` with the published gradient."""
        program, gain = cast(LinearProgram, problem), gains(theta, problem)
        batch, gain = gain.shape[:-1], gain.reshape(-1, gain.shape[-1])
        polytope = program.polytope(batch).expand(gain.shape[0])
        with torch.no_grad():
            x = self.relaxation(theta.detach().double(), problem).reshape(gain.shape)
        response = _SoftResponse(x, polytope.numeric(), self.curvature)
        return apply(_SoftBackward, gain, x, response).reshape(*batch, gain.shape[-1]).to(theta.dtype)

    def extra_repr(self) -> str:
        return f"gamma={self.gamma:g}, curvature={self.curvature:g}"


class _SoftResponse:
    """`v -> (D + C' W C)^{-1} v` with `D` diagonal: `q` and the weights of the bounds; `W` has those of the rows.

    By Woodbury it is `D^{-1} (v - C' (W^{-1} + C D^{-1} C')^{-1} C D^{-1} v)`, a system of the number of rows.
    """

    def __init__(self, x: Tensor, polytope: Polytope, curvature: float) -> None:
        point = to_array(x)
        xp, self.rows = namespace(point), polytope.rows

        def inverse_weight(slack: Array) -> Array:
            return xp.at_least(slack, SMALLEST) / SMALLEST

        below, above = inverse_weight(point - polytope.lower), inverse_weight(polytope.upper - point)
        self.scale = 1 / (curvature + 1 / below + 1 / above)
        slack = polytope.rhs - self.rows.apply(point)
        inverse = xp.where(polytope.equality, 0.5, inverse_weight(slack))  # two rows of weight one each
        self.solve = self.rows.factor(self.scale, inverse)

    def __call__(self, v: Tensor) -> Tensor:
        scaled = self.scale * to_array(v)
        return to_tensor(scaled - self.scale * self.rows.adjoint(self.solve(self.rows.apply(scaled))))


class _SoftBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gain: Tensor, x: Tensor, response: _SoftResponse) -> Tensor:
        ctx.response = response
        ctx.save_for_backward(gain)
        return x.clone()  # a copy: a function must not hand its own input on

    @staticmethod
    @first_order
    @sliceable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[override]
        return ctx.response(grads[0]), None, None

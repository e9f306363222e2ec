"""Interpolation of black-box solvers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.autograd import apply, first_order, sliceable
from foresolve.layers.base import Layer, gains
from foresolve.problems.base import Problem


class BlackboxInterpolation(Layer):
    r"""The solver's own decision, with the gradient of a piecewise affine interpolation of the loss.

    Forward, :math:`x(c) = \arg\max_x c^\top x` with :math:`c` the gains (:math:`\theta`, or :math:`-\theta` for costs).
    Backward, with :math:`g = \partial L / \partial x` and one more solve,

    .. math::
        \frac{\partial L}{\partial c} = \frac{1}{\lambda} \bigl( x(c) - x(c - \lambda g) \bigr)

    The paper has costs :math:`w = -c` and :math:`-\frac{1}{\lambda} (x(w) - x(w + \lambda g))`. The costs :math:`w +
    \lambda g` are the gains :math:`c - \lambda g`, and :math:`\partial L / \partial c = - \partial L / \partial w`: the
    two are one. In words: :math:`c - \lambda g` are gains whose best decision has a lower (linearized) loss; descent
    raises the gains of what that decision has and the present one lacks.

    With :math:`L` linearized at :math:`x(c)` it is the exact gradient, at :math:`c`, of

    .. math::
        L_\lambda(c) = \frac{1}{\lambda} \Bigl( \max_x c^\top x - \max_x (c - \lambda g)^\top x \Bigr)

    which is continuous, piecewise affine, at least the linearized loss :math:`g^\top x(c - \lambda g)`, at most
    :math:`g^\top x(c)`, and equal to that for small :math:`\lambda`, where its gradient vanishes. Finite differences of
    the decision, which are zero, do not agree.

    Works with: linear objectives, any solver.

    Parameters
    ----------
    lam: the strength of the interpolation, in units of `theta` over `g`; such that `lam * g` and `theta` are of similar
        size. A loss that is averaged over a batch of 32 has gradients a 32nd of those of its instances: `lam` must make
        up for that.

    Shapes
    ------
    `theta` is `(*batch, n)`; the result has its dtype and device.

    References
    ----------
    Vlastelica, Paulus, Musil, Martius and Rolinek, *Differentiation of Blackbox Combinatorial Solvers* (ICLR 2020).

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.layers import BlackboxInterpolation
    >>> theta = torch.tensor([0.5, 0.4, 0.1], requires_grad=True)
    >>> x = BlackboxInterpolation(lam=1.0)(theta, foresolve.TopK(3, 1))
    >>> (x @ torch.tensor([1.0, 0.0, 0.0])).backward()  # a loss that the first item raises
    >>> x.detach(), theta.grad
    (tensor([1., 0., 0.]), tensor([ 1., -1.,  0.]))
    """

    needs = ("linear", "fixed")

    def __init__(self, lam: float = 10.0) -> None:
        super().__init__()
        self.lam = checks.positive("lam", lam)

    def forward(self, theta: Tensor, problem: Problem) -> Tensor:
        """Discrete decisions `(*batch, n)` with the interpolated gradient."""
        return apply(_Interpolated, gains(theta, problem), problem, self.lam).to(theta.dtype)

    def extra_repr(self) -> str:
        return f"lam={self.lam:g}"


class _Interpolated(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, c: Tensor, problem: Problem, lam: float) -> Tensor:
        x = problem.argmax(c)
        ctx.problem, ctx.lam = problem, lam
        ctx.save_for_backward(c, x)
        return x

    @staticmethod
    @first_order
    @sliceable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[override]
        c, x = ctx.saved_tensors
        return (x - ctx.problem.argmax(c - ctx.lam * grads[0])) / ctx.lam, None, None

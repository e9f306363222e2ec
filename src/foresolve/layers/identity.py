"""The solver's decision, with the identity for a gradient."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from foresolve._base.autograd import apply
from foresolve.layers.base import Layer, gains
from foresolve.problems.base import Problem


class IdentityProjection(Layer):
    r"""The solver's own decision; backward, as if the solver were the identity behind a projection of its input.

    Forward, :math:`x(c) = \arg\max_x c^\top x` with :math:`c` the gains (:math:`\theta`, or :math:`-\theta` for costs).
    Backward, with :math:`g = \partial L / \partial x` and no further solve,

    .. math::
        \frac{\partial L}{\partial c} = J_P(c)^\top g, \qquad
        P(c) = \frac{c - \bar c \, 1}{\| c - \bar c \, 1 \|}

    A gain rises where a larger :math:`x_i` lowers the loss; for costs the same is the *negative* identity of the paper.
    :math:`P` takes out of the gradient what cannot change the decision: a change of scale, which no linear objective
    minds, and a common shift, which none minds where all decisions have the same number of ones (top-k, assignment,
    monotone grid paths). :math:`P` acts on the gradient alone: :math:`x` is `problem.solve(theta)` whether or not a
    shift matters there. Finite differences of the decision, which are zero, do not agree.

    Works with: linear objectives, any solver.

    Parameters
    ----------
    center: project the common shift away (only where all decisions have the same sum).
    normalize: project the scale away; the gradient is then in units of `1 / theta`. With neither, the layer is
        `NegativeIdentity`.

    Shapes
    ------
    `theta` is `(*batch, n)`; the result has its dtype and device.

    References
    ----------
    Sahoo, Paulus, Vlastelica, Musil, Kuleshov and Martius, *Backpropagation through Combinatorial Algorithms: Identity
    with Projection Works* (ICLR 2023).

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.layers import IdentityProjection
    >>> theta = torch.tensor([0.5, 0.4, 0.1], requires_grad=True)
    >>> x = IdentityProjection(normalize=False, center=True)(theta, foresolve.TopK(3, 1))
    >>> (x @ torch.tensor([3.0, 0.0, 0.0])).backward()
    >>> x.detach(), theta.grad
    (tensor([1., 0., 0.]), tensor([ 2., -1., -1.]))
    """

    needs = ("linear", "fixed")

    def __init__(self, *, center: bool = False, normalize: bool = True) -> None:
        super().__init__()
        self.center, self.normalize = bool(center), bool(normalize)

    def forward(self, theta: Tensor, problem: Problem) -> Tensor:
        """Discrete decisions `(*batch, n)` with the gradient of the projection."""
        c = gains(theta, problem)
        return apply(_StraightThrough, self._project(c), problem.argmax(c)).to(theta.dtype)

    def extra_repr(self) -> str:
        return f"center={self.center}, normalize={self.normalize}"

    def _project(self, c: Tensor) -> Tensor:
        if self.center:
            c = c - c.mean(-1, keepdim=True)
        if self.normalize:
            square = c.square().sum(-1, keepdim=True)
            c = c / torch.where(square > 0, square, 1.0).sqrt()  # no direction at 0: the plain identity
        return c


class NegativeIdentity(IdentityProjection):
    r"""The plain identity, without a projection: :math:`\partial L / \partial c = g`, so :math:`-g` for costs.

    Works with: linear objectives, any solver. See `IdentityProjection`.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.layers import NegativeIdentity
    >>> theta = torch.tensor([1.0, 0.9, 0.2], requires_grad=True)
    >>> x = NegativeIdentity()(theta, foresolve.TopK(3, k=1))
    >>> (x * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    >>> theta.grad
    tensor([1., 2., 3.])
    """

    def __init__(self) -> None:
        super().__init__(center=False, normalize=False)

    def extra_repr(self) -> str:
        return ""


class _StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, projected: Tensor, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return grads[0], None

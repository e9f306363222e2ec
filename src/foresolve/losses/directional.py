"""Decision losses by finite differences of the value function."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.data.batch import Batch
from foresolve.losses.base import Loss

Sides = Literal["backward", "central", "forward"]
# The points at which the value function is evaluated, in steps along the truth: (subtracted, added).
PLACES: dict[Sides, tuple[float, float]] = {"backward": (0.0, -1.0), "central": (1.0, -1.0), "forward": (1.0, 0.0)}


class PerturbationGradient(Loss):
    r"""The decision loss as a directional derivative of the optimal value, taken by a finite step.

    Let :math:`V(c) = \max_x c^\top x`, with the gains :math:`c = \pm\theta`. By Danskin's theorem the objective of
    the decision for :math:`\hat c`, under the truth, is the derivative of :math:`V` at :math:`\hat c` along
    :math:`c`. A step `h` makes it piecewise linear in the prediction, with gradients that inform:

    .. math::
        \ell_{\text{backward}} = \frac{V(\hat c - h c) - V(\hat c)}{h}, \quad
        \ell_{\text{central}} = \frac{V(\hat c - h c) - V(\hat c + h c)}{2h}, \quad
        \ell_{\text{forward}} = \frac{V(\hat c) - V(\hat c + h c)}{h},

    and the gradient of the first is :math:`(x(\hat c - hc) - x(\hat c)) / h`, likewise for the others. As `h` goes to 0
    they approach minus the objective, :math:`-c^\top x(\hat c)`: the backward loss from above, the forward loss from
    below (Huang and Gupta, *Decision-Focused Learning with Directional Gradients*, NeurIPS 2024). Two solves for each
    instance and step, in one call.

    Parameters
    ----------
    step: `h`, relative to the size of the truth: small steps are less biased, large ones have less variance, and fewer
        predictions at which the loss is flat.
    sides: where the value function is evaluated. The backward loss alone moves an instance to what it prefers
        already, and learns from what instances share; the central one also moves it toward better decisions.

    Works with: a linear objective and an exact oracle; all of `LinearProgram`, and exact black boxes.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.losses import PerturbationGradient
    >>> theta, theta_hat = torch.tensor([[1.0, 3.0]]), torch.tensor([[2.0, 1.0]])
    >>> PerturbationGradient(step=0.1)(theta_hat, foresolve.Batch(None, theta, foresolve.TopK(2, 1)))
    tensor([-1.])
    """

    needs = ("linear", "exact", "fixed")

    def __init__(self, step: float = 1.0, sides: Sides = "central") -> None:
        super().__init__()
        self.step = checks.positive("step", step)
        self.sides: Sides = checks.one_of("sides", sides, get_args(Sides))

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        problem = batch.problem
        gain, truth = problem.gain(theta_hat).double(), problem.gain(batch.theta).double()
        ahead, behind = PLACES[self.sides]
        points = torch.stack([gain + ahead * self.step * truth, gain + behind * self.step * truth])
        x = problem.argmax(points.detach())
        values = (points * x).sum(-1)
        return ((values[1] - values[0]) / ((ahead - behind) * self.step)).to(theta_hat.dtype)

    def extra_repr(self) -> str:
        return f"step={self.step:g}, sides={self.sides!r}"

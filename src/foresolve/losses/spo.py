"""The smart predict-then-optimize loss."""

from __future__ import annotations

from torch import Tensor

from foresolve.data.batch import Batch
from foresolve.losses.base import Loss


class SPOPlus(Loss):
    r"""SPO+: a convex upper bound on the regret.

    With the gains :math:`c = \pm\theta` that are maximized (:math:`\pm (c_0 + S \theta)` where the problem is
    `parametrized`), :math:`\hat c` the predicted ones, and :math:`x^*` a best decision under the truth,

    .. math::
        \ell(\hat c, c) = \max_x (2 \hat c - c)^\top x - 2 \hat c^\top x^* + c^\top x^*
        \;\ge\; c^\top x^* - c^\top x(\hat c), \qquad
        2 (\tilde x - x^*) \in \partial_{\hat c} \ell,

    where :math:`\tilde x` attains the maximum: one solve for each instance and step; the subgradient for
    :math:`\hat\theta` is :math:`\pm 2 S^\top (\tilde x - x^*)`. It is zero where the prediction is right. On
    `ShortestPath` over a graph with cycles the maximum is that over flows, which may go round a cycle of negative cost;
    the bound on the regret of the path that is taken holds where the true costs are not negative (Elmachtoub and
    Grigas, *Smart "Predict, then Optimize"*, Management Science 2022).

    Works with: a linear objective and an exact oracle; all of `LinearProgram`, and exact black boxes.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.losses import SPOPlus
    >>> theta, theta_hat = torch.tensor([[1.0, 3.0]]), torch.tensor([[2.0, 1.0]])
    >>> SPOPlus()(theta_hat, foresolve.Batch(None, theta, foresolve.TopK(2, 1)))  # the regret is 2
    tensor([4.])
    """

    needs = ("linear", "exact", "fixed")
    uses_best = True

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        problem = batch.problem
        best, _ = batch.best()
        gain, truth = problem.gain(theta_hat).double(), problem.gain(batch.theta).double()
        beyond = 2 * gain - truth
        x = problem.argmax(beyond.detach())
        # The formula with its terms collected: what cancels is not added up first.
        return (beyond * (x - best.to(x))).sum(-1).to(theta_hat.dtype)

"""The loss of the decision itself."""

from __future__ import annotations

from torch import Tensor

from foresolve._base import checks
from foresolve.data.batch import Batch
from foresolve.layers.base import Layer
from foresolve.losses.base import Loss, Repair
from foresolve.problems.base import Problem
from foresolve.problems.traits import require


class DecisionLoss(Loss):
    r"""Minus the value of the layer's decision under the truth.

    .. math::
        L = -f(x(\hat\theta), \theta), \qquad \text{or, normalized,} \quad
        L = \frac{f(x^*, \theta) - f(x(\hat\theta), \theta)}{|f(x^*, \theta)|}

    with :math:`f` the problem's objective, :math:`x(\hat\theta)` the layer's decision and :math:`x^*` the best one
    under the truth. The layer's decision is smoothed: its normalized loss may be negative for objectives that gain from
    fractions, but not for linear ones over the hull of the decisions, solved exactly.

    Works with: whatever the layer works with.

    Parameters
    ----------
    layer: any `Layer`, for example `QuadraticRelaxation()`.
    normalize: relative regret for each instance, so that instances of large value do not drown the others. It has no
        meaning where the best value is 0: such instances are refused, by name.
    repair: `repair(x, problem) -> x`, in torch, for problems whose constraints `theta` makes: what is carried out of a
        decision under the true constraints, those of `problem` (a shortage that is bought, a surplus that is sold). The
        same function serves `evaluate`.

    References
    ----------
    Wilder, Dilkina and Tambe, *Melding the Data-Decisions Pipeline* (AAAI 2019).

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.losses import DecisionLoss
    >>> loss = DecisionLoss(foresolve.QuadraticRelaxation(gamma=0.5))
    >>> batch = foresolve.Batch(None, torch.tensor([[1.0, 0.0]]), foresolve.TopK(2, 1))
    >>> loss(torch.tensor([[0.75, 0.25]]), batch)
    tensor([-0.7500])
    """

    keep = (0.85, 0.98)

    def __init__(self, layer: Layer, normalize: bool = False, *, repair: Repair | None = None) -> None:
        super().__init__()
        if not isinstance(layer, Layer):
            raise checks.fail("layer", "a Layer, such as QuadraticRelaxation()", type(layer).__name__)
        if repair is not None:
            checks.function("repair", repair, "repair(x, problem) -> x")
        self.layer, self.normalize, self.repair = layer, bool(normalize), repair
        self.needs, self.uses_best = layer.needs, self.normalize

    def check_problem(self, problem: Problem) -> None:
        """Refuse a problem that the layer refuses."""
        require(problem, self.needs, f"{type(self).__name__}({type(self.layer).__name__})")
        self.layer.check_problem(problem)

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        """Losses `(B,)`."""
        x = self.layer(theta_hat, batch.problem)
        if self.repair is not None:
            x = self.repair(x, batch.problem.at(batch.theta))
        value = batch.problem.objective(x, batch.theta).to(theta_hat.dtype)
        if not self.normalize:
            return -value
        _, best = batch.best()
        empty = (best == 0).nonzero().flatten().tolist()
        if empty:
            names = checks.instance_names(empty, (len(batch),))
            remedy = "Leave those instances out, or pass normalize=False"
            raise checks.fail("batch", "of instances whose best value is not 0, to normalize by", names, remedy)
        best = best.to(value.dtype)
        return (best - value) / best.abs()

    def extra_repr(self) -> str:
        return f"normalize={self.normalize}"

"""Learning to rank the decisions of a pool."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.data.batch import Batch
from foresolve.losses.pool import PoolLoss, SolutionPool, scores

Comparison = Literal["hinge", "difference"]


class _Ranking(PoolLoss):
    """The part that the three share: the objectives of the pool's decisions, predicted and true."""

    def _scores(self, theta_hat: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        decisions = self.pool(theta_hat, batch)
        return scores(decisions, theta_hat, batch.problem), scores(decisions, batch.theta, batch.problem)


class PointwiseRanking(_Ranking):
    r"""Match the predicted objective of each decision to the true one.

    .. math::
        \ell = \frac{1}{|\Gamma|} \sum_{s \in \Gamma} \big( f(s, \hat\theta) - f(s, \theta) \big)^2

    over the pool :math:`\Gamma` (Mandi, Bucarey, Mulamba and Guns, *Decision-Focused Learning: Through the Lens of
    Learning to Rank*, ICML 2022).

    Parameters
    ----------
    pool: the decisions, a `SolutionPool`; by default one of its own that is solved at every step.

    Works with: any oracle whose feasible set all instances share, and an objective that is differentiable in `theta`.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.losses import PointwiseRanking
    >>> theta, theta_hat = torch.tensor([[1.0, 3.0]]), torch.tensor([[2.0, 1.0]])
    >>> PointwiseRanking()(theta_hat, foresolve.Batch(None, theta, foresolve.TopK(2, 1)))  # (1^2 + 2^2) / 2
    tensor([2.5000])
    """

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        predicted, true = self._scores(theta_hat, batch)
        return (predicted - true).square().mean(-1).to(theta_hat.dtype)


class PairwiseRanking(_Ranking):
    r"""The best decision of the pool should beat each of the others.

    With :math:`b` the best of the pool :math:`\Gamma` under the truth,

    .. math::
        \ell_{\text{hinge}} = \frac{1}{|\Gamma|} \sum_{s} \max\big(0,\; \nu + f(s, \hat\theta) - f(b, \hat\theta)\big),
        \quad
        \ell_{\text{difference}} = \frac{1}{|\Gamma|} \sum_{s} \big(f(b, \hat\theta) - f(s, \hat\theta)
        - f(b, \theta) + f(s, \theta)\big)^2

    where :math:`s` runs over the decisions that are worse than :math:`b` under the truth: ties have no order to learn
    (Mandi et al., ICML 2022, as for `PointwiseRanking`).

    Parameters
    ----------
    pool: the decisions, as for `PointwiseRanking`, which works with the same problems.
    margin: :math:`\nu`, in units of the objective, for the hinge.
    kind: "hinge", or "difference" for the regression of leads.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.losses import PairwiseRanking
    >>> theta, theta_hat = torch.tensor([[1.0, 3.0]]), torch.tensor([[2.0, 1.0]])
    >>> PairwiseRanking(margin=0.5)(theta_hat, foresolve.Batch(None, theta, foresolve.TopK(2, 1)))  # (0.5 + 1) / 2
    tensor([0.7500])
    """

    def __init__(self, pool: SolutionPool | None = None, *, margin: float = 0.1, kind: Comparison = "hinge") -> None:
        super().__init__(pool)
        if not 0 <= margin < float("inf"):
            raise checks.fail("margin", "a finite number >= 0", str(margin))
        self.margin = float(margin)
        self.kind: Comparison = checks.one_of("kind", kind, get_args(Comparison))

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        predicted, true = self._scores(theta_hat, batch)
        top = true.argmax(-1, keepdim=True)
        true_lead = true.gather(-1, top) - true
        lead = predicted.gather(-1, top) - predicted
        terms = (self.margin - lead).relu() if self.kind == "hinge" else (lead - true_lead).square()
        # Rounding of sums that are equal in truth is no order.
        worse = true_lead > 1e-9 * true.abs().amax(-1, keepdim=True)
        return torch.where(worse, terms, 0.0).mean(-1).to(theta_hat.dtype)

    def extra_repr(self) -> str:
        return f"margin={self.margin:g}, kind={self.kind!r}"


class ListwiseRanking(_Ranking):
    r"""Match the predicted distribution over the pool to the true one.

    .. math::
        \ell = -\sum_{s \in \Gamma} p(s \mid \theta) \log p(s \mid \hat\theta), \qquad
        p(s \mid \theta) = \frac{\exp(f(s, \theta) / \tau)}{\sum_{t \in \Gamma} \exp(f(t, \theta) / \tau)}

    is the cross-entropy of the two softmax distributions over the pool :math:`\Gamma`; its least value is the
    entropy of the true one (Mandi et al., ICML 2022, as for `PointwiseRanking`).

    Parameters
    ----------
    pool: the decisions, as for `PointwiseRanking`, which works with the same problems.
    temperature: :math:`\tau`, in units of the objective: the smaller, the more the best decisions count.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.losses import ListwiseRanking
    >>> theta, theta_hat = torch.tensor([[1.0, 3.0]]), torch.tensor([[2.0, 1.0]])
    >>> ListwiseRanking()(theta_hat, foresolve.Batch(None, theta, foresolve.TopK(2, 1)))
    tensor([1.1941])
    """

    def __init__(self, pool: SolutionPool | None = None, *, temperature: float = 1.0) -> None:
        super().__init__(pool)
        self.temperature = checks.positive("temperature", temperature)

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        predicted, true = self._scores(theta_hat, batch)
        weights = (true / self.temperature).softmax(-1)
        return -(weights * (predicted / self.temperature).log_softmax(-1)).sum(-1).to(theta_hat.dtype)

    def extra_repr(self) -> str:
        return f"temperature={self.temperature:g}"

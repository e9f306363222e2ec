"""Contrastive losses over a pool of decisions."""

from __future__ import annotations

from torch import Tensor

from foresolve._base import checks
from foresolve.data.batch import Batch
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ForesolveWarning
from foresolve.losses.base import FROM_DECISIONS
from foresolve.losses.pool import PoolLoss, SolutionPool, scores


class _Contrastive(PoolLoss):
    """The part that NCE and MAP share: by how much each decision of the pool is preferred to the best one."""

    trivial: str  # what it is minimal at, where it learns from decisions alone

    def __init__(self, pool: SolutionPool | None = None, *, shifted: bool = True) -> None:
        super().__init__(pool)
        self.shifted = self.uses_theta = bool(shifted)
        self._warned = False

    def _instead(self) -> str:
        return f"Pass `shifted=False`, or learn from decisions with {FROM_DECISIONS}"

    def check_data(self, data: DecisionDataset | Batch) -> None:
        """Refuse data without what the loss needs, and warn, once, of what it may learn from decisions alone."""
        super().check_data(data)
        if not data.has_theta and not self._warned:
            self._warned = True
            checks.warn(
                f"{type(self).__name__} without `theta` {self.trivial}. Let the model normalize its predictions (to a "
                "norm of 1, say), or train with FenchelYoung, CaVE or Imitation (said once per loss)",
                ForesolveWarning,
            )

    def _lead(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        """`f(s, theta_hat) - f(x*, theta_hat)`, less the same under the truth where shifted; `(B, K)` in float64."""
        problem, decisions = batch.problem, self.pool(theta_hat, batch)
        best_hat = problem.objective(batch.target().to(theta_hat), theta_hat).double()
        lead = scores(decisions, theta_hat, problem) - best_hat.unsqueeze(-1)
        if self.shifted:
            lead = lead - (scores(decisions, batch.theta, problem) - batch.best()[1].double().unsqueeze(-1))
        return lead

    def extra_repr(self) -> str:
        return f"shifted={self.shifted}"


class NCE(_Contrastive):
    r"""Noise-contrastive estimation: the best decision should beat the others of the pool, on average.

    With the objective :math:`f` (maximized), the pool :math:`\Gamma` and a best decision :math:`x^*` under the truth,

    .. math::
        \ell = \frac{1}{|\Gamma|} \sum_{s \in \Gamma} f(s, \hat\theta) - f(x^*, \hat\theta)
        \;\big[ {} - f(s, \theta) + f(x^*, \theta) \text{ where shifted} \big].

    The term in brackets (:math:`\hat c - c` in the paper) makes it the mean error of the predicted leads; it moves no
    gradient. For a linear objective the loss has no lower bound: it is linear in the prediction, so watch the regret
    (Mulamba, Mandi, Diligenti, Lombardi, Bucarey and Guns, *Contrastive Losses and Solution Caching for
    Predict-and-Optimize*, IJCAI 2021).

    Parameters
    ----------
    pool: the decisions, a `SolutionPool`; by default one of its own that is solved at every step.
    shifted: whether the leads under the truth are subtracted. Without, decisions alone will do, and it is warned of
        what is minimal then: here predictions that grow without end, for `MAP` those of zero.

    Works with: any oracle whose feasible set all instances share, and an objective that is differentiable in `theta`.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.losses import NCE
    >>> theta, theta_hat = torch.tensor([[1.0, 3.0]]), torch.tensor([[2.0, 1.0]])
    >>> NCE()(theta_hat, foresolve.Batch(None, theta, foresolve.TopK(2, 1)))  # leads 1 and 0, instead of -2 and 0
    tensor([1.5000])
    """

    trivial = "has no lower bound: it falls as predictions grow, whatever they say"

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        return self._lead(theta_hat, batch).mean(-1).to(theta_hat.dtype)


class MAP(_Contrastive):
    r"""Maximum a posteriori: the best decision should beat the strongest of the pool.

    .. math::
        \ell = \max_{s \in \Gamma \cup \{x^*\}} f(s, \hat\theta) - f(x^*, \hat\theta)
        \;\big[ {} - f(s, \theta) + f(x^*, \theta) \text{ where shifted} \big] \;\ge\; 0.

    Shifted (:math:`\hat c - c` in the paper), each decision must trail by as much as under the truth; then the loss is
    an upper bound on the regret wherever the pool holds the decision for :math:`\hat\theta`. Otherwise a prediction
    that says nothing (zero) is as good as the truth (Mulamba et al., IJCAI 2021, as for `NCE`).

    Its parameters, and the problems that it works with, are those of `NCE`.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.losses import MAP
    >>> theta, theta_hat = torch.tensor([[1.0, 3.0]]), torch.tensor([[2.0, 1.0]])
    >>> MAP()(theta_hat, foresolve.Batch(None, theta, foresolve.TopK(2, 1)))
    tensor([3.])
    """

    trivial = "has a trivial minimum: it is 0 for a prediction of 0, which prefers no decision to another"

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        return self._lead(theta_hat, batch).amax(-1).clamp_min(0.0).to(theta_hat.dtype)

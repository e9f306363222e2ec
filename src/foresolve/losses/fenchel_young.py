"""Fenchel-Young losses: how far a decision is from the best one of a smoothed problem."""

from __future__ import annotations

from torch import Tensor

from foresolve._base import checks
from foresolve.data.batch import Batch
from foresolve.layers.base import Layer
from foresolve.losses.base import Loss
from foresolve.problems.base import Problem


class FenchelYoung(Loss):
    r"""The shortfall of the best decision :math:`y` under the truth in the smoothed problem of the prediction.

    .. math::
        L(\hat c, y) = \max_{x} \bigl[ \hat c^\top x - \Omega(x) \bigr] - \bigl[ \hat c^\top y - \Omega(y) \bigr] \ge 0,
        \qquad \frac{\partial L}{\partial \hat c} = x(\hat c) - y

    with :math:`\hat c` the predicted gains (:math:`\hat\theta`, or :math:`-\hat\theta` for costs) and :math:`x(\hat c)`
    the layer's decision. It is convex in :math:`\hat c`, and zero exactly where :math:`x(\hat c) = y`. The true
    parameters enter through :math:`y` alone, so that decisions on record will do.

    **`QuadraticRelaxation`, `RegularizedFrankWolfe`**: :math:`\Omega = \gamma \|x\|^2` (or the layer's regularizer). A
    `RelativeGamma` :math:`\gamma` is taken from the *true* parameters, so that it is data: taken from the prediction it
    would let the loss fall to zero with the scale of :math:`\hat c`. Where only decisions are known it is a fixed unit,
    that of parameters with a spread of 1, since the model learns the scale: `gamma = factor / size(x)`.

    **`PerturbedAdditive`**: :math:`\Omega` is the conjugate of :math:`F(c) = \mathbb{E} \max_x (c + \sigma Z)^\top x`.
    Every decision has :math:`F(c) \ge \mathbb{E} (c + \sigma Z)^\top y = c^\top y`, hence :math:`\Omega(y) = \sup_c \,
    c^\top y - F(c) \le 0`. If :math:`y` is a vertex, the only best decision for some gains :math:`d`, then
    :math:`F(td) - t d^\top y = \mathbb{E} \max_x (td + \sigma Z)^\top (x - y) \to 0` as :math:`t \to \infty`, hence
    :math:`\Omega(y) = 0`. So the loss is :math:`F(\hat c) - \hat c^\top y` with nothing left out, and zero only in that
    limit. It is estimated as

    .. math::
        L \approx \frac{1}{S} \sum_s \max_x \, (\hat c + \sigma z_s)^\top (x - y), \qquad
        \frac{\partial L}{\partial \hat c} = \frac{1}{S} \sum_s x^*(\hat c + \sigma z_s) - y

    unbiased, never negative, and with the gradient of just this sum: no score identity, no variance but the decisions'.

    **`PerturbedMultiplicative`**: the same with :math:`\hat c \odot e_s`, where :math:`e_s = \exp(\sigma z_s - \sigma^2
    / 2)` has mean one, and the gradient :math:`\frac{1}{S} \sum_s e_s \odot (x_s - y)`. :math:`F` grows in proportion
    to :math:`c`, so :math:`\Omega` is 0 at every decision, and the loss also vanishes at :math:`\hat c = 0`: use it
    with models that cannot scale their predictions down, or beside another loss.

    Works with: linear objectives; `QuadraticRelaxation` needs a `LinearProgram`. A solver that is not exact may give
    values below zero.

    Parameters
    ----------
    layer: the layer whose smoothing defines the loss.

    References
    ----------
    Blondel, Martins and Niculae, *Learning with Fenchel-Young Losses* (JMLR 2020); Berthet, Blondel, Teboul, Cuturi,
    Vert and Bach, *Learning with Differentiable Perturbed Optimizers* (NeurIPS 2020); Dalle, Baty, Bouvier and
    Parmentier, *Learning with Combinatorial Optimization Layers: a Probabilistic Approach* (2022).

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.losses import FenchelYoung
    >>> loss = FenchelYoung(foresolve.QuadraticRelaxation(gamma=0.5))
    >>> batch = foresolve.Batch(None, torch.tensor([[1.0, 0.0]]), foresolve.TopK(2, 1))
    >>> theta_hat = torch.tensor([[0.75, 0.25]], requires_grad=True)
    >>> value = loss(theta_hat, batch)
    >>> value.backward()
    >>> value.detach(), theta_hat.grad
    (tensor([0.0625]), tensor([[-0.2500,  0.2500]]))
    """

    uses_best = True
    uses_theta = False
    keep = 0.95

    def __init__(self, layer: Layer) -> None:
        super().__init__()
        if not isinstance(layer, Layer):
            raise checks.fail("layer", "a Layer, such as QuadraticRelaxation()", type(layer).__name__)
        layer.fenchel_young()  # so that one without such a loss is refused here
        self.layer = layer
        self.needs = tuple(dict.fromkeys((*layer.fenchel_young_needs, "fixed", *layer.needs)))

    def check_problem(self, problem: Problem) -> None:
        """Refuse a problem without what the loss of the layer needs, or that the layer refuses."""
        super().check_problem(problem)
        self.layer.check_problem(problem)

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        """Losses `(B,)`."""
        y, truth = batch.target().double(), batch.theta if batch.has_theta else None
        return self.layer.fenchel_young()(theta_hat, y, batch.problem, truth).to(theta_hat.dtype)

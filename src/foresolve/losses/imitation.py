"""The distance of the layer's decision to the one on record."""

from __future__ import annotations

from typing import Literal, get_args

from torch import Tensor

from foresolve._base import checks
from foresolve.data.batch import Batch
from foresolve.layers.base import Layer
from foresolve.losses.base import Loss
from foresolve.problems.base import Problem

Distance = Literal["squared", "hamming", "cross_entropy"]
SLACK = 1e-6  # by how much a solver's decision may leave [0, 1]


class Imitation(Loss):
    r"""The distance of the layer's decision from the one to be learned, the mean over its entries.

    With :math:`x = x(\hat\theta)` the layer's decision and :math:`y` the one on record (or the best under the truth),

    .. math::
        L_{\text{squared}} = \frac1n \sum_j (x_j - y_j)^2, \qquad
        L_{\text{hamming}} = \frac1n \sum_j x_j (1 - y_j) + y_j (1 - x_j), \qquad
        L_{\text{cross-entropy}} = -\frac1n \sum_j y_j \log p_j + (1 - y_j) \log (1 - p_j)

    where :math:`p = \epsilon + (1 - 2 \epsilon) x` are the layer's probabilities, kept away from 0 and 1: a decision
    that is wrong on a vertex has a large loss instead of an infinite one, and, other than behind a clamp, a gradient.

    It learns from decisions alone. The gradient passes through the layer, so that a layer on a vertex passes none:
    `FenchelYoung` of the same layer is convex and has one everywhere, and is the first to try.

    Works with: whatever the layer works with; "hamming" and "cross_entropy" need decisions between 0 and 1.

    Parameters
    ----------
    layer: any `Layer`. One that gives means of decisions (`PerturbedAdditive`, `QuadraticRelaxation`) gives
        probabilities for the cross-entropy; one that gives 0/1 decisions (`BlackboxInterpolation`, `IMLE`) goes with
        "hamming", as in the paper on black boxes below.
    distance: as above.
    epsilon: for the cross-entropy, in (0, 0.5): the largest loss of an entry is `-log(epsilon)`.

    References
    ----------
    Vlastelica, Paulus, Musil, Martius and Rolinek, *Differentiation of Blackbox Combinatorial Solvers* (ICLR 2020).

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.losses import Imitation
    >>> y = torch.tensor([[1.0, 0.0]])
    >>> batch = foresolve.Batch(None, None, foresolve.TopK(2, 1), decision=y)
    >>> theta_hat = torch.tensor([[0.75, 0.25]])
    >>> Imitation(foresolve.QuadraticRelaxation(gamma=0.5))(theta_hat, batch)  # x is (0.75, 0.25)
    tensor([0.0625])
    >>> Imitation(foresolve.QuadraticRelaxation(gamma=0.5), "cross_entropy")(theta_hat, batch)
    tensor([0.2883])
    """

    uses_best = True
    uses_theta = False

    def __init__(self, layer: Layer, distance: Distance = "squared", *, epsilon: float = 1e-3) -> None:
        super().__init__()
        if not isinstance(layer, Layer):
            raise checks.fail("layer", "a Layer, such as QuadraticRelaxation()", type(layer).__name__)
        self.layer, self.needs = layer, layer.needs
        self.distance: Distance = checks.one_of("distance", distance, get_args(Distance))
        self.epsilon = checks.between("epsilon", epsilon, "(0, 0.5)")

    def check_problem(self, problem: Problem) -> None:
        """Refuse a problem that the layer refuses."""
        super().check_problem(problem)
        self.layer.check_problem(problem)

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        """Losses `(B,)`."""
        x = self.layer(theta_hat, batch.problem)
        y = batch.target().to(x)
        if self.distance == "squared":
            return (x - y).square().mean(-1)
        self._check_unit("decisions", y)
        self._check_unit("layer(theta_hat, problem)", x)
        if self.distance == "hamming":
            return (x * (1 - y) + y * (1 - x)).mean(-1)
        p = self.epsilon + (1 - 2 * self.epsilon) * x
        return -(y * p.log() + (1 - y) * (1 - p).log()).mean(-1)

    def _check_unit(self, name: str, value: Tensor) -> None:
        low, high = value.detach().aminmax() if value.numel() else (0.0, 0.0)
        if float(low) < -SLACK or float(high) > 1 + SLACK:
            expected = f"between 0 and 1 for the distance {self.distance!r}"
            remedy = '`distance="squared"` takes any decisions'
            raise checks.fail(name, expected, f"from {float(low):.4g} to {float(high):.4g}", remedy)

    def extra_repr(self) -> str:
        epsilon = f", epsilon={self.epsilon:g}" if self.distance == "cross_entropy" else ""
        return f"distance={self.distance!r}{epsilon}"

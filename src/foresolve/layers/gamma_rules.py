"""Rules for how strongly a decision is smoothed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.problems.base import Problem


@dataclass(frozen=True)
class RelativeGamma:
    r"""A `gamma` in units of the data, so that rescaling `theta` or `x` leaves the decision as it is.

    .. math:: \gamma = \text{factor} \cdot \frac{\text{spread}(\theta)}{\text{size}(x)}, \quad
        \text{spread}(\theta)^2 = \mathrm{Var}(\theta) + 0.01 \, \mathrm{mean}(\theta^2)

    per instance, with `size` the mean width of the finite boxes; where there are none, or the rows imply the upper
    bounds (matchings), the largest right-hand side over the norm of its row. Where the problem is `parametrized` the
    spread is that of the parameters, in units of the coefficients which they move, and only the boxes of those
    variables count: what is known, or tied to a parameter a second time, is no spread of the prediction. It is part of
    the differentiated map: gradients are those of the layer as it is called, and finite differences agree with them.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.layers import RelativeGamma
    >>> layer, problem = foresolve.QuadraticRelaxation(RelativeGamma(0.3)), foresolve.TopK(3, k=1)
    >>> theta = torch.tensor([1.0, 0.9, 0.2])
    >>> torch.allclose(layer(theta, problem), layer(1000 * theta, problem))
    True
    """

    factor: float = 0.3

    def __post_init__(self) -> None:
        checks.positive("factor", self.factor)

    def __call__(self, theta: Tensor, size: Tensor) -> Tensor:
        """`gamma` for each instance: `theta` `(B, n)`, `size` `(1 or B,)`, result `(B,)`."""
        # In units of a power of two, so that squares neither vanish nor overflow, and no digit changes.
        most = theta.detach().abs().amax(-1)
        unit = torch.ldexp(torch.ones_like(most), torch.frexp(most).exponent - 1)
        theta = theta / unit.unsqueeze(-1)
        variance = (theta - theta.mean(-1, keepdim=True)).square().mean(-1)
        square = variance + 0.01 * theta.square().mean(-1)
        flat = square <= 0  # theta = 0: any gamma gives the same decision
        spread = torch.where(flat, 1.0, unit) * torch.where(flat, 1.0, square).sqrt()
        return self.factor * spread / size


@dataclass(frozen=True)
class CalibratedGamma(RelativeGamma):
    r"""A `gamma` calibrated on decisions: the default of layers in a loss.

    Before training, `Loss.prepare` looks for the largest number at which smoothed decisions under the true parameters
    still keep a share of the way from the point of smallest norm to the best decision,

    .. math:: \frac{f(x_\gamma) - f(x_\infty)}{f(x_0) - f(x_\infty)} \ge \text{keep},

    the mean over some training instances; `layer.calibration` says what it found. With two shares, `fit` goes from the
    first to the second on a geometric path: smooth decisions pass a gradient, sharp ones are those that are taken. The
    number is the same for all predictions: a model can make its decisions sharper by larger ones. A layer that is used
    alone, or learns from decisions alone, follows the closed-form rule of `RelativeGamma(factor)`.

    Parameters
    ----------
    keep: a share in (0, 1), or two, at the beginning of a training and at its end; by default those of the loss,
        `loss.keep`: (0.85, 0.98) in `DecisionLoss`, whose gradient vanishes at vertices, 0.95 in `FenchelYoung`, whose
        gradient does not. docs/smoothing.md has what they are measured on.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.layers import CalibratedGamma
    >>> g = torch.Generator().manual_seed(0)
    >>> features = torch.randn(64, 3, generator=g)
    >>> theta = features @ torch.randn(3, 4, generator=g)
    >>> data = foresolve.DecisionDataset(features, theta, foresolve.TopK(4, 2))
    >>> loss = foresolve.DecisionLoss(foresolve.QuadraticRelaxation(CalibratedGamma(keep=0.9)))
    >>> history = foresolve.fit(foresolve.MLP(3, 4, seed=0), loss, data, epochs=2)
    >>> bool(loss.layer.calibration)
    True
    """

    keep: float | tuple[float, float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for share in () if self.keep is None else as_shares(self.keep):
            checks.between("keep", share, "(0, 1)")


def as_shares(keep: float | Sequence[float]) -> tuple[float, float]:
    """The shares to keep at first and at last."""
    first, last = keep if isinstance(keep, Sequence) else (keep, keep)
    return first, last


def in_units_of_gains(theta: Tensor, problem: Problem) -> Tensor:
    """What of the gains `(B, n)` of a linear problem is predicted: where it is `parametrized`, the parameters `(B, p)`.

    They are of the size of the coefficients that they move. What is known, or follows a parameter a second time, is no
    spread of the prediction; where all coefficients are known, theirs is the only one.
    """
    maps = None if problem.parameters is None else problem.parameters.moving
    numbers = problem.gain(theta) if maps is None else theta[..., maps.used] * maps.unit
    return numbers.reshape(-1, numbers.shape[-1])

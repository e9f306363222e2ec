"""Targets of baselines, as they are or transformed."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.models.reference import Baseline

Transform = Literal["log", "scale"]
CONSTANT = 1e-12  # a column that spreads less than this share of its size is one number, and rounding


class TargetBaseline(Baseline):
    r"""A baseline that learns from the true parameters: as they are, or transformed.

    With :math:`g` the transform, it fits :math:`g(\theta)`, and :math:`g^{-1}` of what it says is its prediction:

    .. math::
        \text{None:} \; g(\theta) = \theta, \qquad
        \text{"log":} \; g(\theta)_j = \log \theta_j, \qquad
        \text{"scale":} \; g(\theta)_j = \theta_j / s_j

    with :math:`s_j` the standard deviation of output `j` over the rows that it learns from, each counted once, and 1
    where an output is constant. A mean of logarithms is no mean: where :math:`\theta` is lognormal, "log" predicts its
    median, :math:`e^\mu`, not its expectation, :math:`e^{\mu + \sigma^2 / 2}`.

    Parameters
    ----------
    fitted: as in `Baseline`.
    transform: `None`, "log" (all targets must be positive; so are predictions) or "scale" (for outputs of mixed units,
        where their errors are added up).
    """

    unit: Tensor  # (outputs,), with "scale"

    def __init__(self, fitted: dict[str, Any] | None = None, transform: Transform | None = None) -> None:
        self._transform = checked_transform(transform)
        if transform == "scale":
            self._buffers_of_fit = (*self._buffers_of_fit, "unit")
        super().__init__(fitted)

    def config(self) -> dict[str, Any]:
        chosen = {} if self._transform is None else {"transform": self._transform}
        return {**super().config(), **chosen}

    def _targets(self, theta: Tensor) -> Tensor:
        """The targets to fit for parameters `(R, ...)`, float64."""
        if self._transform == "log":
            check_positive(theta)
            return theta.log()
        if self._transform == "scale":
            self.unit = spread(theta)
            return theta / self.unit
        return theta

    def _restored(self, targets: Tensor) -> Tensor:
        """The parameters of predicted targets `(R, ...)`."""
        if self._transform == "log":
            return targets.exp()
        return targets * self.unit if self._transform == "scale" else targets


def checked_transform(transform: Any) -> Transform | None:
    """One of the transforms that there are."""
    return checks.one_of("transform", transform, (None, "log", "scale"))


def check_positive(theta: Tensor) -> None:
    """Refuse parameters that have no logarithm."""
    bad = int((theta <= 0).sum())
    if bad:
        got = f"{bad} of {theta.numel()} numbers that are not, the least {float(theta.min()):g}"
        remedy = 'Leave those instances out, or fit parameters as they are (`transform=None` or "scale")'
        raise checks.fail("theta", 'positive for `transform="log"`', got, remedy)


def spread(theta: Tensor) -> Tensor:
    """The standard deviation of each column of `(R, ...)`; 1 where it is constant."""
    deviation = theta.std(0, correction=0)
    varies = torch.isfinite(deviation) & (deviation > CONSTANT * theta.abs().amax(0))
    return torch.where(varies, deviation, 1.0)

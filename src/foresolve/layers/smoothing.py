"""How strongly a decision is smoothed, and what layers with a smoothing term share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.errors import NoGradientWarning
from foresolve.layers.base import Layer


@dataclass(frozen=True)
class Relative:
    r"""A `gamma` in units of the data, so that rescaling `theta` or `x` leaves the decision as it is.

    .. math:: \gamma = \text{factor} \cdot \frac{\text{spread}(\theta)}{\text{size}(x)}, \quad
        \text{spread}(\theta)^2 = \mathrm{Var}(\theta) + 0.01 \, \mathrm{mean}(\theta^2)

    per instance, with `size` the mean width of the finite boxes; where there are none, or the rows imply the upper
    bounds (matchings), the largest right-hand side over the norm of its row. It is part of the differentiated map:
    gradients are those of the layer as it is called, and finite differences agree with them.
    """

    factor: float = 0.3

    def __post_init__(self) -> None:
        checks.positive("factor", self.factor)

    def __call__(self, theta: Tensor, size: Tensor) -> Tensor:
        """`gamma` for each instance: `theta` `(B, n)`, `size` `(1 or B,)`, result `(B,)`."""
        variance = (theta - theta.mean(-1, keepdim=True)).square().mean(-1)
        square = variance + 0.01 * theta.square().mean(-1)
        flat = square <= 0  # theta = 0: any gamma gives the same decision
        spread = torch.where(flat, 1.0, square).sqrt()
        return self.factor * spread / size


class SmoothedLayer(Layer):
    """A layer that maximises an objective less `gamma |x|^2`."""

    def __init__(self, gamma: float | Tensor | Relative) -> None:
        super().__init__()
        self.gamma = gamma
        self._warned = False

    @property
    def gamma(self) -> float | Tensor | Relative:
        """The smoothing."""
        return self._gamma

    @gamma.setter
    def gamma(self, value: float | Tensor | Relative) -> None:
        if isinstance(value, Tensor):
            if not bool((value > 0).all()) or not bool(torch.isfinite(value).all()):
                raise checks.fail("gamma", "finite and > 0", f"minimum {value.min().item()}", _AT_ZERO)
        elif not isinstance(value, Relative):
            value = checks.positive("gamma", value, _AT_ZERO)
        self._gamma = value

    def _smoothing(self, like: Tensor, batch: torch.Size, relative: Callable[[Relative], Tensor]) -> Tensor:
        """`gamma` for each instance, `(1 or B,)`; `relative` works out one that follows the data."""
        if isinstance(self._gamma, Relative):
            return relative(self._gamma)
        if isinstance(self._gamma, Tensor):
            gamma = self._gamma.to(like)
            if gamma.ndim and tuple(gamma.shape) != tuple(batch):
                raise checks.fail("gamma", f"a number or of the batch shape {tuple(batch)}", str(tuple(gamma.shape)))
            return gamma.reshape(-1)
        return torch.tensor([self._gamma], dtype=like.dtype, device=like.device)

    def _warn_of_vertices(self) -> None:
        """Once in a layer's life."""
        if not self._warned:
            self._warned = True
            checks.warn(
                "no coordinate is free in any instance of this batch: every decision sits on a vertex and no gradient "
                "reaches theta. Raise gamma (said once per layer; `layer.solve(...).free` counts the free coordinates)",
                NoGradientWarning,
            )


_AT_ZERO = "At test time use `problem.solve(theta)`, the decision without smoothing"

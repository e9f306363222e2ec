"""What layers with a quadratic term share: the smoothing `gamma` and the warning that nothing moves."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from foresolve import _check
from foresolve.errors import NoGradientWarning
from foresolve.layers.base import Layer
from foresolve.layers.smoothing import Relative


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
                raise _check.fail("gamma", "finite and > 0", f"minimum {value.min().item()}", _AT_ZERO)
        elif not isinstance(value, Relative):
            value = _check.positive("gamma", value, _AT_ZERO)
        self._gamma = value

    def _smoothing(self, like: Tensor, batch: torch.Size, relative: Callable[[Relative], Tensor]) -> Tensor:
        """`gamma` for each instance, `(1 or B,)`; `relative` works out one that follows the data."""
        if isinstance(self._gamma, Relative):
            return relative(self._gamma)
        if isinstance(self._gamma, Tensor):
            gamma = self._gamma.to(like)
            if gamma.ndim and tuple(gamma.shape) != tuple(batch):
                raise _check.fail("gamma", f"a number or of the batch shape {tuple(batch)}", str(tuple(gamma.shape)))
            return gamma.reshape(-1)
        return torch.tensor([self._gamma], dtype=like.dtype, device=like.device)

    def _warn_of_vertices(self) -> None:
        """Once in a layer's life."""
        if not self._warned:
            self._warned = True
            _check.warn(
                "no coordinate is free in any instance of this batch: every decision sits on a vertex and no gradient "
                "reaches theta. Raise gamma (said once per layer; `layer.solve(...).free` counts the free coordinates)",
                NoGradientWarning,
            )


_AT_ZERO = "At test time use `problem.solve(theta)`, the decision without smoothing"

"""What a smoothed linear objective is reduced by, with its derivatives."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from foresolve._base import checks

Regularizer = Callable[[Tensor], Tensor]


class Quadratic:
    """The quadratic regularizer `|x|^2`, with its derivatives."""

    newton = False  # one Newton step is exact

    def value(self, x: Tensor) -> Tensor:
        return x.square().sum(-1)

    def gradient(self, x: Tensor) -> Tensor:
        return 2 * x

    def products(self, x: Tensor, v: Tensor) -> Tensor:
        """`H v` for `v` `(B, K, n)`."""
        return 2 * v


class Given(Quadratic):
    """A user's regularizer, differentiated by autograd."""

    newton = True

    def __init__(self, function: Regularizer) -> None:
        self.function = function

    def value(self, x: Tensor) -> Tensor:
        value = self.function(x)
        if not isinstance(value, Tensor) or value.shape != x.shape[:-1]:
            kind = str(tuple(value.shape)) if isinstance(value, Tensor) else type(value).__name__
            raise checks.fail("regularizer", f"a function that gives {len(x)} numbers for x {tuple(x.shape)}", kind)
        return value

    def gradient(self, x: Tensor) -> Tensor:
        return self._slope(x)[1].detach()

    def products(self, x: Tensor, v: Tensor) -> Tensor:
        leaf, slope = self._slope(x)
        wanted = {"retain_graph": True, "materialize_grads": True}
        return torch.stack([torch.autograd.grad(slope, leaf, column, **wanted)[0] for column in v.unbind(1)], 1)

    def _slope(self, x: Tensor) -> tuple[Tensor, Tensor]:
        with torch.enable_grad():
            leaf = x.detach().requires_grad_()
            return leaf, torch.autograd.grad(self.value(leaf).sum(), leaf, create_graph=True)[0]

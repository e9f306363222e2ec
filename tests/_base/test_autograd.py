"""The typed door to `Function.apply` is `Function.apply`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from foresolve._base.autograd import apply


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return factor * x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return apply(Scaled, grads[0], ctx.factor), None


def test_values_and_gradients_pass_through_any_number_of_times() -> None:
    x = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    y = apply(Scaled, x, 3.0)
    assert y.tolist() == [3.0, -6.0]
    (first,) = torch.autograd.grad((y**2).sum(), x, create_graph=True)
    assert first.tolist() == [18.0, -36.0]
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [18.0, 18.0]

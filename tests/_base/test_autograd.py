"""The typed door to `Function.apply` is `Function.apply`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from foresolve._base.autograd import apply, sliceable


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


class Doubled(torch.autograd.Function):
    """Of numbers alone, as a solver is."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        return torch.from_numpy(2 * x.numpy())

    @staticmethod
    @sliceable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return torch.from_numpy(2 * grads[0].numpy()), None


def test_a_sliceable_backward_answers_batches_of_gradients() -> None:
    x, y = torch.ones(3, requires_grad=True), torch.zeros(3)
    out, weights = Doubled.apply(x, y), torch.eye(3)
    (batch,) = torch.autograd.grad(out, x, weights, is_grads_batched=True, retain_graph=True)
    assert torch.equal(batch, 2 * weights)
    several = torch.vmap(lambda g: torch.autograd.grad(out, x, g, retain_graph=True)[0])(weights)
    assert torch.equal(several, 2 * weights)
    nested = torch.vmap(torch.vmap(lambda g: torch.autograd.grad(out, x, g, retain_graph=True)[0]))
    assert torch.equal(nested(torch.stack([weights, -weights])), torch.stack([2 * weights, -2 * weights]))

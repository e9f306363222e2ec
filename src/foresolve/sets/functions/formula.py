"""Extensions with a formula in torch, differentiated by autograd."""

from __future__ import annotations

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.sets.functions.extension import Local, finite_rows, refuse_singular
from foresolve.sets.functions.function import SetFunction


class AutogradLocal(Local):
    """Derivatives of `function.multilinear` by autograd, wherever it is asked: inside of a backward pass too."""

    @torch.enable_grad()
    def __init__(self, function: SetFunction, x: Tensor, theta: Tensor) -> None:
        self._x = x.detach().clone().requires_grad_()
        self._theta = theta.detach().expand(len(x), *theta.shape[1:]).clone().requires_grad_()
        self._value = function.multilinear(self._x, self._theta)
        if self._value.shape != x.shape[:-1]:
            name = f"{type(function).__name__}.multilinear(...)"
            raise checks.fail(name, f"{tuple(x.shape[:-1])} for x {tuple(x.shape)}", str(tuple(self._value.shape)))
        checks.finite(f"{type(function).__name__}.multilinear(...)", self._value)
        self._name = f"{type(function).__name__}.multilinear"
        self._gradient = _grad(self._value.sum(), self._x, create_graph=True)
        self.value, self.gradient = self._value.detach(), self._finite(self._gradient, "`x`").detach()

    def hessian(self, index: Tensor) -> Tensor:
        zero = torch.zeros_like(self.gradient)
        columns = [self.product(zero.scatter(-1, i.unsqueeze(-1), 1.0)) for i in index.unbind(-1)]
        if not columns:
            return self.gradient.new_zeros(*index.shape, 0)
        return torch.stack(columns, -1).gather(-2, index.unsqueeze(-1).expand(*index.shape, index.shape[-1]))

    @torch.enable_grad()
    def product(self, v: Tensor) -> Tensor:
        return self._finite(_grad((self._gradient * v).sum(), self._x), "`x`")

    @torch.enable_grad()
    def cross(self, v: Tensor) -> Tensor:
        return self._finite(_grad((self._gradient * v).sum(), self._theta), "`theta`")

    @torch.enable_grad()
    def slope(self) -> Tensor:
        return self._finite(_grad(self._value.sum(), self._theta), "`theta`")

    def _finite(self, gradient: Tensor, by: str) -> Tensor:
        refuse_singular(~finite_rows(gradient), self._name, by)
        return gradient


def _grad(scalar: Tensor, by: Tensor, *, create_graph: bool = False) -> Tensor:
    """The derivative, zero where there is no dependence (a modular function's Hessian, for example)."""
    if not scalar.requires_grad:
        return torch.zeros_like(by)
    (gradient,) = torch.autograd.grad(scalar, by, retain_graph=True, create_graph=create_graph, allow_unused=True)
    return torch.zeros_like(by) if gradient is None else gradient

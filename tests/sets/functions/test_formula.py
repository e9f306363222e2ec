"""Derivatives by autograd are those of the closed form, and finite or refused."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from foresolve.errors import SolverError
from foresolve.sets import ProbabilisticCoverage, SetFunction
from foresolve.sets.functions.formula import AutogradLocal
from mistakes import mistake
from submodular_instances import draw_theta


class Formula(SetFunction):
    theta_dims = 2

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return (1 - (1 - mask[..., None] * theta).prod(-2)).sum(-1)

    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        return self.value(x, theta)


X = torch.tensor([[0.2, 0.5, 0.9, 0.0, 1.0], [1.0, 0.1, 1.0, 0.8, 0.4]], dtype=torch.float64)
V = torch.linspace(-1, 1, 5, dtype=torch.float64).expand(2, -1)
ALL = torch.arange(5).expand(2, -1)


@pytest.mark.parametrize("certain", [False, True])
def test_autograd_through_a_formula_is_the_closed_form(certain: bool) -> None:
    theta = draw_theta((2,), 5, 3, 0)
    if certain:  # x theta = 1, for one item and for two
        theta[:, 0, 0] = theta[:, 2, 0] = theta[:, 0, 1] = 1.0
    local, exact = AutogradLocal(Formula(), X, theta), ProbabilisticCoverage().local(X, theta)
    torch.testing.assert_close(local.value, exact.value)
    torch.testing.assert_close(local.gradient, exact.gradient)
    torch.testing.assert_close(local.hessian(ALL), exact.hessian(ALL))
    torch.testing.assert_close(local.product(V), exact.product(V))
    torch.testing.assert_close(local.cross(V), exact.cross(V))
    torch.testing.assert_close(local.slope(), exact.slope())


def test_derivatives_that_are_not_finite_are_refused() -> None:
    class Rooted(SetFunction):
        def value(self, mask: Tensor, theta: Tensor) -> Tensor:
            return (mask * theta.sqrt()).sum(-1)

        def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
            return self.value(x, theta)

    theta = torch.ones(2, 5, dtype=torch.float64)
    theta[1, 0] = 0.0
    local = AutogradLocal(Rooted(), X, theta)
    for derivative in (local.slope, lambda: local.cross(V)):
        with mistake("", "Rooted.multilinear", "`theta`", kind=SolverError, instances=[1]):
            derivative()

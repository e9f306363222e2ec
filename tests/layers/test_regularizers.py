from __future__ import annotations

import pytest
import torch
from torch import Tensor

from foresolve.layers.regularizers import Given, Quadratic
from mistakes import mistake

X = torch.tensor([[0.2, 0.5, 1.0], [0.9, 0.1, 0.4]], dtype=torch.float64)
V = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def entropy(x: Tensor) -> Tensor:
    return ((x + 0.1) * (x + 0.1).log()).sum(-1)


def test_the_quadratic_one_and_the_same_as_a_function_agree() -> None:
    quadratic, function = Quadratic(), Given(lambda x: x.square().sum(-1))
    torch.testing.assert_close(function.value(X), quadratic.value(X))
    torch.testing.assert_close(function.gradient(X), quadratic.gradient(X))
    torch.testing.assert_close(function.products(X, V), quadratic.products(X, V))


def test_derivatives_of_a_function() -> None:
    regularizer = Given(entropy)
    torch.testing.assert_close(regularizer.gradient(X), (X + 0.1).log() + 1)
    torch.testing.assert_close(regularizer.products(X, V), V / (X + 0.1)[:, None])
    with torch.no_grad():  # solvers ask without a graph
        torch.testing.assert_close(regularizer.gradient(X), (X + 0.1).log() + 1)
    assert not regularizer.gradient(X.clone().requires_grad_()).requires_grad


def test_a_linear_function_has_no_curvature() -> None:
    assert bool((Given(lambda x: x.square().sum(-1) * 0 + x.sum(-1)).products(X, V) == 0).all())


@pytest.mark.parametrize("function", [lambda x: x, lambda x: x.sum(), lambda x: 1.0])
def test_one_number_for_each_instance(function) -> None:
    with mistake("regularizer", "(2, 3)"):
        Given(function).value(X)

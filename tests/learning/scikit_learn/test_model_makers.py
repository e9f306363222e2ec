from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from foresolve.learning.scikit_learn.model_makers import made_model
from foresolve.models import MLP, LinearRegression, ScikitLearn
from learning.instances import same
from mistakes import mistake


class Sized(nn.Linear):
    """A network that wants to know its sizes."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__(inputs, outputs, bias)


class Fixed(nn.Linear):
    """A network that knows its sizes, with options that are none."""

    def __init__(self, hidden: int = 64, depth: int = 2) -> None:
        super().__init__(3, 5)
        self.hidden, self.depth = hidden, depth


@pytest.mark.parametrize(
    "model",
    [Sized, Fixed, MLP, nn.Linear, lambda a, b: nn.Linear(a, b), lambda: nn.Linear(3, 5), lambda *sizes: Sized(*sizes)],
    ids=["sized", "fixed", "MLP", "torch", "two", "none", "any"],
)
def test_a_class_or_function_makes_it_and_the_seed_its_weights(model: Any) -> None:
    before = torch.get_rng_state()
    first, again, other = (made_model(model, 3, (5,), seed) for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    assert first(torch.zeros(2, 3)).shape == (2, 5)
    assert same(first, again)
    assert not same(first, other)


def test_options_are_never_taken_for_sizes() -> None:
    model: Any = made_model(Fixed, 3, (5,), 0)
    assert (model.hidden, model.depth) == (64, 2)


@pytest.mark.parametrize("model", [nn.Linear(3, 5), LinearRegression()])
def test_of_a_module_a_copy_is_made(model: nn.Module) -> None:
    made = made_model(model, 3, (5,), 0)
    assert made is not model
    assert same(made, model)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(1.0)
    assert same(made, model) == (not list(model.parameters()))


def test_a_regressor_is_a_baseline() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    for model in (linear.Ridge(alpha=3.0), lambda: linear.Ridge(alpha=3.0)):
        made = made_model(model, 3, (5,), 0)
        assert isinstance(made, ScikitLearn)
        assert made.estimator.alpha == 3.0
    assert isinstance(made_model(linear.Ridge, 3, (5,), 0), ScikitLearn)


class Three(nn.Module):
    """A network with one argument too many."""

    def __init__(self, inputs: int, outputs: int, width: int) -> None:
        super().__init__()

    def forward(self, features: Tensor) -> Tensor:
        return features


@pytest.mark.parametrize(
    ("model", "facts"),
    [
        ("mlp", ["`(n_features, n_outputs)`", "'mlp'"]),
        (3, ["got int"]),
        (Three, ["inputs, outputs, width", "`lambda n_features, n_outputs: Three("]),
        (lambda inputs: nn.Linear(inputs, 5), ["<lambda>", "inputs"]),
        (lambda inputs, *, outputs: nn.Linear(inputs, outputs), ["<lambda>", "inputs, outputs"]),
        (lambda: 5, ["makes int"]),
    ],
)
def test_what_makes_no_model(model: Any, facts: list[str]) -> None:
    with mistake("model", *facts):
        made_model(model, 3, (5,), 0)


def test_what_a_class_makes_is_put_into_the_shape_of_the_parameters() -> None:
    """It is told their number; parameters of two dimensions are what a loss wants."""
    makers: list[Any] = [
        nn.Linear,
        lambda inputs, outputs: nn.Sequential(nn.Linear(inputs, outputs), nn.Unflatten(1, (4, 3))),
    ]
    for maker in makers:
        assert made_model(maker, 2, (4, 3), 0)(torch.zeros(5, 2)).shape == (5, 4, 3)
    assert isinstance(made_model(lambda inputs, outputs: LinearRegression(), 2, (4, 3), 0), LinearRegression)


def test_a_class_that_takes_any_arguments_but_these() -> None:
    with mistake("model", "Sequential", "(3, 5)"):
        made_model(nn.Sequential, 3, (5,), 0)

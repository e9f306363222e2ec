"""A new model for each fit: from a module, a class, a function or an estimator."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from foresolve._base import checks
from foresolve._base.randomness import begin_epoch, own_randomness
from foresolve._base.signatures import accepts, needed, takes_any
from foresolve.learning.prediction import is_estimator
from foresolve.models.reference import Baseline
from foresolve.models.scikit_learn import ScikitLearn

_EXPECTED = "a module, a regressor, or a class or function that makes one from `(n_features, n_outputs)` or nothing"


def made_model(model: Any, inputs: int, shape: tuple[int, ...], seed: int) -> nn.Module:
    """A model that shares nothing with others.

    Parameters
    ----------
    model: a module (or baseline), of which a copy is made, with the weights that it has; a regressor of scikit-learn,
        which becomes a baseline; a class or function that makes one of these. It is called with `inputs` and `outputs`
        if it must have two arguments, and without any if it need not have one.
    shape: of one instance's parameters. Their number is passed to a class or function; what a network made so
        gives is put into their shape.
    seed: of the global generators for the time of the call, so that the weights depend on it alone.
    """
    if isinstance(model, nn.Module):
        return copy.deepcopy(model)
    if is_estimator(model):
        return ScikitLearn(model)
    if not callable(model):
        raise checks.fail("model", _EXPECTED, repr(model) if isinstance(model, str) else type(model).__name__)
    arguments = (inputs, math.prod(shape)) if _takes_sizes(model) else ()
    cpu = torch.device("cpu")
    with own_randomness(cpu):
        begin_epoch(cpu, seed)
        try:
            made = model(*arguments)
        except TypeError as error:
            if needed(model):
                raise
            # It takes any arguments (`nn.Sequential`), or does not say which; these it did not.
            raise checks.fail("model", _EXPECTED, f"{_name(model)}, called with {arguments}: {error}") from error
    if is_estimator(made):
        return ScikitLearn(made)
    if not isinstance(made, nn.Module):
        raise checks.fail("model", _EXPECTED, f"one that makes {type(made).__name__}")
    if len(shape) < 2 or not arguments or isinstance(made, Baseline):
        return made
    return nn.Sequential(made, nn.Flatten(1), nn.Unflatten(1, shape))


def _takes_sizes(make: Callable[..., Any]) -> bool:
    """Whether it must be given two arguments, or any number; an error where it can be called neither so nor without."""
    names = needed(make)
    if not names:
        return names is None or takes_any(make)
    if len(names) == 2 and accepts(make, 1, 1):
        return True
    remedy = f"Wrap it: `lambda n_features, n_outputs: {_name(make)}(...)`"
    raise checks.fail("model", _EXPECTED, f"{_name(make)}, which needs {', '.join(names)}", remedy)


def _name(make: Callable[..., Any]) -> str:
    return make.__name__ if hasattr(make, "__name__") else type(make).__name__

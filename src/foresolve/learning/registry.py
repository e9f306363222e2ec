"""Models and problems that a file may name: these and no others."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch

from foresolve import problems
from foresolve._base import configs
from foresolve.errors import ForesolveError
from foresolve.models.baselines import ConstantMean, LinearRegression, NearestNeighbors
from foresolve.models.boosting import BoostedTrees
from foresolve.models.correction import Correction
from foresolve.models.forest import RandomForest
from foresolve.models.last_value import LastValue
from foresolve.models.mlp import MLP
from foresolve.models.pairs import BilinearPairs, PairModel
from foresolve.models.reference import Reference
from foresolve.models.scikit_learn import ScikitLearn
from foresolve.models.similarity import CosinePairs
from foresolve.models.standardized import Standardized
from foresolve.problems.base import Problem

REFERENCE: dict[str, type[Reference]] = {
    kind.__name__: kind
    for kind in (
        *(MLP, PairModel, BilinearPairs, CosinePairs, Standardized, Correction),
        *(ConstantMean, LinearRegression, NearestNeighbors, RandomForest, BoostedTrees, LastValue),
    )
}

PROBLEMS: dict[str, type[Problem]] = configs.exported(problems, Problem)


def describe_problem(problem: Problem) -> configs.Config:
    """`{"class": ..., ...}` with numbers, strings, lists and tensors; an error for what cannot be written so."""
    return configs.describe(problem, PROBLEMS)


def restore_problem(config: Any) -> Problem:
    """The problem that `describe_problem` described; an error for anything else."""
    return configs.restore(config, PROBLEMS, "problems")


def describe_model(model: Any) -> configs.Config | None:
    """The settings of a reference model, with `{"class": ..., "config": ...}` for each module that it wraps.

    `None` for what a file cannot name: any other module, and a model around one.
    """
    if REFERENCE.get(type(model).__name__) is not type(model):
        return None
    config = model.config()
    for part in model.wraps:
        module = getattr(model, part)
        described = module._fitted if type(module) is ScikitLearn else describe_model(module)
        if described is None:
            return None
        config[part] = {"class": type(module).__name__, "config": described}
    return config


def build(
    name: str,
    config: dict[str, Any],
    *,
    device: torch.device | str | None = None,
    estimator: Callable[[Any], ScikitLearn] | None = None,
) -> Reference:
    """A reference model by name, with arguments as `model.config()` gave them.

    What wraps a regressor of scikit-learn gets it from `estimator`, a function of what the file says of it. On the
    device "meta" nothing is allocated: that is how a file's claims are checked before they are believed.

    Examples
    --------
    >>> from foresolve.models import MLP
    >>> build("MLP", MLP(5, 40).config()).config()
    {'inputs': 5, 'outputs': 40, 'hidden': [], 'head': 'free'}
    """
    if not isinstance(name, str) or name not in REFERENCE:
        raise ForesolveError(f"{str(name)[:60]!r} is none of the reference models ({', '.join(REFERENCE)})")
    try:
        with contextlib.nullcontext() if device is None else torch.device(device):
            parts = {part: _part(config[part], estimator) for part in REFERENCE[name].wraps}
            return REFERENCE[name](**{**config, **parts})
    except (
        KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError, OverflowError, MemoryError,
    ) as error:  # fmt: skip
        raise ForesolveError(f"the settings of {name} do not make a model: {error}") from error


def _part(section: Any, estimator: Callable[[Any], ScikitLearn] | None) -> Reference:
    """A module that another one wraps."""
    if section["class"] == ScikitLearn.__name__ and estimator is not None:
        return estimator(section["config"])
    return build(section["class"], section["config"], estimator=estimator)

"""From features to predicted parameters, whatever the model is."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from foresolve._base import checks
from foresolve.data.inputs import first_table
from foresolve.learning.distributed import unwrap
from foresolve.learning.features import as_input
from foresolve.learning.transformed import decision_model
from foresolve.models.scikit_learn import ScikitLearn

Model = Callable[[Any], Tensor]
_PRODUCT = re.compile(r"mat1 and mat2 shapes cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)")


def is_estimator(model: Any) -> bool:
    """Whether it predicts as scikit-learn's estimators do, and cannot be called."""
    return not callable(model) and hasattr(model, "predict")


def as_model(model: Any) -> Any:
    """What can be called on features: modules and functions as they are, a fitted estimator as a `ScikitLearn`.

    Of a fitted `DecisionEstimator`, and of a pipeline that ends with one, the trained module; of a search, the best.
    """
    expected = "callable on features, or a fitted estimator"
    if isinstance(model, type):
        remedy = f"Did you mean an instance, `{model.__name__}(...)`?"
        raise checks.fail("model", expected, f"the class {model.__name__}", remedy)
    if isinstance(model, nn.Module):
        return unwrap(model)
    if callable(model):
        return model
    if not is_estimator(model):
        raise checks.fail("model", expected, type(model).__name__)
    model = getattr(model, "best_estimator_", model)  # what a search predicts with
    module = decision_model(model)
    return ScikitLearn.trained(model) if module is None else module


@contextlib.contextmanager
def inference(model: Any) -> Iterator[None]:
    """No gradients, and modules in evaluation mode, each put back as it was."""
    modes = {module: module.training for module in model.modules()} if isinstance(model, nn.Module) else {}
    try:
        if isinstance(model, nn.Module):
            model.eval()
        with torch.no_grad():
            yield
    finally:
        for module, training in modes.items():
            module.training = training


def predict(model: Model, features: Any) -> Tensor:
    """`model(features)` as a tensor; what a function gives may be an array or a frame too."""
    given = as_input(model, features)
    try:
        theta_hat = model(given)
    except RuntimeError as error:
        _check_width(model, given, error)
        raise
    if isinstance(theta_hat, Tensor):
        return theta_hat
    if not isinstance(theta_hat, np.ndarray) and not hasattr(theta_hat, "to_numpy"):
        raise checks.fail("model(features)", "a tensor or an array", type(theta_hat).__name__)
    return checks.as_tensor("model(features)", theta_hat)


def _check_width(model: Any, features: Any, error: RuntimeError) -> None:
    """Name the width of features where it is what torch stumbled over ("mat1 and mat2 shapes cannot be multiplied")."""
    table, sizes = first_table(features), _PRODUCT.search(str(error))
    if sizes is None or not isinstance(model, nn.Module) or not isinstance(table, Tensor) or table.ndim == 0:
        return
    linear = next((module for module in model.modules() if isinstance(module, nn.Linear)), None)
    if linear is not None and [table.shape[-1], linear.in_features] == [int(size) for size in sizes.groups()]:
        expected = f"(*batch, {linear.in_features}), as the first linear layer of {type(model).__name__} takes them"
        raise checks.fail("features", expected, str(tuple(table.shape))) from error

"""From features to predicted parameters, whatever the model is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from foresolve._base import checks
from foresolve.data.inputs import map_tables

Model = Callable[[Any], Tensor]


def as_input(model: Any, features: Any) -> Any:
    """Floating features in the dtype and on the device of the model's first parameter; others only moved."""
    if not isinstance(model, nn.Module):
        return features
    first = next(model.parameters(), None)
    if first is None:
        first = next(model.buffers(), None)
        return features if first is None else map_tables(lambda part: _moved(part, first.device, None), features)
    dtype = first.dtype if first.is_floating_point() else None
    return map_tables(lambda part: _moved(part, first.device, dtype), features)


def _moved(part: Any, device: torch.device, dtype: torch.dtype | None) -> Any:
    if not isinstance(part, Tensor):
        return part
    return part.to(device, dtype if part.is_floating_point() else None)


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
    """`model(features)`, which must be a tensor."""
    theta_hat = model(as_input(model, features))
    if not isinstance(theta_hat, Tensor):
        raise checks.fail("model(features)", "a tensor", type(theta_hat).__name__)
    return theta_hat

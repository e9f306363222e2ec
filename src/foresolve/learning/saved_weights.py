"""Weights from a file, put into a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from foresolve._base import reading
from foresolve.errors import FileError
from foresolve.models.open_scaling import make_room


def fill(model: nn.Module, state: Any, name: str, path: Path, assign: bool) -> None:
    """The saved weights, if they are of the same names and shapes; in a model on "meta" they take their places."""

    def shapes(state: Any) -> dict[str, Any]:
        return {key: tuple(value.shape) for key, value in state.items() if isinstance(value, Tensor)}

    make_room(model, state)
    expected, saved = shapes(model.state_dict()), shapes(state)
    for key in [*expected, *saved]:
        if expected.get(key) != saved.get(key):
            sizes = f"{key} is {saved.get(key, 'missing')} in the file, {expected.get(key, 'missing')} in the model"
            raise FileError(path, f"holds the weights of another model ({name}): {sizes}")
    _check_kinds(model, state, path)
    if not assign:  # a model of the caller's stays where it is, and gets the saved precision
        for key, tensor in [*model.named_parameters(), *model.named_buffers()]:
            if key in state:
                tensor.data = tensor.data.to(state[key].dtype)
    try:
        model.load_state_dict(state, assign=assign)
        if hasattr(model, "validate"):
            model.validate()  # type: ignore[operator]
    except (RuntimeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileError(path, f"does not hold the weights of a {name}: {reading.one_line(error)}") from error


def _check_kinds(model: nn.Module, state: Any, path: Path) -> None:
    """Refuse tables of another kind of numbers than the model has, and parameters of several precisions."""

    def kind(tensor: Tensor) -> str:
        if tensor.is_floating_point():
            return "fractions"
        return "truth values" if tensor.dtype == torch.bool else "integers"

    for name, expected in model.state_dict().items():
        if isinstance(expected, Tensor) and kind(state[name]) != kind(expected):
            raise FileError(path, f"is damaged: {name} holds {kind(state[name])}, not {kind(expected)}")
    precisions = {str(state[name].dtype) for name, _ in model.named_parameters() if name in state}
    current = {str(parameter.dtype) for parameter in model.parameters()}
    if len(precisions) > max(1, len(current)):
        names = ", ".join(sorted(precisions))
        raise FileError(path, f"is damaged: its weights are of several precisions ({names})")

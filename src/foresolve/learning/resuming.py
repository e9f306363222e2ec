"""States that come from a checkpoint, checked before training continues with them."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from foresolve.errors import ForesolveError


def check_loaded(module: nn.Module, optimizer: torch.optim.Optimizer, best: Any) -> None:
    """Try what was loaded: the optimizer takes a step, on a copy, and the best weights fit the model."""
    for name, tensor in module.state_dict().items():
        if isinstance(tensor, Tensor) and bool(tensor.isnan().any()):
            raise ForesolveError(f"{name} holds numbers that are none")
    if best is not None:
        shapes = {name: getattr(value, "shape", None) for name, value in module.state_dict().items()}
        if {name: getattr(value, "shape", None) for name, value in best.items()} != shapes:
            raise ForesolveError("the best weights are not those of this model")
    tried = copy.deepcopy(optimizer)
    for group in tried.param_groups:
        for parameter in group["params"]:
            parameter.grad = torch.zeros_like(parameter)
    tried.step()


def check_form(saved: Any, fresh: dict[str, Any]) -> None:
    """Refuse a scheduler's state that has other entries than it should: they become its attributes."""
    if not isinstance(saved, dict) or set(saved) != set(fresh):
        raise ForesolveError("the scheduler's state does not have its entries")
    numbers = int | float
    for name, value in fresh.items():
        kind: Any = numbers if isinstance(value, numbers) and not isinstance(value, bool) else type(value)
        if value is not None and not isinstance(saved[name], kind):
            raise ForesolveError(f"the scheduler's `{name}` cannot be {type(saved[name]).__name__}")

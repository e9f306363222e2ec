"""A layer on autograd as the pair of functions that the worker times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor


def as_pair(layer: Callable[[Tensor], Tensor]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def forward(theta: np.ndarray) -> tuple[np.ndarray, Any]:
        leaf = torch.from_numpy(theta).requires_grad_()
        x = layer(leaf)
        return x.detach().numpy(), (leaf, x)

    def backward(state: Any, v: np.ndarray) -> np.ndarray:
        leaf, x = state
        (gradient,) = torch.autograd.grad(x, leaf, torch.from_numpy(v))
        return gradient.numpy()

    return forward, backward

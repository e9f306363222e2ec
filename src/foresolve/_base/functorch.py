"""State of the transforms of `torch.func` that torch keeps to itself: all of it is asked for here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")

_private: Any = torch._C._functorch  # type: ignore[attr-defined]
_module: Any = torch


def active() -> bool:
    """True if the code runs under a transform."""
    return torch._C._are_functorch_transforms_active()


def wrapped(tensor: Tensor) -> bool:
    """True if a transform has handed out the tensor: it has no numbers that NumPy could look at."""
    return _private.is_functorch_wrapped_tensor(tensor)


def batched(tensor: Tensor) -> bool:
    """True if one of the transforms that it was handed through is `vmap`: then its numbers cannot be read at all."""
    while wrapped(tensor):
        if _private.is_batchedtensor(tensor):
            return True
        tensor = _private.get_unwrapped(tensor)
    return False


def tracked(tensor: Tensor) -> bool:
    """True if a transform, or autograd around all of them, differentiates with respect to the tensor."""
    while wrapped(tensor):
        if _private.is_gradtrackingtensor(tensor):
            return True
        tensor = _private.get_unwrapped(tensor)
    return tensor.requires_grad


# -- the `vmap` that `torch.autograd` has of its own, for `vectorize=True` and `is_grads_batched=True` -----------------


def in_old_vmap() -> bool:
    """True inside the `vmap` of `torch.autograd`."""
    level = torch._C._vmapmode_increment_nesting()
    torch._C._vmapmode_decrement_nesting()
    return level > 1


def in_old_batch(tensor: Tensor) -> bool:
    """True for a batch of that `vmap`."""
    return _private.is_legacy_batchedtensor(tensor)


def outside_old_vmap(work: Callable[[Callable[[Tensor], Tensor]], tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    """`work(whole)` on plain tensors: `whole` gives a batch its dimension, the first, which results give back."""
    level = torch._C._vmapmode_decrement_nesting() + 1
    try:
        results = work(lambda tensor: _module._remove_batch_dim(tensor, level, 1, 0))
    finally:
        torch._C._vmapmode_increment_nesting()
    return tuple(_module._add_batch_dim(tensor, 0, level) for tensor in results)

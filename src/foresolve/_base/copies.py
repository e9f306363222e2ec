"""Deep copies of what holds predictions."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Self

from torch import Tensor


class SharesGraph:
    """Base of classes whose deep copies share computed tensors, and so their gradients; all else is copied.

    torch copies only leaves of its graph. A constraint that a model predicts is none: a copy of it would have to be cut
    off, and no gradient would reach the model any more.
    """

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = copy.copy(self)
        memo[id(self)] = twin
        for tensor in _computed(vars(twin), set()):
            memo[id(tensor)] = tensor
        for name, value in list(vars(twin).items()):
            vars(twin)[name] = copy.deepcopy(value, memo)
        return twin


def _computed(value: Any, seen: set[int]) -> Iterator[Tensor]:
    """The tensors in an object of ours that are no leaves."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Tensor):
        if value.grad_fn is not None:
            yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _computed(part, seen)
    elif type(value).__module__.startswith("foresolve.") and hasattr(value, "__dict__"):
        yield from _computed(vars(value), seen)

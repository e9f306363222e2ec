"""`torch.autograd.Function.apply`, which torch leaves without types."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.autograd import Function


def apply(function: type[Function], *arguments: Any) -> Tensor:
    """`function.apply(*arguments)` of a function with one result.

    Example
    -------
    >>> import torch
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x): return 2 * x
    ...     @staticmethod
    ...     def backward(ctx, g): return 2 * g
    >>> apply(Double, torch.tensor([1.0, 2.0]))
    tensor([2., 4.])
    """
    result: Any = function.apply(*arguments)
    return result

"""Heads: the range of the predictions of a model, behind its last layer."""

from __future__ import annotations

from typing import Any, Literal, get_args

from torch import Tensor
from torch.nn import functional

from foresolve._base import checks

Head = Literal["free", "probability", "non_negative", "positive"]


def check_head(head: Any) -> Head:
    """One of the heads, or an error."""
    return checks.one_of("head", head, get_args(Head))


def apply_head(head: Head, theta: Tensor) -> Tensor:
    """Nothing, a sigmoid, a softplus or an exponential."""
    if head == "probability":
        return theta.sigmoid()
    if head == "positive":
        return theta.exp()
    return functional.softplus(theta) if head == "non_negative" else theta

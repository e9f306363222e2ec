"""Every input check, one form of message: the name, what was expected, what was found, what to do."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from foresolve.errors import InvalidInputError

T = TypeVar("T")


def fail(name: str, expected: str, value: str, remedy: str = "") -> InvalidInputError:
    """The error for a bad argument; the caller raises it."""
    message = f"`{name}` must be {expected}; got {value}"
    return InvalidInputError(f"{message}. {remedy}" if remedy else message)


def as_tensor(name: str, value: Any, *, dtype: torch.dtype = torch.float64) -> Tensor:
    """A dense floating tensor of `value`; tensors keep their graph and device, integers and booleans are cast."""
    if isinstance(value, Tensor):
        return value if value.is_floating_point() else value.to(dtype)
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise fail(name, "an array of numbers", type(value).__name__) from error
    return torch.tensor(array, dtype=dtype)


def finite(name: str, value: Tensor, *, allow_infinite: bool = False) -> None:
    """Refuse NaN, and infinities unless they are allowed, naming the first bad entry."""
    if math.isfinite(float(value.detach().sum())):
        return  # the common case in one pass; a sum that overflows is looked at entry by entry
    bad = torch.isnan(value) if allow_infinite else ~torch.isfinite(value)
    if bool(bad.any()):
        raise fail(name, "free of NaN" if allow_infinite else "finite", _first(value, bad))


def unit_interval(name: str, value: Tensor) -> None:
    """Every entry must lie in [0, 1], naming the first that does not."""
    if value.numel() == 0:
        return
    low, high = value.detach().aminmax()  # both NaN where any entry is
    if not (float(low) >= 0 and float(high) <= 1):
        finite(name, value)
        raise fail(
            name, "in [0, 1]", _first(value, (value < 0) | (value > 1)), "Put a sigmoid or a clamp behind the model"
        )


def non_negative(name: str, value: Tensor, remedy: str = "") -> None:
    """Every entry must be finite and >= 0, naming the first that is not."""
    finite(name, value)
    if value.numel() and float(value.detach().amin()) < 0:
        raise fail(name, ">= 0", _first(value, value < 0), remedy)


def _first(value: Tensor, bad: Tensor) -> str:
    """The first bad entry, where it is, and how many there are."""
    where = tuple(int(i) for i in bad.nonzero()[0])
    return f"{value.detach()[where].item():g} at {list(where)} ({int(bad.sum())} such entries)"


def last_dim(name: str, value: Tensor, size: int, what: str = "the problem") -> None:
    """`value` must be `(*batch, size)`."""
    if value.ndim == 0 or value.shape[-1] != size:
        raise fail(name, f"(*batch, {size}) to match {what}", str(tuple(value.shape)))


def last_dims(name: str, value: Tensor, shape: Sequence[int | None], what: str = "the problem") -> None:
    """`value` must be `(*batch, *shape)`; `None` stands for any size."""
    tail = value.shape[value.ndim - len(shape) :]
    if value.ndim >= len(shape) and all(size in (None, actual) for size, actual in zip(shape, tail)):
        return
    sizes = "".join(f", {'...' if size is None else size}" for size in shape)
    raise fail(name, f"(*batch{sizes}) to match {what}", str(tuple(value.shape)))


def same_device(name: str, value: Tensor, device: torch.device) -> None:
    """`value` must live where the problem lives."""
    if value.device != device:
        raise fail(
            name,
            f"on the problem's device ({device})",
            str(value.device),
            f"Move one of them, for example with `problem.to({str(value.device)!r})`",
        )


def broadcast_batch(shapes: Mapping[str, Sequence[int]]) -> torch.Size:
    """The common batch shape of several named arguments."""
    distinct = {tuple(shape) for shape in shapes.values()} - {()}
    if len(distinct) <= 1:
        return torch.Size(next(iter(distinct), ()))
    try:
        return torch.broadcast_shapes(*(tuple(shape) for shape in shapes.values()))
    except RuntimeError as error:
        batches = ", ".join(f"{name} {tuple(shape)}" for name, shape in shapes.items())
        raise InvalidInputError(f"batch shapes must broadcast together; got {batches}") from error


def positive(name: str, value: float, remedy: str = "") -> float:
    """A finite number greater than zero."""
    if not np.isfinite(value) or value <= 0:
        raise fail(name, "a finite number > 0", str(value), remedy)
    return float(value)


def between(name: str, value: Any, interval: str, remedy: str = "") -> float:
    """A number within an interval as it is written: `"[0, 1]"`, `"(0, 1]"`, `"[0, inf)"`; a round bracket excludes.

    >>> between("share", 1, "(0, 1]")
    1.0
    """
    low, high = (float(end) for end in interval[1:-1].split(","))
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    above = number > low if interval[0] == "(" else number >= low
    below = number < high if interval[-1] == ")" else number <= high
    if isinstance(value, bool) or not (above and below):
        raise fail(name, f"in {interval}", str(value), remedy)
    return number


def one_of(name: str, value: T, options: Iterable[T], remedy: str = "") -> T:
    """One of several values."""
    options = list(options)
    if value not in options:
        raise fail(name, f"one of {', '.join(map(repr, options))}", repr(value), remedy)
    return value


def positive_int(name: str, value: Any, *, zero: bool = False) -> int:
    """An integer >= 1 (or >= 0)."""
    least = 0 if zero else 1
    try:
        sound = not isinstance(value, bool) and int(value) == value and value >= least
    except (TypeError, ValueError, OverflowError):
        sound = False
    if not sound:
        raise fail(name, f"an integer >= {least}", repr(value))
    return int(value)


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the caller's own line: the first frame outside this package and torch."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in {"foresolve", "torch"}:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def instance_names(flat: Sequence[int], batch: Sequence[int], most: int = 5) -> str:
    """Human-readable positions of flattened instances: `instance 3`, `instances (0, 1), (2, 0) and 4 more`."""
    if len(batch) == 0:
        return "the instance"
    names = [str(i) if len(batch) == 1 else str(tuple(int(k) for k in np.unravel_index(i, tuple(batch)))) for i in flat]
    shown = ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
    return f"instance{'s' if len(names) > 1 else ''} {shown}"

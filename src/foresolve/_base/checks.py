"""Every input check, one form of message: the name, what was expected, what was found, what to do."""

from __future__ import annotations

import difflib
import errno
import math
import os
import sys
import unicodedata
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from foresolve._base import functorch
from foresolve._base.text import some_of
from foresolve.errors import ForesolveError, InvalidInputError, Words

T = TypeVar("T")

# What torch can add and compare; it stores smaller ones only.
FLOATS = frozenset({torch.float16, torch.bfloat16, torch.float32, torch.float64})

# A misspelled name is compared with each of the options: of very many, none is proposed.
MOST_OPTIONS = 10_000


def fail(name: str, expected: Words, got: Words, remedy: Words = "") -> InvalidInputError:
    """The error for a bad argument; the caller raises it."""
    return InvalidInputError(argument=name, expected=expected, got=got, remedy=remedy)


def as_tensor(name: str, value: Any, *, dtype: torch.dtype = torch.float64) -> Tensor:
    """A dense floating tensor of `value`; tensors keep their graph and device, integers and booleans are cast.

    What would lose something on the way (imaginary parts, gradients) or holds no numbers is refused.
    """
    if not isinstance(value, Tensor):
        return torch.tensor(_as_array(name, value), dtype=dtype)
    computable(name, value)
    return value if value.dtype in FLOATS else value.to(dtype)


def computable(name: str, value: Tensor) -> None:
    """Refuse a tensor that is sparse, complex, quantized, of 8-bit floats, or without numbers."""
    if value.layout != torch.strided:
        raise fail(name, "a dense tensor", f"the layout {value.layout}", "Call `.to_dense()` on it")
    if value.device.type == "meta":
        raise fail(name, "a tensor with numbers in it", "one on the device 'meta', which holds none")
    if value.dtype in FLOATS:
        return
    if value.is_complex():
        raise fail(name, "of real numbers", str(value.dtype), "Take its real part, `.real`, or its modulus, `.abs()`")
    if value.is_floating_point() or value.is_quantized:
        expected = "of float16, bfloat16, float32, float64, integers or booleans"
        remedy = "Cast it first, for example with `.float()` (`.dequantize()` where it is quantized)"
        raise fail(name, expected, str(value.dtype), remedy)


def _as_array(name: str, value: Any) -> np.ndarray:
    """The value as an array, float64 unless it is a tensor."""
    if value is None:
        raise fail(name, "an array of numbers", "None")
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "cmM":  # NumPy would drop imaginary parts, and take dates for numbers
            return np.asarray(array, dtype=np.float64)
    except RuntimeError as error:
        raise fail(name, "an array of numbers", f"{error}", "Put tensors together with `torch.stack`") from error
    except (TypeError, ValueError) as error:
        uneven = " whose rows differ in length" if "inhomogeneous" in str(error) else ""
        raise fail(name, "an array of numbers", f"{type(value).__name__}{uneven}") from error
    if array.dtype.kind == "c":
        raise fail(name, "of real numbers", str(array.dtype), "Take its real part or its modulus")
    raise fail(name, "an array of numbers", str(array.dtype), "Turn times into numbers in a unit of your choice")


def finite(name: str, value: Tensor, *, allow_infinite: bool = False) -> None:
    """Refuse NaN, and infinities unless they are allowed, naming the first bad entry."""
    if functorch.batched(value):
        return  # under `torch.vmap` there are no numbers to look at
    if math.isfinite(float(value.detach().sum())):
        return  # the common case in one pass; a sum that overflows is looked at entry by entry
    bad = torch.isnan(value) if allow_infinite else ~torch.isfinite(value)
    if bool(bad.any()):
        raise fail(name, "free of NaN" if allow_infinite else "finite", _first(value, bad))


def unit_interval(name: str, value: Tensor) -> None:
    """Every entry must lie in [0, 1], naming the first that does not."""
    if value.numel() == 0 or functorch.batched(value):
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
    if functorch.batched(value):
        return
    if value.numel() and float(value.detach().amin()) < 0:
        raise fail(name, ">= 0", _first(value, value < 0), remedy)


def _first(value: Tensor, bad: Tensor) -> str:
    """The first bad entry, where it is, and how many there are."""
    where = tuple(int(i) for i in bad.nonzero()[0])
    return f"{value.detach()[where].item():g} at {list(where)} ({int(bad.sum())} such entries)"


def outside_transforms(what: str) -> None:
    """Refuse to make a problem where a transform of `torch.func` hands out tensors without numbers."""
    if functorch.active():
        raise ForesolveError(
            f"{what} is made of numbers, not inside of a transform of `torch.func`",
            remedy="Make it outside; gradients of constraints come from `torch.autograd.grad` or `backward()`",
        )


def has_numbers(value: Any) -> None:
    """Refuse a tensor that a transform of `torch.func` has handed out, where a solver is to work with it."""
    if isinstance(value, Tensor) and functorch.wrapped(value):
        raise ForesolveError(
            "a solver needs numbers, and a transform of `torch.func` hands out none here",
            remedy=(
                "It can transform layers and losses, as functions of predictions and of their own parameters "
                "(`gamma`). For a batch, `problem.solve(theta)` takes (*batch, n); gradients of constraints come "
                "from `backward()`"
            ),
        )


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


def same_device(name: str, value: Tensor, device: torch.device, owner: str = "") -> None:
    """`value` must live where the problem (or the argument `owner`) lives; of the two, the one on the CPU moves."""
    if value.device == device:
        return
    expected = f"on {f'`{owner}`' if owner else 'the problem'}'s device ({device})"
    if value.device.type == "meta":
        raise fail(name, expected, "meta", "A tensor on 'meta' holds no numbers")
    mover, target = (owner or "problem", value.device) if device.type == "cpu" else (name, device)
    raise fail(name, expected, str(value.device), f"Move `{mover}`: `{mover}.to({str(target)!r})`")


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


def _number(value: Any) -> float:
    """One number as a float; NaN for what is none: text, truth values, several numbers, what is to be trained."""
    if isinstance(value, Tensor) and value.requires_grad:
        return math.nan  # as a float it would be a constant, without a word
    try:
        if isinstance(value, Tensor | np.ndarray):
            value = value.item()  # refuses several
        return math.nan if isinstance(value, bool | np.bool_ | str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return math.nan


def _shown(value: Any) -> str:
    """A value in a message: numbers and text as they are, of anything else what it is."""
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, Tensor | np.ndarray):
        if isinstance(value, Tensor) and value.requires_grad:
            return "a tensor that requires grad, which nothing would train here"
        return str(value.item()) if value.ndim == 0 else f"an array of shape {tuple(value.shape)}"
    return str(value) if value is None or np.isscalar(value) else type(value).__name__


def positive(name: str, value: Any, remedy: str = "", *, expected: str = "a finite number > 0") -> float:
    """A finite number greater than zero."""
    number = _number(value)
    if not 0 < number < math.inf:
        raise fail(name, expected, _shown(value), remedy)
    return number


def between(name: str, value: Any, interval: str, remedy: str = "") -> float:
    """A number within an interval as it is written: `"[0, 1]"`, `"(0, 1]"`, `"[0, inf)"`; a round bracket excludes.

    >>> between("share", 1, "(0, 1]")
    1.0
    """
    low, high = (float(end) for end in interval[1:-1].split(","))
    number = _number(value)
    above = number > low if interval[0] == "(" else number >= low
    below = number < high if interval[-1] == ")" else number <= high
    if not (above and below):
        raise fail(name, f"in {interval}", _shown(value), remedy)
    return number


def one_of(name: str, value: T, options: Iterable[T], remedy: str = "") -> T:
    """One of several values."""
    options = list(options)
    if value not in options:
        remedy = remedy or did_you_mean(value, options)
        raise fail(name, f"one of {', '.join(map(repr, options))}", repr(value), remedy)
    return value


def did_you_mean(value: Any, options: Iterable[Any], *, code: bool = False) -> str:
    """A question after the option that a misspelled one is nearest to, whatever its case; nothing where none is near.

    `code` is for names of arguments, which stand in backticks.

    >>> did_you_mean("Wilcoxen", ["wilcoxon", "t"])
    "Did you mean 'wilcoxon'?"
    """
    options = {str(option).lower(): option for option in options}
    near = difflib.get_close_matches(str(value).lower(), options, n=1) if len(options) <= MOST_OPTIONS else []
    if not near:
        return ""
    option = options[near[0]]
    same = unicodedata.normalize("NFKC", str(value)) == unicodedata.normalize("NFKC", str(option))  # they look alike
    return f"Did you mean {f'`{option}`' if code else ascii(option) if same else repr(option)}?"


def path(name: str, value: Any, what: str = "a path") -> Path:
    """A path, given as text or as a `Path`, that the system can look at; whether something is there is left open."""
    if not isinstance(value, str | os.PathLike):
        raise fail(name, f"{what}, as a string or a `Path`", _shown(value))
    if value == "":
        raise fail(name, what, "an empty string", "The current folder is '.'")
    try:
        os.stat(value)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except ValueError as error:
        raise fail(name, what, f"{str(value)!r} ({error})") from error
    except OSError as error:
        if error.errno != errno.ELOOP:  # a link to itself can be replaced
            raise fail(name, f"{what} that can be used", f"{str(value)!r}: {error.strerror}") from error
    return Path(value)


def function(name: str, value: Any, signature: str, remedy: str = "") -> None:
    """Something that can be called; `signature` says how it will be."""
    if not callable(value):
        raise fail(name, f"a function `{signature}`", _shown(value), remedy)


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
    return f"instance{'s' if len(names) > 1 else ''} {some_of(names, most)}"

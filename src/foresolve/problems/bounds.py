"""Bounds of the variables, in every spelling that SciPy's `linprog` and `milp` know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks

SPELLINGS = "a tuple (lower, upper), a list of n (min, max) pairs or scipy.optimize.Bounds"


def split_bounds(bounds: Any) -> tuple[Any, Any]:
    """`(lower, upper)`, each a tensor as it was given or an array: of a number, or of one for each variable.

    As in `linprog`, `None` in place of it all is `(0, inf)`, two numbers (or one pair) hold for every variable, and
    `(n, 2)` is a pair for each of them, in which `None` is no bound. A tuple of two vectors, which `linprog` refuses,
    is `(lower, upper)`; where `n` is 2 and the vectors are written as pairs, it is refused here.
    """
    lower, upper = _sides(bounds)
    return _side("lower", lower, -np.inf), _side("upper", upper, np.inf)


def _sides(bounds: Any) -> tuple[Any, Any]:
    """The two sides as they are written."""
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        return bounds.lb, bounds.ub
    if isinstance(bounds, tuple) and len(bounds) == 2 and not _is_pair_of_pairs(bounds):
        return bounds
    if isinstance(bounds, Tensor):
        table = bounds
    else:
        try:
            table = np.array(list(bounds) if isinstance(bounds, Iterator) else bounds, dtype=object)
        except (ValueError, RuntimeError) as error:
            raise checks.fail("bounds", SPELLINGS, f"{type(bounds).__name__} of uneven pairs ({error})") from error
    if bounds is None or 0 in table.shape:
        return 0.0, np.inf
    if table.shape in {(2,), (2, 1)} and not any(map(np.ndim, table.flatten())):
        return table[0], table[1]
    if table.ndim == 2 and table.shape[1] == 2:
        return table[:, 0], table[:, 1]
    if table.ndim == 0:
        number = isinstance(bounds, int | float) and not isinstance(bounds, bool)
        remedy = f"At most {bounds} is `(0, {bounds})`" if number else ""
        raise checks.fail("bounds", SPELLINGS, f"{bounds!r:.80} ({type(bounds).__name__})", remedy)
    remedy = "Lower and upper in two rows are `(bounds[0], bounds[1])`" if table.ndim == 2 and len(table) == 2 else ""
    raise checks.fail("bounds", SPELLINGS, f"shape {tuple(table.shape)}", remedy)


def _is_pair_of_pairs(bounds: tuple[Any, Any]) -> bool:
    """Whether a tuple of two is a `(min, max)` for each of two variables; an error where it may be both.

    Without `None`, which a vector has no place for, `((0, 1), (0, 5))` means `0 <= x <= (1, 5)` to SciPy and
    `(0, 1) <= x <= (0, 5)` to those who write lower and upper.
    """
    if not all(isinstance(part, list | tuple) and len(part) == 2 and not any(map(np.ndim, part)) for part in bounds):
        return False
    first, second = bounds
    if any(entry is None for entry in (*first, *second)):
        return True
    raise checks.fail(
        "bounds",
        "written so that it has one meaning",
        f"{bounds!r}, to SciPy a (min, max) of each of two variables, by the rule of this class (lower, upper)",
        f"Write the pairs as a list, `[{tuple(first)}, {tuple(second)}]`; lower and upper as arrays, "
        f"`(np.array({list(first)}), np.array({list(second)}))`",
    )


def _side(name: str, values: Any, absent: float) -> Any:
    """A tensor as it is; anything else as an array, with `absent` in place of every `None`."""
    if isinstance(values, Tensor):
        return values
    if isinstance(values, np.ndarray) and values.dtype == object:
        values = [absent if value is None else value for value in values]
    return checks.as_tensor(name, absent if values is None else values).numpy()


def as_bound(name: str, value: Any, n: int, device: torch.device) -> Tensor:
    """A bound as `(*batch, n)`; one number holds for every variable, `None` means no bound."""
    value = (-np.inf if name == "lower" else np.inf) if value is None else value
    tensor = checks.as_tensor(name, value)
    tensor = tensor.to(device) if not isinstance(value, Tensor) else tensor
    if tensor.shape in {(), (1,)}:
        tensor = tensor.expand(n)
    checks.last_dim(name, tensor, n, f"the {n} variables")
    checks.finite(name, tensor, allow_infinite=True)
    impossible = np.inf if name == "lower" else -np.inf
    if bool((tensor == impossible).any()):
        remedy = "No bound is `None`, or infinity of the other sign"
        raise checks.fail(name, f"free of {impossible}", f"{impossible}", remedy)
    return tensor


def ordered(lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
    """Both, if they can be put side by side and none is above the other."""
    checks.broadcast_batch({"lower": lower.shape[:-1], "upper": upper.shape[:-1]})
    if bool((lower > upper).any()):
        where = (lower > upper).nonzero()[0].tolist()
        low, high = (bound[tuple(where)].item() for bound in torch.broadcast_tensors(lower, upper))
        raise checks.fail("bounds", "lower <= upper", f"{low} > {high} at {where}")
    return lower, upper

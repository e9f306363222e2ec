"""From what users have (NumPy, torch, pandas, Arrow) to tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.frames import label_texts
from foresolve.data.precision import warn_of_lost_digits

FRAMES = "`DecisionDataset.from_frames(..., {}=...)` reads such tables"


def as_table(name: str, value: Any, device: torch.device, *, dtype: torch.dtype | None = None) -> Tensor:
    """`value` as a tensor `(N, ...)` of finite numbers.

    Tensors keep dtype and device; everything else (NumPy, pandas, Arrow, lists) gets `dtype`, torch's default one where
    none is given, and goes to `device`.
    """
    if isinstance(value, Tensor):
        checks.computable(name, value)
        table = value.detach()
    else:
        try:
            given = np.asarray(_array(value))
            if given.dtype.kind in "Mmc":  # NumPy would count nanoseconds, and drop imaginary parts
                raise TypeError(f"of {given.dtype}")
            array = np.asarray(given, dtype=np.float64, order="C")  # torch takes none that runs backwards
        except (TypeError, ValueError) as error:
            raise _no_numbers(name, value, error) from error
        table = torch.tensor(array, dtype=dtype or torch.get_default_dtype(), device=device)
        if array.ndim and np.isfinite(array).all():
            warn_of_lost_digits(name, array, table, column_names(value))
    if table.ndim == 0:
        raise checks.fail(name, "(N, ...), an entry for each instance", "a single number")
    if column_names(value) is not None and bool(torch.isnan(table).any()):
        which = [str(c) for c, bad in zip(column_names(value) or (), torch.isnan(table).any(0).tolist()) if bad]
        got = f"{int(torch.isnan(table).sum())} missing entries, in {', '.join(map(repr, which[:5]))}"
        raise checks.fail(name, "a frame without missing entries", got, FRAMES.format("missing"))
    checks.finite(name, table)
    return table


def _no_numbers(name: str, value: Any, error: Exception) -> checks.InvalidInputError:
    """An error that names the first column of a frame that holds no numbers."""
    for title in column_names(value) or ():
        try:
            np.asarray(_array(value[title]), dtype=np.float64)
        except (TypeError, ValueError):
            got = f"{type(value).__name__} whose column {title!r} holds {str(next(iter(value[title])))!r}"
            return checks.fail(name, "a frame of numbers", got, FRAMES.format("encode"))
        except KeyError:  # frames whose columns are found in some other way
            break
    return checks.fail(name, "an array of numbers, (N, ...)", f"{type(value).__name__} ({error})")


def table_for(name: str, value: Any, like: Tensor, device: torch.device, owner: str = "theta") -> Tensor:
    """`value` as a table with an entry for each instance of `like`, which is the argument `owner`."""
    table = as_table(name, value, device)
    if len(table) != len(like):
        raise checks.fail(name, f"as long as `{owner}` ({len(like)} instances)", f"{len(table)}")
    return table


def column_names(table: Any) -> tuple[str, ...] | None:
    """The names of the columns of a frame (pandas, polars) or an Arrow table, as text: numbers are names too.

    `None` of what is no frame, and where columns are only counted, as in a frame of an array.
    """
    labels = _labels(table)
    if not len(labels):
        return None
    if type(labels).__name__ == "RangeIndex" and labels[0] == 0:
        return None
    return label_texts(labels)


def _labels(table: Any) -> Any:
    # Arrow's first: its `columns` are the columns themselves.
    return getattr(table, "column_names", getattr(table, "columns", ()))


def mismatch(given: Sequence[str], names: Sequence[str]) -> str:
    """What columns lack of `names` and have beyond them, in words; empty where they are the same in some order."""
    missing, others = [name for name in names if name not in given], [name for name in given if name not in names]
    parts = ("without", missing), ("with", others), ("with twice", [name for name in given if given.count(name) > 1])
    return " and ".join(f"{word} {', '.join(map(repr, some[:5]))}" for word, some in parts if some)


def by_name(name: str, table: Any, names: Sequence[str] | None, owner: str = "the problem's names") -> Any:
    """A frame with its columns in the order of `names`; as it is where either has no names.

    One with other columns is refused, and they are named.
    """
    given = column_names(table)
    if names is None or given is None or given == tuple(names):
        return table
    found = mismatch(given, names)
    if found:
        expected = f"a frame with a column for each of {owner} ({len(names)})"
        raise checks.fail(name, expected, f"one {found}", "Select and rename its columns, or pass an array")
    if hasattr(table, "column_names"):
        return table.select(list(names))
    labels = dict(zip(given, _labels(table), strict=True))
    return table[[labels[title] for title in names]]


def check_some_weight(name: str, weights: Tensor | None) -> None:
    """Refuse weights that are all zero, as those of a part may be: nothing would count."""
    if weights is not None and not bool((weights > 0).any()):
        raise checks.fail(name, "such that at least one instance has a positive weight", "weights of 0 alone")


def map_tables(function: Callable[[Any], Any], value: Any) -> Any:
    """`function` of every array in a dict or tuple of arrays, or of `value` itself."""
    if isinstance(value, dict):
        return {key: map_tables(function, part) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(map_tables(function, part) for part in value)
    return function(value)


def first_table(value: Any) -> Any:
    """Some array of a dict or tuple of arrays."""
    while isinstance(value, dict | tuple):
        value = next(iter(value.values() if isinstance(value, dict) else value))
    return value


def _array(value: Any) -> Any:
    """As NumPy, by what the object can do: neither pandas nor Arrow is imported here."""
    if hasattr(value, "to_numpy"):  # pandas, polars, and Arrow's arrays
        try:
            array = value.to_numpy(zero_copy_only=False)
        except TypeError:
            array = value.to_numpy()
    elif hasattr(value, "column_names") and hasattr(value, "columns"):  # Arrow's tables
        array = np.stack([_array(column) for column in value.columns], -1)
    else:
        return value
    # A column of lists comes as an array of arrays.
    return np.stack([np.asarray(row) for row in array]) if array.dtype == object and array.ndim == 1 else array

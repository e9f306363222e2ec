"""From what users have (NumPy, torch, pandas, Arrow) to tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks


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
            array = np.asarray(_array(value), dtype=np.float64, order="C")  # torch takes none that runs backwards
        except (TypeError, ValueError) as error:
            raise checks.fail(name, "an array of numbers, (N, ...)", f"{type(value).__name__} ({error})") from error
        table = torch.tensor(array, dtype=dtype or torch.get_default_dtype(), device=device)
    if table.ndim == 0:
        raise checks.fail(name, "(N, ...), an entry for each instance", "a single number")
    checks.finite(name, table)
    return table


def table_for(name: str, value: Any, like: Tensor, device: torch.device, owner: str = "theta") -> Tensor:
    """`value` as a table with an entry for each instance of `like`, which is the argument `owner`."""
    table = as_table(name, value, device)
    if len(table) != len(like):
        raise checks.fail(name, f"as long as `{owner}` ({len(like)} instances)", f"{len(table)}")
    return table


def column_names(table: Any) -> tuple[str, ...] | None:
    """The names of the columns of a frame (pandas, polars) or an Arrow table; `None` unless all are strings."""
    # Arrow's first: its `columns` are the columns themselves.
    names: tuple[Any, ...] = tuple(getattr(table, "column_names", getattr(table, "columns", ())))
    return names if names and all(isinstance(name, str) for name in names) else None


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
    return table.select(list(names)) if hasattr(table, "column_names") else table[list(names)]


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

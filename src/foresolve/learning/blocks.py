"""Blocks of instances that are resampled as one: instances in a row, or of a group."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from torch import Tensor

from foresolve._base import checks
from foresolve._base.bootstrap import Block
from foresolve.data.dataset import DecisionDataset
from foresolve.data.frames.alignment import in_order
from foresolve.errors import InvalidInputError

Blocks = int | Iterable[Any] | None
EXPECTED = "a length >= 1, or a label for each instance"


def as_block(name: str, block: Any, size: int) -> Block:
    """`None` for instances, a length, or the number of its group for each instance, by first appearance.

    >>> as_block("block", ["Mon", "Tue", "Mon"], 3)
    array([0, 1, 0])
    """
    if block is None:
        return None
    if isinstance(block, str | bytes):
        raise checks.fail(name, EXPECTED, repr(block), f'Labels are given themselves: `{name}=frame["week"]`')
    scalar = isinstance(block, Tensor | np.ndarray) and block.ndim == 0
    if isinstance(block, Iterable) and not scalar:
        return _groups(name, block, size)
    try:
        length = checks.positive_int(name, block)
    except InvalidInputError as error:
        raise checks.fail(name, EXPECTED, repr(block)) from error
    if length > size:
        raise checks.fail(name, f"at most as long as the data ({size} instances)", str(length))
    return None if length == 1 else length


def _groups(name: str, labels: Any, size: int) -> np.ndarray:
    labels = labels.detach().cpu().numpy() if isinstance(labels, Tensor) else labels
    array = labels if isinstance(labels, np.ndarray) else np.asarray(labels, dtype=object)
    if array.shape != (size,):
        got = f"{array.shape[0]} labels" if array.ndim == 1 else f"an array of shape {array.shape}"
        got = type(labels).__name__ if array.ndim == 0 else got
        remedy = "Labels of all instances fit a part by its positions: `labels[part.positions]`"
        raise checks.fail(name, f"{EXPECTED}, {size} of them", got, remedy)
    numbers: dict[Hashable, int] = {}
    found = np.empty(size, dtype=np.int64)
    for i, label in enumerate(array):
        if not isinstance(label, Hashable) or _missing(label):
            raise checks.fail(name, EXPECTED, f"{label} at [{i}]", "Give an instance of its own block its own label")
        found[i] = numbers.setdefault(label, len(numbers))
    return found


def _missing(label: Any) -> bool:
    """None, NaN, and the like of pandas and NumPy."""
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas' NA, which is neither equal nor different
        return True


def labels_in_order(block: Any, data: DecisionDataset) -> Any:
    """Labels in the order of the data: with an index by key, otherwise by position, if that is still the caller's."""
    if hasattr(block, "iloc") and data.keys is not None:
        return in_order("block", block, data.keys)
    several = isinstance(block, Iterable) and not isinstance(block, str | bytes)
    if several and data.origin is not None and data.origin.order is not None:
        remedy = "Give a pandas Series with the index of the features, whose rows were put into the order of the index"
        raise checks.fail("block", "labels by key for data that came from frames", type(block).__name__, remedy)
    return block


def same_block(first: Block, second: Block) -> bool:
    """True if the same instances are resampled as one."""
    return type(first) is type(second) and np.array_equal(np.asarray(first), np.asarray(second))


def counted(block: Block, size: int) -> int:
    """The number of blocks, groups or instances that count as independent.

    >>> counted(7, 30), counted(None, 30)
    (4, 30)
    """
    if block is None:
        return size
    return int(block.max()) + 1 if isinstance(block, np.ndarray) else max(1, size // block)


def described(block: Block, size: int) -> str:
    """In words; nothing where instances stand for themselves.

    >>> described(7, 30)
    '4 blocks of 7'
    """
    if block is None:
        return ""
    grouped = isinstance(block, np.ndarray)
    count = int(block.max()) + 1 if grouped else size // block
    return f"{count} {'group' if grouped else 'block'}{'s' * (count != 1)}" + ("" if grouped else f" of {block}")

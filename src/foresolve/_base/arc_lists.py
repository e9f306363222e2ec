"""Arcs as users write them: pairs of node numbers, or of whatever the nodes are called."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import torch

from foresolve._base import checks

PAIRS, SHAPE = "pairs (tail, head) of nodes", "a non-empty (n_arcs, 2) of (tail, head)"
EXACT = 2**53  # integers up to here are the same as floats


class ArcList(NamedTuple):
    """Node numbers `(n_arcs, 2)`; the nodes' names, `None` where they are numbers; the arcs' keys, where they have."""

    pairs: np.ndarray
    nodes: list[Any] | None
    keys: list[Any] | None


def read_arcs(arcs: Any, *, numbered: bool = False) -> ArcList:
    """Pairs `(tail, head)`, or triples `(tail, head, key)`, in the order given: lists, arrays, frames, `zip`.

    Nodes that are exactly the integers 0, 1, ..., n - 1, or any integers if `numbered` says so, are node numbers. Any
    other hashable is a name; names are numbered as they appear, those that are all numbers by size. So integers are in
    the order of their size in any case.

    Examples
    --------
    >>> arcs = read_arcs([("mine", "port"), ("port", "mill"), ("mine", "mill")])
    >>> arcs.pairs.tolist(), arcs.nodes
    ([[0, 1], [1, 2], [0, 2]], ['mine', 'port', 'mill'])
    >>> read_arcs([(9, 4), (4, 7)]).nodes
    [4, 7, 9]
    """
    if isinstance(arcs, torch.Tensor):
        arcs = arcs.detach().cpu().numpy()
    if isinstance(arcs, np.ndarray) and arcs.dtype.kind in "iuf":
        _check_shape("arcs", arcs, SHAPE)
        rows, keys, numbers = arcs, None, arcs
    else:
        rows = _rows(arcs)
        keys, numbers = _keys(rows), _numbers([row[:2] for row in rows])
    if numbers is not None and numbered:
        return ArcList(as_pairs("arcs", numbers, PAIRS, SHAPE), None, keys)
    if numbers is not None:
        known = np.unique(numbers)
        if np.array_equal(known, np.arange(len(known))):
            return ArcList(numbers.astype(np.int64), None, keys)
        if numbers.dtype.kind == "f" and np.array_equal(known, np.round(known)) and np.abs(known).max() < EXACT:
            rows = numbers.astype(np.int64)  # a column of floats that are all whole, as pandas has after missing values
    return _named(rows.tolist() if isinstance(rows, np.ndarray) else rows, keys)


def _rows(arcs: Any) -> list[tuple[Any, ...]]:
    """Each arc as a tuple; `arcs` is a list, an array, a frame, or anything else that can be gone through."""
    if hasattr(arcs, "itertuples"):  # a frame of pandas
        arcs = arcs.itertuples(index=False, name=None)
    try:
        rows = arcs.tolist() if isinstance(arcs, np.ndarray) else list(arcs)
    except TypeError as error:
        raise checks.fail("arcs", PAIRS, type(arcs).__name__) from error
    for i, row in enumerate(rows):
        if not isinstance(row, Sequence | np.ndarray) or isinstance(row, str) or len(row) not in (2, 3):
            remedy = "For example `list(zip(frame['from'], frame['to']))`"
            raise checks.fail("arcs", f"{PAIRS}, or triples with a key", f"{row!r:.80} at arc {i}", remedy)
    if not rows:
        raise checks.fail("arcs", SHAPE, "no arcs")
    return [tuple(row) for row in rows]


def _keys(rows: list[tuple[Any, ...]]) -> list[Any] | None:
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise checks.fail("arcs", "all pairs (tail, head) or all triples (tail, head, key)", "both")
    if widths == {2}:
        return None
    keys = [row[2] for row in rows]
    for i, key in enumerate(keys):
        if isinstance(key, float | np.floating | dict):
            remedy = "Costs of arcs are `theta`"
            raise checks.fail("arcs", f"{PAIRS}, or triples with a key", f"{rows[i]!r:.80} at arc {i}", remedy)
    return keys


def _numbers(pairs: list[tuple[Any, ...]]) -> np.ndarray | None:
    """The pairs as numbers, if all nodes are numbers."""
    try:
        array = np.asarray(pairs)
    except ValueError:  # some nodes are tuples
        return None
    return array if array.ndim == 2 and array.dtype.kind in "iuf" else None


def _named(rows: Sequence[Sequence[Any]], keys: list[Any] | None) -> ArcList:
    numbers: dict[Any, int] = {}
    pairs = np.empty((len(rows), 2), dtype=np.int64)
    for i, row in enumerate(rows):
        for end in (0, 1):
            node = row[end]
            if not isinstance(node, Hashable):
                got = f"{node!r:.80}, a {type(node).__name__}, at arc {i}"
                raise checks.fail("arcs", f"{PAIRS}, which must be hashable", got, "Write lists as tuples")
            if _is_missing(node):
                raise checks.fail("arcs", f"{PAIRS}, none missing", f"{node!r} at arc {i}", "Drop such rows first")
            pairs[i, end] = numbers.setdefault(node, len(numbers))
    nodes = list(numbers)
    if all(isinstance(node, Real) for node in nodes):
        nodes.sort()
        rank = {node: place for place, node in enumerate(nodes)}
        pairs = np.array([rank[node] for node in numbers])[pairs]
    return ArcList(pairs, nodes, keys)


def _is_missing(node: Any) -> bool:
    """`None`, NaN, or what pandas has for them."""
    return node is None or (isinstance(node, float) and node != node) or type(node).__name__ in {"NAType", "NaTType"}


def _check_shape(name: str, array: np.ndarray, shape: str, *, empty: bool = False) -> None:
    if array.ndim != 2 or array.shape[1] != 2 or (len(array) == 0 and not empty):
        raise checks.fail(name, shape, f"shape {array.shape}")


def as_pairs(name: str, value: Any, pairs: str, shape: str, *, empty: bool = False) -> np.ndarray:
    """Pairs of node numbers `(n, 2)`; `pairs` and `shape` are what a message says that they must be."""
    try:
        array = np.asarray(value.cpu() if isinstance(value, torch.Tensor) else value)
        with np.errstate(invalid="ignore"):  # NaN is found below
            numbers = array.astype(np.int64)
    except (TypeError, ValueError) as error:
        raise checks.fail(name, pairs, type(value).__name__) from error
    _check_shape(name, array, shape, empty=empty)
    wrong = ((numbers != array) | (numbers < 0)).any(1)
    if wrong.any():
        bad = int(wrong.argmax())
        pair = f"{array[bad].tolist()} at {name.removesuffix('s')} {bad}"
        raise checks.fail(name, "node numbers 0, 1, 2, ...", pair)
    return numbers

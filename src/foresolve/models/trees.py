"""Regression trees of scikit-learn, kept as tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from foresolve._base import checks
from foresolve._base.randomness import Seed
from foresolve.errors import ForesolveError
from foresolve.models.table import TableBaseline

WALKERS = 2**18  # rows times trees at once: their positions are a few megabytes
FAR = 1e4  # times the range of a column
STILL_WALKING = 0.75  # below this share, those who have arrived are left out
# scikit-learn takes features that differ by less than 1e-7 for equal, and nodes whose variance is below 2e-16 for pure,
# whatever their units. In columns that spread over 2^20 single precision tells no more apart; targets spread over 1.
WIDE = 20


class TreeEnsemble(TableBaseline):
    """Trees as a few tensors: they predict on any device, and a file holds neither pickles nor scikit-learn's objects.

    A subclass grows them in its `fit_table` and hands them to `_take`; `combine` says what becomes of the leaves.
    """

    combine: Literal["mean", "sum"] = "mean"
    # Leaves are numbered after all other nodes: leaf i is node len(left) + i.
    _buffers_of_fit = ("roots", "left", "right", "feature", "threshold", "value")
    roots: Tensor  # (ensembles, trees)
    left: Tensor  # (nodes that are no leaves,), the numbers of their children
    right: Tensor
    feature: Tensor
    threshold: Tensor
    value: Tensor  # (leaves, outputs of an ensemble)

    def _take(
        self, trees: list[Any], leaves: Iterable[np.ndarray], width: int, ensembles: int, units: np.ndarray,
        device: torch.device,
    ) -> None:  # fmt: skip
        """Keep trees of scikit-learn, one ensemble after the other; `leaves` are their outputs, `(L, width)` each.

        `units` `(d,)` are those of the features that they were grown on (`column_units`).
        """
        value, filled = np.empty((sum(tree.n_leaves for tree in trees), width)), 0
        for outputs in leaves:  # no second copy: 200 MB for 500 outputs
            value[filled : filled + len(outputs)] = outputs
            filled += len(outputs)
        nodes: dict[str, np.ndarray] = numbered(trees) | {"value": value}
        nodes["roots"] = nodes["roots"].reshape(ensembles, -1)
        nodes["threshold"] = nodes["threshold"] * units[nodes["feature"]]
        for name, array in nodes.items():
            setattr(self, name, torch.from_numpy(np.ascontiguousarray(array)).to(device))

    def predict_table(self, rows: Tensor) -> Tensor:
        inner, leaves = len(self.left), len(self.value)
        least = int(self.feature.max()) + 1 if inner else 0
        if rows.shape[1] < least:  # a walk would read the next row's numbers
            raise checks.fail("features", f"of at least {least} numbers a row", str(rows.shape[1]))
        # Who has arrived at a leaf stays there, as its own child, until those who walk are separated from the others.
        leaf = torch.arange(inner, inner + leaves, device=self.left.device)
        children = torch.stack([torch.cat([self.right, leaf]), torch.cat([self.left, leaf])], 1).flatten()
        feature, threshold = (nn.functional.pad(column, (0, leaves)) for column in (self.feature, self.threshold))
        ensembles, trees = self.roots.shape
        size = max(1, WALKERS // (ensembles * trees))
        outputs = self.value.new_empty(len(rows), ensembles, self.value.shape[1])
        for part, output in zip(rows.split(size), outputs.split(size), strict=True):
            node = self._walk(part, children, feature, threshold).reshape(-1, trees) - inner
            output.copy_(nn.functional.embedding_bag(node, self.value, mode=self.combine).view_as(output))
        return outputs.flatten(1)

    def _walk(self, rows: Tensor, children: Tensor, feature: Tensor, threshold: Tensor) -> Tensor:
        """The leaf of each row `(R, d)` in each tree, `(R * trees,)`."""
        numbers = rows.float().flatten()  # scikit-learn compares features in single precision
        at = self.roots.flatten().repeat(len(rows))
        node, walking = at.clone(), torch.arange(len(at), device=at.device)
        start = walking // self.roots.numel() * rows.shape[1]  # of a row in `numbers`
        while len(walking):
            goes_left = numbers.take(start + feature.take(at)) <= threshold.take(at)
            at = children.take(2 * at + goes_left)
            going = (at < len(self.left)).nonzero().squeeze(1)
            if len(going) < STILL_WALKING * len(at):
                node[walking] = at
                walking, at, start = walking[going], at[going], start[going]
        return node

    def validate(self) -> None:
        inner, leaves = len(self.left), len(self.value)
        node = torch.arange(inner, device=self.left.device)
        sound = (
            self.roots.ndim == 2
            and self.roots.numel() > 0
            and all(len(column) == inner for column in (self.right, self.feature, self.threshold))
            and bool(((self.roots >= 0) & (self.roots < inner + leaves)).all())
            and all(bool(((side > node) & (side < inner + leaves)).all()) for side in (self.left, self.right))
            and bool((self.feature >= 0).all())
        )  # children come after their parents: no walk goes round in circles
        if not sound:
            raise ForesolveError(f"the nodes of {type(self).__name__} do not make trees")


def column_units(rows: Tensor) -> np.ndarray:
    """Powers of two `(d,)`, in which columns spread over at least 2^20; 1 for those that do, and for constant ones."""
    numbers = rows.detach().float().cpu().numpy()
    spread = np.ptp(numbers, 0) if len(numbers) else np.zeros(numbers.shape[1])
    units = np.ldexp(1.0, np.minimum(np.frexp(spread)[1] - 1 - WIDE, 0))
    return np.where(spread > 0, units, 1.0)


def in_units(rows: Tensor, units: np.ndarray) -> np.ndarray:
    """Features in single precision, as scikit-learn grows and walks trees; units round nothing."""
    with np.errstate(over="ignore"):
        numbers = np.ldexp(rows.detach().float().cpu().numpy(), 1 - np.frexp(units)[1])
    largest = np.finfo(np.float32).max
    return np.clip(numbers, -largest, largest, out=numbers)


def target_unit(targets: np.ndarray) -> float:
    """The power of two next to the largest standard deviation of columns `(R, o)`; 1 where all are constant."""
    size = float(np.abs(targets - targets.mean(0)).max(initial=0.0))
    if not 0 < size < np.inf:
        return 1.0
    spread = float((targets / size).std(0).max())
    return float(np.ldexp(1.0, int(np.frexp(spread * size)[1]) - 1))


def far_centers(targets: np.ndarray) -> np.ndarray:
    """A number of each column that is far from 0 beside its range, 0 of others: of squares only rounding would be left.

    >>> far_centers(np.array([[1e9, 0.5], [1e9 + 2.0, 1.5]]))
    array([1.e+09, 0.e+00])
    """
    return np.where(np.abs(targets[0]) > FAR * np.ptp(targets, axis=0), targets[0], 0.0)


def numbered(trees: list[Any]) -> dict[str, np.ndarray]:
    """Roots of trees of scikit-learn, and the children, features and thresholds of nodes that are no leaves."""

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(tree, name) for tree in trees])

    sizes = [tree.node_count for tree in trees]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    offset, leaf = np.repeat(starts, sizes), joined("children_left") < 0
    inner = ~leaf
    number = np.where(leaf, inner.sum() + np.cumsum(leaf), np.cumsum(inner)) - 1
    return {
        "roots": number[starts],
        "left": number[(joined("children_left") + offset)[inner]],
        "right": number[(joined("children_right") + offset)[inner]],
        "feature": joined("feature")[inner].astype(np.int64),
        "threshold": joined("threshold")[inner],
    }


def leaf_values(tree: Any) -> np.ndarray:
    """The outputs of the leaves of a tree of scikit-learn, in order, `(L, o)`."""
    return tree.value[tree.children_left < 0, :, 0]


def seed_number(seed: Seed | None) -> int:
    """A seed for scikit-learn and for JSON: an integer as itself, or one that is drawn."""
    if seed is not None and not isinstance(seed, torch.Generator):
        return checks.positive_int("seed", seed, zero=True)
    device = "cpu" if seed is None else seed.device
    return int(torch.randint(2**31 - 1, (), generator=seed, device=device))

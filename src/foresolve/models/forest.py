"""Random forests, grown by scikit-learn and kept as tensors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from foresolve._base import checks
from foresolve._base.extras import need
from foresolve._base.randomness import Seed
from foresolve.errors import ForesolveError
from foresolve.models.cross_validation import leaf_sizes, out_of_bag_error
from foresolve.models.table import TableBaseline
from foresolve.models.targets import Transform

WALKERS = 2**18  # rows times trees at once: their positions are a few megabytes
STILL_WALKING = 0.75  # below this share, those who have arrived are left out


class RandomForest(TableBaseline):
    r"""A random forest of scikit-learn's `RandomForestRegressor`.

    Once grown it is a few tensors: it predicts on any device, and a saved policy holds neither pickles nor anything
    that needs scikit-learn.

    Parameters
    ----------
    trees: the number of trees.
    multi_output: one forest for all outputs of a row, or one for each of them.
    max_rows: the most rows to grow from, drawn at random; a table of pairs can be large.
    projections: a number of random combinations of a forest's outputs to grow on, where it has more outputs than that;
        its leaves hold the means of the outputs themselves. What a split costs grows with the number of outputs;
        combinations keep the squared distances between rows, up to chance (Joly, Geurts and Wehenkel, 2014). By
        default it grows on the outputs.
    seed: `random_state` of the forests; a `torch.Generator`, or torch's global one for `None`, draws that number.
    options: further arguments of `RandomForestRegressor`, for example `{"max_depth": 5}`.
    leaf: the least rows of a leaf (`min_samples_leaf`), or "cv": of 1, 2, 3, 5, 10, 20 and 50, up to half of all rows,
        the one with the least squared error over all outputs (their combinations with `projections`) out of bag, where
        each row is predicted by the trees that were not grown on it. It grows a forest for each, and holds two at a
        time. Where an instance has several rows (items, pairs), trees may have seen others of it. `model.chosen` is the
        `leaf` that it was.
    transform: "log" grows on :math:`\log \theta` and predicts :math:`\exp` of the mean of trees: of a lognormal the
        median, which is less than its mean. "scale" divides each output by its standard deviation: a forest of several
        outputs splits by the sum of their variances, where those of large units drown the others.
    """

    # Leaves are numbered after all other nodes: leaf i is node len(left) + i.
    _buffers_of_fit = ("roots", "left", "right", "feature", "threshold", "value")
    roots: Tensor  # (forests, trees)
    left: Tensor  # (nodes that are no leaves,), the numbers of their children
    right: Tensor
    feature: Tensor
    threshold: Tensor
    value: Tensor  # (leaves, outputs of a forest)

    def __init__(
        self,
        trees: int = 100,
        multi_output: bool = True,
        max_rows: int | None = None,
        projections: int | None = None,
        seed: Seed | None = 0,
        options: dict[str, Any] | None = None,
        leaf: int | Literal["cv"] = 1,
        transform: Transform | None = None,
        fitted: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(fitted, transform)
        self._config = {
            "trees": checks.positive_int("trees", trees),
            "multi_output": bool(multi_output),
            "max_rows": None if max_rows is None else checks.positive_int("max_rows", max_rows),
            "projections": None if projections is None else checks.positive_int("projections", projections),
            "seed": _number(seed),
            "options": dict(options or {}),
            "leaf": _leaf(leaf, options or {}),
        }
        criterion = self._config["options"].get("criterion", "squared_error")
        if projections is not None and criterion != "squared_error":
            # Random combinations keep squared distances, in the mean, and nothing else.
            raise checks.fail("options", 'with the criterion "squared_error" for projections', repr(criterion))

    def sample(self, count: int) -> Tensor | None:
        most, seed = self._config["max_rows"], self._config["seed"]
        if most is None or count <= most:
            return None
        return torch.from_numpy(np.random.default_rng(seed).choice(count, most, replace=False))

    def fit_table(self, rows: Tensor, outputs: Tensor, weights: Tensor | None = None) -> None:
        x, y = rows.float().cpu().numpy(), outputs.cpu().numpy()  # as scikit-learn calls them, and wants them
        parts = [y] if self._config["multi_output"] else [y[:, i : i + 1] for i in range(y.shape[1])]
        forests = self._grown(x, parts)
        leaves = (_leaves(forest, target, x, y) for (forest, target), y in zip(forests, parts, strict=True))
        trees = [tree.tree_ for forest, _ in forests for tree in forest.estimators_]
        value = np.empty((sum(tree.n_leaves for tree in trees), parts[0].shape[1]))
        filled = 0
        for means in chain.from_iterable(leaves):  # no second copy: 200 MB for 500 outputs
            value[filled : filled + len(means)] = means
            filled += len(means)
        nodes = _numbered(trees) | {"value": value}
        nodes["roots"] = nodes["roots"].reshape(len(parts), -1)
        for name, array in nodes.items():
            setattr(self, name, torch.from_numpy(np.ascontiguousarray(array)).to(rows.device))

    def _grown(self, x: np.ndarray, parts: list[np.ndarray]) -> list[tuple[Any, np.ndarray]]:
        """A forest for each part of the outputs, and what it was grown on; with leaves of the best size."""
        if self._config["leaf"] != "cv":
            return [self._grow(x, y, self._config["leaf"]) for y in parts]
        best, least = [], math.inf
        for leaf in leaf_sizes(len(x)):
            forests = [self._grow(x, y, leaf) for y in parts]
            error = sum(out_of_bag_error(forest, x, target) for forest, target in forests)
            if not best or error < least:
                best, least, self.chosen = forests, error, leaf
        return best

    def _grow(self, x: np.ndarray, y: np.ndarray, leaf: int) -> tuple[Any, np.ndarray]:
        """A forest, and the outputs it was grown on: `y` itself, or combinations of them."""
        ensemble = need("sklearn.ensemble", "a random forest", "learn")
        seed, directions = self._config["seed"], self._config["projections"]
        options = {"min_samples_leaf": leaf} | self._config["options"]
        forest = ensemble.RandomForestRegressor(self._config["trees"], random_state=seed, **options)
        target = y
        if directions is not None and directions < y.shape[1]:
            drawn = np.random.default_rng([seed, directions]).standard_normal((y.shape[1], directions))
            target = y @ drawn / np.sqrt(y.shape[1])  # impurities are those of the outputs, in the mean
        return forest.fit(x, target.ravel() if target.shape[1] == 1 else target), target

    def predict_table(self, rows: Tensor) -> Tensor:
        inner, leaves = len(self.left), len(self.value)
        least = int(self.feature.max()) + 1 if inner else 0
        if rows.shape[1] < least:  # a walk would read the next row's numbers
            raise checks.fail("features", f"of at least {least} numbers a row", str(rows.shape[1]))
        # Who has arrived at a leaf stays there, as its own child, until those who walk are separated from the others.
        leaf = torch.arange(inner, inner + leaves, device=self.left.device)
        children = torch.stack([torch.cat([self.right, leaf]), torch.cat([self.left, leaf])], 1).flatten()
        feature, threshold = (nn.functional.pad(column, (0, leaves)) for column in (self.feature, self.threshold))
        forests, trees = self.roots.shape
        size = max(1, WALKERS // (forests * trees))
        means = self.value.new_empty(len(rows), forests, self.value.shape[1])
        for part, mean in zip(rows.split(size), means.split(size), strict=True):
            node = self._walk(part, children, feature, threshold).reshape(-1, trees) - inner
            mean.copy_(nn.functional.embedding_bag(node, self.value, mode="mean").view_as(mean))
        return means.flatten(1)

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
            raise ForesolveError("the nodes of RandomForest do not make trees")


def _leaves(forest: Any, target: np.ndarray, x: np.ndarray, y: np.ndarray) -> Iterator[np.ndarray]:
    """The outputs of the leaves of each tree, in order."""
    trees = [tree.tree_ for tree in forest.estimators_]
    if target is y:
        return (tree.value[tree.children_left < 0, :, 0] for tree in trees)
    samples = zip(trees, forest.apply(x).T, forest.estimators_samples_, strict=True)
    return (_leaf_means(tree, places, rows, y) for tree, places, rows in samples)


def _numbered(trees: list[Any]) -> dict[str, np.ndarray]:
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


def _leaf_means(tree: Any, places: np.ndarray, drawn: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Means of outputs `(R, o)` over the rows drawn for a tree, in each of its leaves; `places` are the rows' nodes."""
    leaf = tree.children_left < 0
    times = np.bincount(drawn, minlength=len(y)).astype(np.float64)
    number = (np.cumsum(leaf) - 1)[places]
    weight = np.bincount(number, times, minlength=int(leaf.sum()))
    members = sp.csr_array((times / weight[number], (number, np.arange(len(y)))), shape=(len(weight), len(y)))
    return members @ y


def _leaf(leaf: Any, options: dict[str, Any]) -> int | Literal["cv"]:
    """The least rows of a leaf, which `options` must not name too."""
    if isinstance(leaf, str) and leaf != "cv":
        raise checks.fail("leaf", 'an integer >= 1, or "cv"', repr(leaf))
    if leaf == "cv" and not options.get("bootstrap", True):
        raise checks.fail("options", 'with `bootstrap` for `leaf="cv"`', "False", "No row is out of bag without it")
    if leaf != 1 and "min_samples_leaf" in options:
        raise checks.fail(
            "options", "without `min_samples_leaf` where `leaf` is given", str(options["min_samples_leaf"])
        )
    return "cv" if leaf == "cv" else checks.positive_int("leaf", leaf)


def _number(seed: Seed | None) -> int:
    """A seed for scikit-learn and for JSON: an integer as itself, or one that is drawn."""
    if seed is not None and not isinstance(seed, torch.Generator):
        return checks.positive_int("seed", seed, zero=True)
    device = "cpu" if seed is None else seed.device
    return int(torch.randint(2**31 - 1, (), generator=seed, device=device))

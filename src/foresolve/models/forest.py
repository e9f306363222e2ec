"""Random forests, grown by scikit-learn and kept as tensors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.extras import need
from foresolve._base.randomness import Seed
from foresolve.models.cross_validation import leaf_sizes, out_of_bag_error
from foresolve.models.targets import Transform
from foresolve.models.trees import (
    TreeEnsemble,
    column_units,
    far_centers,
    in_units,
    leaf_values,
    seed_number,
    target_unit,
)

ABSOLUTE = {"min_impurity_decrease", "ccp_alpha"}  # options in squared units of the outputs


class RandomForest(TreeEnsemble):
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

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.models import ConstantMean, RandomForest
    >>> g = torch.Generator().manual_seed(0)
    >>> features = torch.randn(64, 3, generator=g)
    >>> theta = features @ torch.randn(3, 4, generator=g)
    >>> data = foresolve.DecisionDataset(features, theta, foresolve.TopK(4, 2))
    >>> forest = RandomForest(trees=20).fit(data)
    >>> mean = ConstantMean().fit(data)
    >>> bool(foresolve.evaluate(forest, data).regret < foresolve.evaluate(mean, data).regret)
    True
    """

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
            "seed": seed_number(seed),
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
        columns, y = column_units(rows), outputs.cpu().numpy()  # x and y as scikit-learn calls them
        x = in_units(rows, columns)
        parts = [y] if self._config["multi_output"] else [y[:, i : i + 1] for i in range(y.shape[1])]
        # What the caller's own thresholds of impurity mean is the caller's to say.
        own = ABSOLUTE.intersection(self._config["options"])
        units, centers = [1.0 if own else target_unit(part) for part in parts], [far_centers(part) for part in parts]
        parts = [(part - center) / unit for part, center, unit in zip(parts, centers, units, strict=True)]
        forests = self._grown(x, parts, units)
        leaves = (
            (values * unit + center for values in _leaves(forest, target, x, y))
            for (forest, target), y, unit, center in zip(forests, parts, units, centers, strict=True)
        )
        trees = [tree.tree_ for forest, _ in forests for tree in forest.estimators_]
        self._take(trees, chain.from_iterable(leaves), parts[0].shape[1], len(parts), columns, rows.device)

    def _grown(self, x: np.ndarray, parts: list[np.ndarray], units: list[float]) -> list[tuple[Any, np.ndarray]]:
        """A forest for each part of the outputs, and what it was grown on; with leaves of the best size."""
        if self._config["leaf"] != "cv":
            return [self._grow(x, y, self._config["leaf"]) for y in parts]
        best, least = [], math.inf
        for leaf in leaf_sizes(len(x)):
            forests = [self._grow(x, y, leaf) for y in parts]
            shares = [(unit / max(units)) ** 2 for unit in units]
            error = sum(s * out_of_bag_error(forest, x, target) for (forest, target), s in zip(forests, shares))
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


def _leaves(forest: Any, target: np.ndarray, x: np.ndarray, y: np.ndarray) -> Iterator[np.ndarray]:
    """The outputs of the leaves of each tree, in order."""
    trees = [tree.tree_ for tree in forest.estimators_]
    if target is y:
        return (leaf_values(tree) for tree in trees)
    samples = zip(trees, forest.apply(x).T, forest.estimators_samples_, strict=True)
    return (_leaf_means(tree, places, rows, y) for tree, places, rows in samples)


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

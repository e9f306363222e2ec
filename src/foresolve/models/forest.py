"""Random forests, grown by scikit-learn and kept as tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.extras import need
from foresolve._base.randomness import Seed
from foresolve.errors import ForesolveError
from foresolve.models.table import CHUNK, TableBaseline


class RandomForest(TableBaseline):
    """A random forest of scikit-learn's `RandomForestRegressor`.

    Once grown it is a few tensors: it predicts on any device, and a saved policy holds neither pickles nor anything
    that needs scikit-learn.

    Parameters
    ----------
    trees: the number of trees.
    multi_output: one forest for all outputs of a row, or one for each of them.
    max_rows: the most rows to grow from, drawn at random; a table of pairs can be large.
    seed: `random_state` of the forests; a `torch.Generator`, or torch's global one for `None`, draws that number.
    options: further arguments of `RandomForestRegressor`, for example `{"max_depth": 5}`.
    """

    _buffers_of_fit = ("roots", "left", "right", "feature", "threshold", "value")
    roots: Tensor  # (forests, trees)
    left: Tensor  # (nodes,); a leaf is its own child
    right: Tensor
    feature: Tensor
    threshold: Tensor
    value: Tensor  # (nodes, outputs of a forest)

    def __init__(
        self,
        trees: int = 100,
        multi_output: bool = True,
        max_rows: int | None = None,
        seed: Seed | None = 0,
        options: dict[str, Any] | None = None,
        fitted: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(fitted)
        self._config = {
            "trees": checks.positive_int("trees", trees),
            "multi_output": bool(multi_output),
            "max_rows": None if max_rows is None else checks.positive_int("max_rows", max_rows),
            "seed": _number(seed),
            "options": dict(options or {}),
        }

    def fit_table(self, rows: Tensor, outputs: Tensor) -> None:
        ensemble = need("sklearn.ensemble", "a random forest", "learn")
        config = self._config
        x, y = rows.cpu().numpy(), outputs.cpu().numpy()  # as scikit-learn calls them
        if config["max_rows"] is not None and len(x) > config["max_rows"]:
            drawn = np.random.default_rng(config["seed"]).choice(len(x), config["max_rows"], replace=False)
            x, y = x[drawn], y[drawn]
        parts = [y] if config["multi_output"] else [y[:, i : i + 1] for i in range(y.shape[1])]
        trees = []
        for part in parts:
            forest = ensemble.RandomForestRegressor(config["trees"], random_state=config["seed"], **config["options"])
            forest.fit(x, part.ravel() if part.shape[1] == 1 else part)
            trees += [tree.tree_ for tree in forest.estimators_]
        sizes = [tree.node_count for tree in trees]
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        node = np.arange(sum(sizes))

        def joined(name: str) -> np.ndarray:
            return np.concatenate([getattr(tree, name) for tree in trees])

        leaf, offset = joined("children_left") < 0, np.repeat(starts, sizes)
        arrays = {
            "roots": starts.reshape(len(parts), -1),
            "left": np.where(leaf, node, joined("children_left") + offset),
            "right": np.where(leaf, node, joined("children_right") + offset),
            "feature": np.where(leaf, 0, joined("feature")),
            "threshold": joined("threshold"),
            "value": joined("value")[:, :, 0],
        }
        for name, array in arrays.items():
            setattr(self, name, torch.from_numpy(np.ascontiguousarray(array)).to(rows.device))

    def predict_table(self, rows: Tensor) -> Tensor:
        forests, trees = self.roots.shape
        rows = rows.float().double()  # scikit-learn compares features in single precision
        means = []
        for part in rows.split(max(1, CHUNK // (forests * trees))):
            node = self.roots.reshape(1, -1).expand(len(part), -1)
            while True:
                goes_left = part.gather(1, self.feature[node]) <= self.threshold[node]
                child = torch.where(goes_left, self.left[node], self.right[node])
                if torch.equal(child, node):
                    break
                node = child
            mean = torch.stack([self.value[leaf].mean(1) for leaf in node.split(trees, 1)], 1)
            means.append(mean.flatten(1))
        return torch.cat(means)

    def validate(self) -> None:
        node = torch.arange(len(self.left), device=self.left.device)
        sound = (
            self.roots.ndim == 2
            and self.roots.numel() > 0
            and len({len(b) for name, b in self._fitted_buffers() if name != "roots"}) == 1
            and bool(((self.roots >= 0) & (self.roots < len(node))).all())
            and all(bool(((side >= node) & (side < len(node))).all()) for side in (self.left, self.right))
            and bool((self.feature >= 0).all())
        )  # children come after their parents: no walk goes round in circles
        if not sound:
            raise ForesolveError("the nodes of RandomForest do not make trees")


class ScikitLearn(TableBaseline):
    """Any regressor of scikit-learn (or with its interface) that predicts several outputs.

    A policy with it is saved through skops, where skops holds all its types safe to load; otherwise it says so.

    Parameters
    ----------
    estimator: an unfitted regressor; `fit` fits a clone of it.
    """

    def __init__(self, estimator: Any) -> None:
        super().__init__()
        if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
            raise checks.fail("estimator", "a regressor with `fit` and `predict`", type(estimator).__name__)
        self.estimator = estimator

    def fit_table(self, rows: Tensor, outputs: Tensor) -> None:
        y = outputs.cpu().numpy()
        self.fitted = need("sklearn.base", "a regressor of scikit-learn", "learn").clone(self.estimator)
        self.fitted.fit(rows.cpu().numpy(), y.ravel() if y.shape[1] == 1 else y)

    def predict_table(self, rows: Tensor) -> Tensor:
        outputs = np.asarray(self.fitted.predict(rows.cpu().numpy()), dtype=np.float64)
        return torch.from_numpy(outputs).reshape(len(rows), -1).to(rows.device)


def _number(seed: Seed | None) -> int:
    """A seed for scikit-learn and for JSON: an integer as itself, or one that is drawn."""
    if seed is not None and not isinstance(seed, torch.Generator):
        return checks.positive_int("seed", seed, zero=True)
    device = "cpu" if seed is None else seed.device
    return int(torch.randint(2**31 - 1, (), generator=seed, device=device))

"""A random forest on pairs, grown on all that are there and on a sample of those that are not."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from foresolve._base.extras import need
from foresolve.models.pairs import pair
from foresolve.models.reference import Baseline


class PairForest(Baseline):
    """scikit-learn's `RandomForestClassifier` on the features of both nodes, put side by side.

    Of the pairs that are absent, `absent` for each one that is present are drawn, and weighted so that the shares are
    those of all pairs: 22 instances of Cora have 55,000 pairs of 2,866 words, 3,000 of them present.

    Parameters
    ----------
    trees, seed: of the forest.
    absent: absent pairs drawn for each present one.
    """

    def __init__(self, trees: int = 100, absent: int = 5, seed: int = 0) -> None:
        super().__init__()
        self.trees, self.absent, self.seed = trees, absent, seed

    def fit(self, train: Any) -> Self:
        left, right = (sp.csr_array(side.flatten(0, 1).numpy()) for side in pair(train.features))
        sides = [side.shape[1] for side in pair(train.features)]
        label = train.theta.numpy() > 0.5
        present, absent = np.flatnonzero(label), np.flatnonzero(~label)
        count = min(len(absent), self.absent * len(present))
        drawn = np.random.default_rng(self.seed).choice(absent, count, replace=False)
        chosen = np.concatenate([present, drawn])
        # Sparse columns grow the very trees that dense ones do, in half the time: words are mostly absent.
        rows = _rows(left, right, sides, chosen).tocsc()
        weight = np.where(label.ravel()[chosen], 1.0, len(absent) / max(count, 1))
        ensemble = need("sklearn.ensemble", "a random forest", "learn")
        self.forest = ensemble.RandomForestClassifier(self.trees, random_state=self.seed)
        self.forest.fit(rows, label.ravel()[chosen], sample_weight=weight)
        self._fitted = {"layout": "pair", "shape": []}
        return self

    def forward(self, features: Any) -> Tensor:
        self._layout()
        a, b = pair(features)
        left, right = (sp.csr_array(side.cpu().flatten(0, 1).numpy()) for side in (a, b))
        sides = [a.shape[1], b.shape[1]]
        size = sides[0] * sides[1]
        shares = [
            self.forest.predict_proba(_rows(left, right, sides, np.arange(i * size, (i + 1) * size)).toarray())[:, -1]
            for i in range(len(a))
        ]
        return torch.from_numpy(np.stack(shares)).to(a)


def _rows(left: sp.csr_array, right: sp.csr_array, sides: list[int], chosen: np.ndarray) -> sp.csr_array:
    """The features of pairs, given by their positions in all instances' tables of pairs; float32, as forests want."""
    instance, place = np.divmod(chosen, sides[0] * sides[1])
    i, j = np.divmod(place, sides[1])
    both = sp.hstack([left[instance * sides[0] + i], right[instance * sides[1] + j]], format="csr")
    return sp.csr_array(both, dtype=np.float32)

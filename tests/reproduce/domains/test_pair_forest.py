from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from foresolve.data import DecisionDataset, citation_data
from foresolve.errors import ForesolveError
from foresolve.learning import fit
from foresolve.learning.metrics import auc
from foresolve.reproduce.domains.pair_forest import PairForest, _rows
from mistakes import mistake

pytest.importorskip("sklearn")


def citations(count: int = 4, seed: int = 0) -> DecisionDataset:
    return citation_data(count, side=8, words=60, seed=seed)


def test_predictions_are_probabilities_of_all_pairs() -> None:
    data = citations()
    model = PairForest(trees=5)
    fit(model, None, data)
    theta = model(data.features)
    assert theta.shape == data.theta.shape == (4, 64)
    assert theta.dtype == data.features["left"].dtype
    assert 0.0 <= float(theta.min()) < float(theta.max()) <= 1.0
    sides = data.features["left"][1:2], data.features["right"][1:2]
    assert torch.equal(model(sides), theta[1:2])


def test_rows_are_the_features_of_both_nodes() -> None:
    generator = torch.Generator().manual_seed(0)
    left, right = torch.rand(2, 3, 4, generator=generator), torch.rand(2, 5, 6, generator=generator)
    a, b = (sp.csr_array(side.flatten(0, 1).numpy()) for side in (left, right))
    chosen = np.array([0, 7, 14, 15, 29])
    rows = _rows(a, b, [3, 5], chosen)
    assert rows.dtype == np.float32
    for row, position in zip(rows.toarray(), chosen, strict=True):
        instance, i, j = position // 15, position % 15 // 5, position % 5
        np.testing.assert_array_equal(row, np.concatenate([left[instance, i], right[instance, j]]))


def test_it_finds_the_pairs_it_was_grown_on() -> None:
    data = citations()
    theta = PairForest(trees=20, absent=100).fit(data)(data.features)
    area = auc(theta.double().numpy().ravel(), data.theta.double().numpy().ravel())
    assert area is not None
    assert area > 0.95


@pytest.mark.parametrize("absent", [1, 2, 5])
def test_sampling_absent_pairs_keeps_the_proportions(absent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights of the sample are those of all pairs, whatever share of the absent ones is drawn."""
    import sklearn.ensemble

    grown: list[SimpleNamespace] = []

    class Forest(sklearn.ensemble.RandomForestClassifier):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Forest:
            grown.append(SimpleNamespace(rows=X, label=y, weight=sample_weight))
            return self

    monkeypatch.setattr(sklearn.ensemble, "RandomForestClassifier", Forest)
    data = citations()
    PairForest(trees=1, absent=absent).fit(data)
    (seen,) = grown
    present, pairs = int(data.theta.sum()), data.theta.numel()
    assert seen.rows.shape[0] == len(seen.label) == min(pairs, (1 + absent) * present)
    assert int(seen.label.sum()) == present
    assert seen.weight[seen.label].sum() == pytest.approx(present)
    assert seen.weight[~seen.label].sum() == pytest.approx(pairs - present)


def test_sparse_rows_grow_the_trees_of_dense_ones() -> None:
    import sklearn.ensemble

    data = citations()
    model = PairForest(trees=5, absent=10**6, seed=3).fit(data)  # all pairs: weights are 1
    left, right = (sp.csr_array(data.features[side].flatten(0, 1).numpy()) for side in ("left", "right"))
    label = data.theta.numpy().ravel() > 0.5
    drawn = np.random.default_rng(3).choice(np.flatnonzero(~label), int((~label).sum()), replace=False)
    chosen = np.concatenate([np.flatnonzero(label), drawn])
    rows = _rows(left, right, [8, 8], np.arange(len(label))).toarray()
    dense = sklearn.ensemble.RandomForestClassifier(5, random_state=3)
    dense.fit(rows[chosen], label[chosen], sample_weight=np.ones(len(label)))
    expected = torch.from_numpy(np.asarray(dense.predict_proba(rows))[:, 1]).reshape(data.theta.shape)
    torch.testing.assert_close(model(data.features).double(), expected, rtol=1e-6, atol=1e-6)


def test_the_mean_prediction_is_near_the_share_of_pairs() -> None:
    train, test = citations(12), citations(12, seed=1)
    share = float(train.theta.mean())
    mean = float(PairForest(trees=50, absent=2).fit(train)(test.features).mean())
    assert share / 2 < mean < 2 * share


def test_the_seed_decides() -> None:
    data = citations()
    first, again, different = (PairForest(trees=3, absent=2, seed=seed).fit(data)(data.features) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, different)


def test_it_must_be_fitted_first() -> None:
    with mistake("", "PairForest", "fit(train)", kind=ForesolveError):
        PairForest()(citations(1).features)

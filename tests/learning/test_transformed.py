from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from foresolve.learning.transformed import Transformed, decision_model
from foresolve.models import MLP

pytest.importorskip("sklearn")

from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from foresolve.learning import DecisionEstimator

X = np.random.default_rng(0).normal(size=(20, 3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_model_sees_what_the_transformer_gives(dtype: torch.dtype) -> None:
    scaler, model = StandardScaler().fit(X), MLP(3, 2, seed=0).to(dtype)
    expected = model(torch.tensor(scaler.transform(X), dtype=dtype))
    for table in (X, torch.tensor(X), X.tolist()):
        assert torch.equal(Transformed(scaler, model)(table), expected)


def test_sparse_tables_are_filled() -> None:
    encoder = OneHotEncoder().fit([["a"], ["b"]])
    model = nn.Linear(2, 1, bias=False)
    got = Transformed(encoder, model)(np.array([["b"], ["a"]]))
    assert torch.equal(got, model.weight.detach().flip(1).T)


def test_the_module_of_a_fitted_estimator() -> None:
    y = X @ np.random.default_rng(1).normal(size=(3, 4))
    estimator = DecisionEstimator(epochs=1).fit(X, y)
    assert decision_model(estimator) is estimator.model_
    assert decision_model(make_pipeline(estimator)) is estimator.model_
    pipeline = make_pipeline(StandardScaler(), DecisionEstimator(epochs=1)).fit(X, y)
    model = decision_model(pipeline)
    assert isinstance(model, Transformed)
    assert model.model is pipeline[-1].model_
    np.testing.assert_array_equal(model(X).detach().numpy(), pipeline.predict(X))


def test_any_other_estimator_has_none() -> None:
    assert decision_model(Ridge()) is None
    assert decision_model(make_pipeline(StandardScaler(), Ridge())) is None
    assert decision_model(DecisionEstimator()) is None
    assert decision_model(object()) is None

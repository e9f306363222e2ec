from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from foresolve.data.dataset import DecisionDataset
from foresolve.errors import InvalidInputError
from foresolve.models.baselines import LinearRegression
from foresolve.models.scikit_learn import ScikitLearn, check_fitted, estimator_table
from learning.instances import top_k_data
from models.instances import item_data, pair_data

linear = pytest.importorskip("sklearn.linear_model")

from sklearn.neighbors import KNeighborsRegressor  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402


def test_any_regressor() -> None:
    data = top_k_data()
    model = ScikitLearn(linear.LinearRegression()).fit(data)
    torch.testing.assert_close(model(data.features), LinearRegression().fit(data)(data.features))


def test_a_clone_is_fitted_or_the_estimator_itself() -> None:
    data, ridge = top_k_data(), linear.Ridge()
    model = ScikitLearn(ridge).fit(data)
    assert not hasattr(ridge, "coef_")
    assert ScikitLearn(ridge, copy=False).fit(data).fitted is ridge
    np.testing.assert_array_equal(ridge.coef_, model.fitted.coef_)


@pytest.mark.parametrize("data", [item_data(), pair_data()], ids=["items", "pairs"])
def test_rows_may_be_items_or_pairs(data: DecisionDataset) -> None:
    model = ScikitLearn(linear.LinearRegression()).fit(data)
    torch.testing.assert_close(model(data.features), LinearRegression().fit(data)(data.features))


def test_one_that_is_fitted_already() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    ridge = linear.Ridge().fit(X, y)
    model, expected = ScikitLearn.trained(ridge), torch.tensor(ridge.predict(X))
    for table in (torch.tensor(X), X, X.tolist()):
        assert torch.equal(model(table), expected)
    single = linear.Ridge().fit(X, y[:, 0])
    assert ScikitLearn.trained(single)(X).shape == (20, 1)
    with pytest.raises(InvalidInputError, match="a fitted estimator; got Ridge, which is not fitted"):
        ScikitLearn.trained(linear.Ridge())
    with pytest.raises(InvalidInputError, match="`estimator` must be a regressor"):
        ScikitLearn(3)


class Doubler:
    """scikit-learn's interface without its classes."""

    def fit(self, X: Any, y: Any) -> None:
        """It knows."""

    def predict(self, X: Any) -> Any:
        return 2 * np.asarray(X)


def test_only_estimators_of_scikit_learn_are_asked_whether_they_are_fitted() -> None:
    check_fitted(Doubler())
    assert ScikitLearn.trained(Doubler())([[1.0, 2.0]]).tolist() == [[2.0, 4.0]]


def test_names_are_put_on_where_it_was_fitted_with_names() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(0).normal(size=(20, 2)), columns=["a", "b"])
    named = linear.Ridge().fit(frame, frame["a"])
    model, expected = ScikitLearn.trained(named), named.predict(frame)
    for table in (frame, frame.to_numpy(), torch.tensor(frame.to_numpy())):
        np.testing.assert_array_equal(model(table)[:, 0].numpy(), expected)  # a warning would be an error
    with pytest.raises(ValueError, match="feature names should match"):
        model(frame[["b", "a"]])
    with pytest.raises(InvalidInputError, match=r"`features` must be \(N, 2\), a column for each.*; got \(20, 1\)"):
        model(frame.to_numpy()[:, :1])
    nameless = linear.Ridge().fit(frame.to_numpy(), frame["a"])
    assert isinstance(estimator_table(nameless, frame), np.ndarray)
    np.testing.assert_array_equal(ScikitLearn.trained(nameless)(frame)[:, 0].numpy(), expected)


@pytest.mark.parametrize("make", [linear.Ridge, lambda: make_pipeline(StandardScaler(with_std=False), linear.Ridge())])
def test_weights_are_sample_weights(make: Any) -> None:
    data = top_k_data(12)
    weights = torch.tensor([2.0, 1.0, 0.5, 3.0] * 3)
    weighted = DecisionDataset(data.features, data.theta, data.problem, weights=weights)
    X, y = data.features.double().numpy(), data.theta.double().numpy()
    expected = linear.Ridge().fit(X - X.mean(0), y, sample_weight=weights.numpy()).predict(X - X.mean(0))
    np.testing.assert_allclose(ScikitLearn(make()).fit(weighted)(data.features).numpy(), expected, atol=1e-5)


def test_weights_are_refused_where_there_is_no_place_for_them() -> None:
    data = top_k_data(12)
    weighted = DecisionDataset(data.features, data.theta, data.problem, weights=torch.ones(12))
    for estimator in (KNeighborsRegressor(), make_pipeline(StandardScaler(), KNeighborsRegressor())):
        with pytest.raises(
            InvalidInputError, match=r"without weights; .*`KNeighborsRegressor\.fit` has no `sample_weight`"
        ):
            ScikitLearn(estimator).fit(weighted)

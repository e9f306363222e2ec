from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from foresolve.data import DecisionDataset
from foresolve.learning import fit
from foresolve.models import LinearRegression, ScikitLearn
from foresolve.models.scikit_learn import check_fitted, estimator_table, fitted_names
from learning.instances import top_k_data
from models.instances import item_data, pair_data

linear = pytest.importorskip("sklearn.linear_model")

from sklearn.compose import TransformedTargetRegressor  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.neighbors import KNeighborsRegressor  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

from mistakes import mistake  # noqa: E402


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
    with mistake("model", "Ridge"):
        ScikitLearn.trained(linear.Ridge())
    with mistake("estimator", "got int"):
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
    with mistake("features", "Ridge", "feature names"):
        model(frame[["b", "a"]])
    with mistake("features", "(N, 2)", "(20, 1)"):
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
        with mistake("train", "KNeighborsRegressor.fit", "sample_weight"):
            ScikitLearn(estimator).fit(weighted)


def test_features_of_another_width_than_the_estimator_was_fitted_with() -> None:
    X = np.random.default_rng(0).normal(size=(9, 3))
    for estimator in (linear.Ridge().fit(X, X), make_pipeline(StandardScaler(), linear.Ridge()).fit(X, X)):
        with mistake("features", "(N, 3)", type(estimator).__name__, "(9, 2)"):
            ScikitLearn.trained(estimator)(X[:, :2])


def test_names_that_pipelines_were_fitted_with() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(0).normal(size=(9, 3)), columns=["u", "v", "w"])
    ridge = linear.Ridge()
    for estimator in (
        ridge,
        make_pipeline(StandardScaler(), ridge),
        make_pipeline("passthrough", ridge),
        make_pipeline("passthrough", "passthrough", StandardScaler(), ridge),
        make_pipeline(make_pipeline("passthrough", StandardScaler()), ridge),
        GridSearchCV(make_pipeline("passthrough", ridge), {"ridge__alpha": [1.0]}, cv=2),
    ):
        assert fitted_names(estimator.fit(frame, frame.to_numpy())) == ("u", "v", "w")
        expected = estimator.predict(frame)
        model = ScikitLearn.trained(estimator)
        np.testing.assert_array_equal(model(frame.to_numpy()).numpy(), expected)  # without a warning about names
        assert model.known_columns() == ("u", "v", "w")
        assert fitted_names(estimator.fit(frame.to_numpy(), frame.to_numpy())) is None
    assert ScikitLearn(ridge).known_columns() is None


@pytest.mark.parametrize(
    "make",
    [
        lambda ridge: GridSearchCV(ridge, {"alpha": [1.0]}, cv=2),
        lambda ridge: GridSearchCV(make_pipeline(StandardScaler(), ridge), {"ridge__alpha": [1.0]}, cv=2),
        lambda ridge: TransformedTargetRegressor(ridge, transformer=StandardScaler()),
    ],
)
def test_weights_go_through_searches_and_transformed_targets(make: Any) -> None:
    data = top_k_data(20)
    estimators = [make(linear.Ridge()) for _ in range(2)]
    for estimator, weights in zip(estimators, (None, torch.linspace(0.0, 5.0, 20))):
        fit(estimator, None, DecisionDataset(data.features, data.theta, data.problem, weights=weights))
    first, second = (estimator.predict(data.features.numpy()) for estimator in estimators)
    assert np.abs(first - second).max() > 1e-3

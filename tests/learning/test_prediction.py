from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from foresolve.learning import evaluate
from foresolve.learning.prediction import as_model, inference, predict
from foresolve.models import MLP, ScikitLearn
from learning.instances import top_k_data
from mistakes import mistake


def test_modes_are_put_back_each_as_it_was_and_no_gradient_passes() -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5)).train()
    model[1].eval()
    with inference(model):
        assert not any(module.training for module in model.modules())
        assert not predict(model, torch.zeros(1, 3)).requires_grad
    assert [module.training for module in model.modules()] == [True, True, False]
    with pytest.raises(ValueError, match="stop"), inference(model):
        raise ValueError("stop")
    assert model.training
    assert predict(model, torch.zeros(1, 3)).requires_grad


def test_a_model_must_give_a_tensor() -> None:
    with mistake("model(features)", "list"):
        predict(lambda features: [1.0], torch.zeros(1))  # type: ignore[arg-type,return-value]


def test_arrays_and_frames_from_a_function_become_tensors() -> None:
    pandas = pytest.importorskip("pandas")
    features = torch.tensor([[0.1, 2.0]])
    for give in (np.asarray, lambda a: pandas.DataFrame(np.asarray(a))):
        got = predict(give, features)
        assert got.dtype == torch.float64
        assert torch.equal(got.float(), features)
    with mistake("model(features)"):
        predict(lambda a: np.array(["x"]), features)  # type: ignore[arg-type,return-value]


def test_a_function_that_gives_arrays_is_scored_like_one_that_gives_tensors() -> None:
    data = top_k_data()
    weights = np.random.default_rng(0).normal(size=(3, 5))
    expected = evaluate(lambda a: a.double() @ torch.tensor(weights), data, bootstrap=0)
    assert evaluate(lambda a: np.asarray(a, dtype=np.float64) @ weights, data, bootstrap=0).regret == expected.regret


@pytest.mark.parametrize(
    ("model", "shape", "taker"),
    [
        (nn.Linear(3, 2), (4, 5), "Linear"),
        (nn.Sequential(nn.Linear(3, 2), nn.ReLU()), (4, 6, 5), "Sequential"),
        (MLP(3, 2), (4, 5), "model"),
    ],
)
def test_the_wrong_width_of_features_is_named(model: nn.Module, shape: tuple[int, ...], taker: str) -> None:
    with mistake("features", "(*batch, 3)", str(shape), taker):
        predict(model, torch.zeros(shape))


def test_other_errors_of_torch_are_left_alone() -> None:
    broken = nn.Sequential(nn.Flatten(), nn.Linear(12, 8), nn.Linear(9, 2))
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(2x8 and 9x2\)"):
        predict(broken, torch.zeros(2, 3, 4))

    def fails(features: Any) -> Any:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied (4x5 and 3x2)")

    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        predict(fails, torch.zeros(4, 5))


def test_modules_and_functions_are_models_as_they_are() -> None:
    module = nn.Linear(3, 2)
    assert as_model(module) is module
    assert as_model(nn.DataParallel(module)) is module
    assert as_model(torch.sigmoid) is torch.sigmoid


def test_a_fitted_regressor_is_a_model() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    data = top_k_data()
    ridge = linear.Ridge().fit(data.features.numpy(), data.theta.numpy())
    assert isinstance(as_model(ridge), ScikitLearn)
    baseline = ScikitLearn(linear.Ridge()).fit(data)
    assert evaluate(ridge, data, bootstrap=0).regret == pytest.approx(evaluate(baseline, data, bootstrap=0).regret)


def test_a_search_is_what_it_found() -> None:
    linear, selection = pytest.importorskip("sklearn.linear_model"), pytest.importorskip("sklearn.model_selection")
    data = top_k_data()
    search = selection.GridSearchCV(linear.Ridge(), {"alpha": [1.0]}, cv=2).fit(
        data.features.numpy(), data.theta.numpy()
    )
    model = as_model(search)
    assert isinstance(model, ScikitLearn)
    assert model.fitted is search.best_estimator_
    with mistake("model", "GridSearchCV"):
        as_model(selection.GridSearchCV(linear.Ridge(), {}))


def test_what_is_no_model() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    with mistake("model", "Ridge", "(model, None, train)"):
        evaluate(linear.Ridge(), top_k_data())
    with mistake("model", "Ridge(...)"):
        as_model(linear.Ridge)
    with mistake("model", "int"):
        as_model(3)

from __future__ import annotations

import pytest
import torch
from torch import nn

from foresolve.errors import InvalidInputError
from foresolve.learning.prediction import as_input, inference, predict
from foresolve.models.baselines import ConstantMean
from learning.instances import top_k_data


def test_features_take_the_dtype_of_the_first_parameter_and_integers_keep_theirs() -> None:
    model = nn.Linear(3, 2).double()
    assert as_input(model, torch.zeros(2, 3)).dtype == torch.float64
    assert as_input(model, torch.zeros(2, 3, dtype=torch.int64)).dtype == torch.int64
    left, right = as_input(model, (torch.zeros(2, 3), torch.zeros(2, 3)))
    assert left.dtype == right.dtype == torch.float64


def test_features_stay_as_they_are_for_functions_and_models_without_parameters() -> None:
    features = torch.zeros(2, 3, dtype=torch.float16)
    assert as_input(lambda a: a, features) is features
    assert as_input(nn.Identity(), features) is features
    assert as_input(ConstantMean().fit(top_k_data()), features).dtype == torch.float16


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
    with pytest.raises(InvalidInputError, match=r"`model\(features\)` must be a tensor; got list"):
        predict(lambda features: [1.0], torch.zeros(1))  # type: ignore[arg-type,return-value]

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from foresolve.learning.features import as_input, select_columns
from foresolve.models import ConstantMean
from learning.instances import top_k_data
from mistakes import mistake


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
    array = np.zeros((2, 3))
    assert as_input(lambda a: a, array) is array


def frame(values: Any) -> Any:
    return pytest.importorskip("pandas").DataFrame(values, columns=["a", "b"])


@pytest.mark.parametrize("make", [np.asarray, lambda rows: rows, frame], ids=["array", "list", "frame"])
def test_tables_become_tensors_of_the_model_without_a_detour_through_single_precision(make: Any) -> None:
    rows = [[0.1, 0.2], [0.3, 1e-9]]
    for dtype in (torch.float64, torch.float32):
        got = as_input(nn.Linear(2, 2, dtype=dtype), make(rows))
        assert torch.equal(got, torch.tensor(rows, dtype=dtype))
    assert as_input(nn.Identity(), make(rows)).dtype == torch.get_default_dtype()
    assert as_input(nn.Linear(2, 2), make([[1, 2], [3, 4]])).dtype == torch.float32  # as a data set takes integers


def test_parts_of_features_become_tensors_too() -> None:
    parts = as_input(nn.Linear(3, 2), {"a": np.zeros((2, 3)), "b": (torch.zeros(2), [[1.0]])})
    assert all(isinstance(part, torch.Tensor) for part in (parts["a"], *parts["b"]))


@pytest.mark.parametrize("features", [["left", "right"], [torch.zeros(2), torch.ones(3)], [[1], [2, 3]], "text", None])
def test_what_is_no_table_of_numbers_goes_to_the_module_as_it_is(features: Any) -> None:
    assert as_input(nn.Linear(3, 2), features) is features


def test_columns_follow_their_names() -> None:
    table = frame([[1.0, 2.0]])
    assert select_columns(table, ("b", "a")).to_numpy().tolist() == [[2.0, 1.0]]
    assert select_columns(table, None) is table
    numbered = pytest.importorskip("pandas").DataFrame([[1.0, 2.0]])
    assert select_columns(numbered, ("1", "0")).to_numpy().tolist() == [[2.0, 1.0]]
    array = np.zeros((1, 2))
    assert select_columns(array, ("b", "a")) is array
    with mistake("features", "'c'", "'b'"):
        select_columns(table, ("a", "c"))
    with mistake("features", "'b'", "frame[list(policy.feature_names)]"):
        select_columns(table, ("a",))

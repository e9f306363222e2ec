"""A model can be rebuilt from its name and settings, before it is fitted and after."""

from __future__ import annotations

import json
from typing import Any, Self

import pytest
import torch
from torch import Tensor

from foresolve.errors import ForesolveError
from foresolve.learning.registry import build
from foresolve.models import MLP, Baseline, BilinearPairs, PairModel, Reference
from mistakes import mistake


class Median(Baseline):
    _buffers_of_fit = ("middle", "count")
    middle: Tensor
    count: Tensor

    def fit(self, train: Any) -> Self:
        self.middle, self.count = train.median(0).values.double(), torch.tensor(len(train))
        self._fitted = {"layout": "rows", "shape": list(train.shape[1:])}
        return self

    def forward(self, features: Tensor) -> Tensor:
        self._layout()
        return self.middle.expand(len(features), -1).to(features.dtype)


TRAIN = torch.tensor([[1.0, 5.0], [2.0, 7.0], [9.0, 6.0]])


def test_a_fitted_baseline_is_rebuilt_from_json_and_its_state() -> None:
    model = Median().fit(TRAIN)
    config = json.loads(json.dumps(model.config()))
    twin = Median(**config)
    assert (twin.middle.shape, twin.middle.dtype) == ((2,), torch.float64)
    assert twin.count.dtype == torch.int64
    twin.load_state_dict(model.state_dict())
    features = torch.zeros(4, 1)
    assert torch.equal(twin(features), model(features))
    assert twin(features).tolist() == [[2.0, 6.0]] * 4


def test_before_it_is_fitted_there_is_nothing_to_keep() -> None:
    assert Median().config() == {}
    assert Median().state_dict() == {}
    with mistake("", "Median", "fit(train)", kind=ForesolveError):
        Median()(torch.zeros(1, 1))


def test_a_config_handed_out_is_a_copy() -> None:
    model = Median()
    model.config()["changed"] = True
    assert model.config() == {}


@pytest.mark.parametrize(
    "model",
    [
        MLP(3, (2, 2), (8,), "probability"),
        MLP(3, None),
        PairModel(5, 6, 4),
        BilinearPairs(5, 5, 3, 4, True, "free", dropout=0.5),
    ],
    ids=["MLP", "numbers", "PairModel", "BilinearPairs"],
)
def test_rebuilt_from_its_config(model: Reference) -> None:
    again = build(type(model).__name__, json.loads(json.dumps(model.config())), device="meta")
    assert again.config() == model.config()
    again.load_state_dict(model.state_dict(), assign=True)
    assert all(torch.equal(a, b) for a, b in zip(again.parameters(), model.parameters(), strict=True))

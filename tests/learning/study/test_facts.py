from __future__ import annotations

import pytest
import torch

import foresolve
from foresolve.data.dataset import DecisionDataset
from foresolve.learning.study.facts import Facts, is_skewed
from foresolve.models.pairs import PairModel
from learning.study.instances import noise, paths
from models.instances import item_data, pair_data


def test_skewed_is_positive_and_lognormal() -> None:
    normal = torch.randn(300, 4, generator=torch.Generator().manual_seed(0))
    assert is_skewed(normal.exp())
    assert not is_skewed(normal)
    assert not is_skewed(normal + 20)
    assert not is_skewed(20 - normal.exp().clamp(max=15))
    assert not is_skewed(torch.ones(10, 2))


def test_heads_follow_the_parameters() -> None:
    assert Facts.of(paths()).head == "positive"
    assert Facts.of(paths(degree=1)).head == "non_negative"
    assert Facts.of(noise()).head == "free"  # logarithms of near zeros are skewed the other way
    assert Facts.of(item_data()).head == "probability"
    centered = noise()
    free = DecisionDataset(centered.features, centered.theta - 0.5, centered.problem)
    assert Facts.of(free).head == "free"
    assert Facts.of(free).bounds == (None, None)
    assert Facts.of(item_data()).bounds == (0.0, 1.0)
    assert Facts.of(paths(), head="free").head == "free"


@pytest.mark.parametrize("hidden", [(), (8,)])
@pytest.mark.parametrize("kind", ["instance", "item", "pair", "flat"])
def test_networks_fit_the_layout(kind: str, hidden: tuple[int, ...]) -> None:
    data = {"instance": paths(20), "item": item_data(), "pair": pair_data()}.get(kind)
    if data is None:
        features = torch.randn(12, 3, 2)
        data = DecisionDataset(features, torch.rand(12, 5), foresolve.TopK(5, 2))
    facts = Facts.of(data)
    network = facts.network(data, hidden, 0)
    assert network(data.features.float() if kind == "item" else data.features).shape == data.theta.shape
    assert isinstance(network, PairModel) == (kind == "pair")


def test_parameters_far_from_zero_are_told() -> None:
    data = paths()
    assert not Facts.of(data).far
    assert Facts.of(DecisionDataset(data.features, data.theta.double() + 1e7, data.problem)).far
    assert not Facts.of(DecisionDataset(data.features, torch.ones_like(data.theta), data.problem)).far

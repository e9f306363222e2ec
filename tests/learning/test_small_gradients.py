"""Networks learn in any unit."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import foresolve
from foresolve.data import DecisionDataset
from foresolve.learning.small_gradients import suit_eps
from foresolve.losses import MSE, SPOPlus
from foresolve.models import MLP
from learning.instances import top_k_data

SMALL = 2.0**-30


def in_units(data: DecisionDataset, unit: float) -> DecisionDataset:
    return DecisionDataset(data.features, data.theta * unit, data.problem)


@pytest.mark.parametrize("loss", [MSE(), SPOPlus()])
def test_the_unit_of_the_targets_changes_nothing_but_the_unit(loss: foresolve.losses.Loss) -> None:
    data, predictions = top_k_data(64), []
    for unit in (1.0, SMALL):
        model = MLP(data.features.shape[1], data.theta.shape[1], hidden=(16,), seed=0)
        foresolve.fit(model, loss, in_units(data, unit), epochs=5, progress=False)
        predictions.append(model(data.features).detach() / unit)
    torch.testing.assert_close(*predictions, rtol=2e-2, atol=2e-2)


def test_a_resumed_training_in_small_units_has_the_same_bits(tmp_path: Path) -> None:
    data = in_units(top_k_data(64), SMALL)
    weights = []
    for parts in ((6,), (2, 6)):
        model = MLP(data.features.shape[1], data.theta.shape[1], seed=0)
        for number, epochs in enumerate(parts):
            foresolve.fit(
                model, MSE(), data, epochs=epochs, scheduler=None, progress=False,
                checkpoint=tmp_path / f"{len(parts)}.pt", resume=number > 0,
            )  # fmt: skip
        weights.append([parameter.detach().clone() for parameter in model.parameters()])
    assert all(torch.equal(first, second) for first, second in zip(*weights, strict=True))


def test_gradients_of_zero_say_nothing_and_usual_ones_change_nothing() -> None:
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adam([weight])
    assert not suit_eps(optimizer, [torch.zeros(3)])
    assert suit_eps(optimizer, [torch.full((3,), 0.5)])
    assert optimizer.param_groups[0]["eps"] == 1e-8
    assert suit_eps(optimizer, [torch.full((3,), 1e-9)])
    assert optimizer.param_groups[0]["eps"] == pytest.approx(1e-12)
    weight.grad = torch.full((3,), 1e-9)
    optimizer.step()
    assert suit_eps(optimizer, [torch.full((3,), 1e-15)])
    assert optimizer.param_groups[0]["eps"] == pytest.approx(1e-12)  # it has seen gradients before

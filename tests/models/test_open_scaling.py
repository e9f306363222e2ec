from __future__ import annotations

import torch
from torch import nn

from foresolve.models.open_scaling import (
    OpenScaling,
    OpenTargetScaling,
    TableScaling,
    beside,
    make_room,
    tables_of,
    target_shape,
)  # fmt: skip


def test_the_shape_is_that_of_what_is_measured_or_loaded() -> None:
    units = OpenTargetScaling("free")
    units.measure(torch.arange(12.0).reshape(4, 3))
    assert units.center.shape == units.scale.shape == (3,)
    again = OpenTargetScaling("free")
    again.load_state_dict(units.state_dict())
    assert torch.equal(again(torch.zeros(3)), units(torch.zeros(3)))


def test_room_is_made_anywhere_in_a_model() -> None:
    model = nn.Sequential(nn.Sequential(TableScaling(), OpenScaling()), nn.Linear(2, 2))
    state = {f"0.0.{i}.{name}": torch.zeros(i + 1) for i in range(2) for name in ("center", "scale")}
    make_room(model, state | {"0.1.center": torch.zeros(2, 5), "0.1.scale": torch.zeros(2, 5)})
    tables, units = model[0]  # type: ignore[misc]
    assert tables.shapes() == [[1], [2]]
    assert units.center.shape == (2, 5)
    assert torch.equal(units.scale, torch.ones(2, 5))


def test_tables_of_a_dict_come_by_their_keys() -> None:
    assert list(tables_of({"b": 1, "a": (2, {"d": 4, "c": 3})})) == [2, 3, 4, 1]
    assert list(tables_of("one")) == ["one"]


def test_units_work_beside_their_module() -> None:
    tables = TableScaling()
    beside(tables, nn.Linear(2, 2).double())
    tables.measure(torch.rand(3, 2), None)
    assert tables.shapes() == [[2]]
    assert tables(torch.rand(3, 2)).dtype == torch.float64
    beside(tables, nn.Identity())
    assert tables.place.dtype == torch.float64


def test_what_has_units_of_its_own() -> None:
    a, b = torch.zeros(5, 3, 2), torch.zeros(5, 4, 2)
    assert target_shape(torch.zeros(5, 2), torch.zeros(5, 7)) == (7,)
    assert target_shape(a, torch.zeros(5, 3, 6)) == (6,)
    assert target_shape((a, b), torch.zeros(5, 12)) == ()
    assert target_shape({"left": a, "right": b}, torch.zeros(5, 12)) == ()
    assert target_shape((a, b), torch.zeros(5, 3)) == (3,)
    assert target_shape((a, torch.zeros(5)), torch.zeros(5, 3)) == (3,)

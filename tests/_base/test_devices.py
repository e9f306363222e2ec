from __future__ import annotations

import pytest
import torch
from torch import nn

from foresolve._base.devices import canonical, find_device
from mistakes import mistake


def test_devices_have_numbers() -> None:
    assert canonical("cpu") == canonical(torch.device("cpu")) == torch.device("cpu")


@pytest.mark.cuda
def test_the_first_gpu_is_the_gpu() -> None:
    assert canonical("cuda") == canonical("cuda:0")


def test_without_a_wish_it_is_where_the_model_is() -> None:
    assert find_device(None, nn.Linear(1, 1, device="meta")) == torch.device("meta")
    assert find_device(None, nn.BatchNorm1d(1, affine=False)) == torch.device("cpu")
    assert find_device(None, nn.Identity()) == torch.device("cpu")
    assert find_device("cpu", nn.Linear(1, 1, device="meta")) == torch.device("cpu")


@pytest.mark.parametrize("device", ["cuda:77", "nowhere", 3.5])
def test_a_device_that_is_not_there_is_refused(device: object) -> None:
    with mistake("device", "cpu"):
        find_device(device, nn.Identity())
    with mistake("device", "cpu"):
        canonical(device)  # type: ignore[arg-type]

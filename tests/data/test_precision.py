from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import foresolve
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ForesolveWarning

RNG = np.random.default_rng(0)
THETA = RNG.random((20, 3))


def test_digits_that_single_precision_loses_are_told() -> None:
    with pytest.warns(ForesolveWarning, match=r"`theta` loses its digits in float32: column 0 \(and 2 more\) varies"):
        DecisionDataset(RNG.random((20, 1)), THETA + 1e9, foresolve.TopK(3, 1))
    pandas = pytest.importorskip("pandas")
    features = pandas.DataFrame({"rain": RNG.random(20), "seconds": 1.7e9 + np.arange(20.0)})
    with pytest.warns(ForesolveWarning, match="`features` loses its digits in float32: 'seconds' varies by only 19"):
        DecisionDataset(features, THETA, foresolve.TopK(3, 1))
    theta = pandas.DataFrame(THETA, columns=["a", "b", "c"]).assign(day=range(20))
    problem = foresolve.TopK(3, 1, names=["a", "b", "c"])
    with pytest.warns(ForesolveWarning, match="'seconds' varies"):
        DecisionDataset.from_frames(features.assign(day=range(20)), theta, problem, key="day")


def test_nothing_is_said_where_nothing_is_lost() -> None:
    constant = np.concatenate([THETA * 1e9, np.full((20, 1), 1e9 + 1)], 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DecisionDataset(RNG.random((20, 1)) * 1e-9, constant, foresolve.TopK(4, 1))
        DecisionDataset(RNG.random((20, 1)), torch.from_numpy(THETA + 1e9), foresolve.TopK(3, 1))
    default = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            DecisionDataset(RNG.random((20, 1)), THETA + 1e9, foresolve.TopK(3, 1))
    finally:
        torch.set_default_dtype(default)

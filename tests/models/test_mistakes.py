"""Words of the errors of models that users meet most. Rewording touches this file alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import foresolve
from foresolve import MLP, DecisionDataset
from foresolve.learning import fit
from foresolve.models import (
    BoostedTrees,
    ConstantMean,
    Correction,
    LastValue,
    LinearRegression,
    NearestNeighbors,
    RandomForest,
    Standardized,
)
from mistakes import said

ANY: Any = "what has another type"
THETA = torch.tensor([[1.0, 2.0], [3.0, -4.0], [5.0, 6.0]])
DATA = DecisionDataset(torch.tensor([[0.0], [1.0], [2.0]]), THETA, foresolve.TopK(2, 1))
RECORDED = DecisionDataset(torch.zeros(2, 1), decisions=torch.eye(2), problem=DATA.problem)


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "not fitted": (
        lambda: LinearRegression()(DATA.features),
        "LinearRegression has not been fitted: call `fit(train)` first",
    ),
    "loss": (
        lambda: fit(ConstantMean(), foresolve.SPOPlus(), DATA),
        "`loss` must be None for a baseline; got SPOPlus. ConstantMean is fitted in one go, by its own rule",
    ),
    "features": (
        lambda: LinearRegression().fit(DATA)(torch.zeros(3, 2)),
        "`features` must be of 1 numbers a row, as in training; got 2",
    ),
    "features of a network": (
        lambda: MLP(2, 3)(DATA.features),
        "`features` must be (*batch, 2) to match the model; got (3, 1)",
    ),
    "head": (
        lambda: MLP(1, 2, head=ANY),
        "`head` must be one of 'free', 'probability', 'non_negative', 'positive'; got 'what has another type'",
    ),
    "ridge": (
        lambda: LinearRegression(ANY),
        "`ridge` must be a finite number >= 0, or \"cv\"; got 'what has another type'",
    ),
    "neighbors": (
        lambda: NearestNeighbors(0),
        "`k` must be an integer >= 1; got 0",
    ),
    "leaf": (
        lambda: RandomForest(leaf=ANY),
        "`leaf` must be an integer >= 1, or \"cv\"; got 'what has another type'",
    ),
    "learning rate": (
        lambda: BoostedTrees(lr=0),
        "`lr` must be in (0, 1]; got 0",
    ),
    "columns of last values": (
        lambda: LastValue().fit(DATA),
        (
            "`columns` must be among the 1 of the features; got -2. `data.lagged(1)` appends the parameters of the "
            "row before"
        ),
    ),
    "logarithms": (
        lambda: LinearRegression(transform="log").fit(DATA),
        (
            '`theta` must be positive for `transform="log"`; got 1 of 6 numbers that are not, the least -4. '
            'Leave those instances out, or fit parameters as they are (`transform=None` or "scale")'
        ),
    ),
    "a class": (
        lambda: Standardized(ANY),
        "`module` must be an nn.Module; got str",
    ),
    "a forecaster": (
        lambda: Correction(ANY, MLP(1, 2)),
        "`forecaster` must be a Baseline, a regressor of scikit-learn or an nn.Module; got str",
    ),
    "decisions alone": (
        lambda: fit(LinearRegression(), None, RECORDED),
        (
            "`train` must be with `theta` for LinearRegression, which predicts what it has seen; got decisions "
            "alone. Train a module with FenchelYoung(layer), CaVE() or Imitation(layer)"
        ),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_words(case: str) -> None:
    call, words = CASES[case]
    assert said(call) == words

from __future__ import annotations

import numpy as np
import pytest
import torch

import foresolve
from foresolve.data import DecisionDataset
from foresolve.losses import SPOPlus
from foresolve.models.boosting_rounds import Rounds, Stage, squares
from learning.instances import top_k_data


def rounds(data: DecisionDataset, valid: DecisionDataset | None = None, low: float | None = None) -> Rounds:
    tree = pytest.importorskip("sklearn.tree")
    return Rounds(
        data.solve(), None if valid is None else valid.solve(), rows=data.features.numpy(),
        valid_rows=None if valid is None else valid.features.numpy(), units=np.ones(data.features.shape[1]),
        targets=data.theta.double().numpy(), weights=None, restored=lambda scores: scores, bounds=(low, None),
        grower=lambda seed: tree.DecisionTreeRegressor(max_depth=2, random_state=seed),
        count=6, rate=0.5, share=1.0, seed=0,
    )  # fmt: skip


def test_scores_are_those_of_the_trees() -> None:
    data, valid = top_k_data(50), top_k_data(30, seed=1)
    grown = rounds(data, valid)
    grown.grow(squares)
    grown.grow(Stage(SPOPlus()))
    total = sum(tree.predict(valid.features.numpy()) * unit for tree, unit in grown.trees) + grown.offset
    np.testing.assert_allclose(grown.valid_scores, total, rtol=1e-10, atol=1e-10)


def test_steps_never_lead_out_of_the_bounds() -> None:
    theta = torch.tensor([[0.0, 1.0]]).repeat(4, 1)
    data = DecisionDataset(torch.zeros(4, 1), theta, foresolve.TopK(2, 1))
    grown = rounds(data, low=0.0)
    scores = np.array([[0.5, 0.0]] * 4)  # the second is too small: SPO+ raises it and lowers the first
    gradient = grown._gradient(SPOPlus(), np.arange(4), scores)
    assert (gradient[:, 0] > 0).all()
    assert (gradient[:, 1] < 0).all()
    at_bound = grown._gradient(SPOPlus(), np.arange(4), np.array([[0.0, -0.1]] * 4))
    assert (at_bound[:, 0] == 0).all()  # a step down would leave
    assert (at_bound[:, 1] < 0).all()  # one up comes back


def test_the_rows_of_an_instance_are_drawn_together() -> None:
    features = torch.arange(12.0).reshape(4, 3, 1)
    grown = rounds(DecisionDataset(features[:, 0], torch.rand(4, 3), foresolve.TopK(3, 1)))
    grown.rows = np.zeros((12, 1))
    assert grown._rows_of(np.array([1, 3])).tolist() == [3, 4, 5, 9, 10, 11]  # type: ignore[union-attr]

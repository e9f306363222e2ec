from __future__ import annotations

import numpy as np
import pytest
import torch

from foresolve.errors import InvalidInputError
from foresolve.models.forest import RandomForest
from foresolve.models.trees import leaf_values, numbered, seed_number
from learning.instances import top_k_data


def test_nodes_are_numbered_with_leaves_last() -> None:
    tree = pytest.importorskip("sklearn.tree")
    data = top_k_data(40)
    trees = [tree.DecisionTreeRegressor(max_depth=depth).fit(data.features, data.theta).tree_ for depth in (1, 3)]
    nodes = numbered(trees)
    inner = sum(int((t.children_left >= 0).sum()) for t in trees)
    assert len(nodes["left"]) == len(nodes["feature"]) == inner
    assert nodes["roots"].tolist() == [0, 1]
    assert (nodes["left"] > np.arange(inner)).all()
    assert leaf_values(trees[0]).shape == (2, 5)


def test_too_few_columns_are_refused() -> None:
    pytest.importorskip("sklearn")
    forest = RandomForest(trees=5).fit(top_k_data(60))
    with pytest.raises(InvalidInputError, match="of at least 3 numbers a row"):
        forest(torch.zeros(2, 2))


def test_a_generator_draws_the_seed() -> None:
    assert seed_number(7) == 7
    assert seed_number(torch.Generator().manual_seed(1)) == seed_number(torch.Generator().manual_seed(1))

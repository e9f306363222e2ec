from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from foresolve.data import DecisionDataset
from foresolve.losses import SPOPlus
from foresolve.models import BoostedTrees, RandomForest, TableBaseline
from foresolve.models.trees import column_units, in_units, leaf_values, numbered, seed_number, target_unit
from learning.instances import top_k_data
from mistakes import mistake


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
    with mistake("features", "got 2"):
        forest(torch.zeros(2, 2))


def test_a_generator_draws_the_seed() -> None:
    assert seed_number(7) == 7
    assert seed_number(torch.Generator().manual_seed(1)) == seed_number(torch.Generator().manual_seed(1))


MAKERS: list[Callable[[], TableBaseline]] = [
    lambda: BoostedTrees(trees=10),
    lambda: BoostedTrees(trees=10, loss=SPOPlus()),
    lambda: RandomForest(trees=10),
    lambda: RandomForest(trees=10, leaf="cv"),
    lambda: RandomForest(trees=10, leaf="cv", multi_output=False),
    lambda: RandomForest(trees=10, projections=2),
]
NAMES = ["boosted", "boosted on SPO+", "forest", "cv", "one by one", "projections"]


@pytest.mark.parametrize("make", MAKERS, ids=NAMES)
@pytest.mark.parametrize(("of_features", "of_theta"), [(1, -30), (1, -200), (1, 60), (-30, 1), (-90, 1), (60, 1)])
def test_units_change_nothing(make: Callable[[], TableBaseline], of_features: int, of_theta: int) -> None:
    """scikit-learn alone grows no tree on targets of 1e-9, and sees no difference between features of 1e-9."""
    pytest.importorskip("sklearn")
    data = top_k_data(80)
    features, theta = data.features.double(), data.theta.double()
    small = 2.0**of_features, 2.0**of_theta
    scaled = DecisionDataset(features * small[0], theta * small[1], data.problem)
    expected = make().fit(DecisionDataset(features, theta, data.problem))(features)
    assert float(expected.std()) > 0.1
    torch.testing.assert_close(make().fit(scaled)(features * small[0]) / small[1], expected, rtol=1e-9, atol=1e-12)


def test_outputs_of_different_units_each_have_their_forest() -> None:
    pytest.importorskip("sklearn")
    data = top_k_data(80)
    units = torch.tensor([1.0, 2.0**-40, 1.0, 2.0**30, 1.0], dtype=torch.float64)
    features, theta = data.features.double(), data.theta.double()
    plain, scaled = (
        RandomForest(trees=5, multi_output=False).fit(DecisionDataset(features, theta * u, data.problem))(features) / u
        for u in (torch.ones(5, dtype=torch.float64), units)
    )
    torch.testing.assert_close(scaled, plain, rtol=1e-9, atol=1e-12)


def test_impurities_in_units_of_the_outputs_stay_so() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    data, options = top_k_data(80), {"min_impurity_decrease": 10.0, "ccp_alpha": 1.0}
    theta = 100 * data.theta
    forest = RandomForest(trees=5, options=options).fit(DecisionDataset(data.features, theta, data.problem))
    expected = ensemble.RandomForestRegressor(5, random_state=0, **options).fit(data.features, theta)
    np.testing.assert_allclose(forest(data.features), expected.predict(data.features), rtol=1e-5)


def test_units_round_nothing() -> None:
    features = torch.tensor([[1.0, 5.0, 1e-30, 1e30], [1.5, 5.0, 3e-30, -1e30]])
    kept = features.clone()
    units = column_units(features)
    assert units.tolist()[1] == units.tolist()[3] == 1.0
    np.testing.assert_array_equal(in_units(features, units) * units, features.numpy())
    np.testing.assert_array_equal(features, kept)
    assert np.isfinite(in_units(torch.full((1, 4), 3e38), units)).all()
    assert target_unit(np.array([[1.0, 8.0], [1.0, 16.0]])) == 4.0
    assert target_unit(np.ones((3, 1))) == target_unit(np.zeros((1, 2))) == 1.0


def test_one_constant_output_leaves_the_others_in_their_unit() -> None:
    pytest.importorskip("sklearn")
    data = top_k_data(60)
    theta = data.theta * 2.0**-30
    theta[:, 0] = 1.0
    predictions = RandomForest(trees=5).fit(DecisionDataset(data.features, theta, data.problem))(data.features)
    assert float(predictions[:, 1:].std(0).min()) > 0


def test_outputs_far_from_zero_are_as_good() -> None:
    pytest.importorskip("sklearn")
    data = top_k_data(60)
    far = DecisionDataset(data.features.double(), data.theta.double() + 2.0**33, data.problem)
    usual = RandomForest(trees=5).fit(data)(data.features).double()
    torch.testing.assert_close(RandomForest(trees=5).fit(far)(far.features) - 2.0**33, usual, rtol=1e-4, atol=1e-4)

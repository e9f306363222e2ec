from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import foresolve
from foresolve.data import DecisionDataset, shortest_path_data
from foresolve.errors import ForesolveError
from foresolve.learning import Policy, evaluate, fit
from foresolve.learning.registry import build
from foresolve.losses import MSE, SPOPlus
from foresolve.models import BoostedTrees
from learning.instances import top_k_data
from mistakes import mistake
from models.instances import item_data, pair_data

pytest.importorskip("sklearn")


def test_squares_are_those_of_scikit_learn() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    data = top_k_data(80)
    features = data.features.double()  # those of training: equal splits, among which seeds choose, part them alike
    for column in range(data.theta.shape[1]):
        target = data.theta[:, column : column + 1]
        model = BoostedTrees(trees=15, depth=2, lr=0.2, leaf=3)
        model.fit(DecisionDataset(data.features, target, foresolve.TopK(1, 1)))
        theirs = ensemble.GradientBoostingRegressor(
            n_estimators=15, max_depth=2, learning_rate=0.2, min_samples_leaf=3
        ).fit(features.numpy(), target[:, 0].double().numpy())
        np.testing.assert_allclose(model(features)[:, 0].numpy(), theirs.predict(features.numpy()), rtol=1e-5)


def test_the_gradient_of_squares_leads_to_small_errors() -> None:
    data = top_k_data(200)
    driven = BoostedTrees(trees=60, loss=MSE(), start="mean").fit(data)
    error = float((driven(data.features) - data.theta).square().mean())
    assert error < 0.2 * float((data.theta - data.theta.mean(0)).square().mean())


def test_decisions_improve_on_a_misspecified_start() -> None:
    train, valid, test = shortest_path_data(900, degree=6, noise=0.5, seed=3).split(300, 200, 400, seed=0)
    start = BoostedTrees(trees=10, depth=1).fit(train)
    focused = BoostedTrees(trees=40, depth=1, loss=SPOPlus(), start="mean").fit(train)
    again = BoostedTrees(trees=10, depth=1, loss=SPOPlus()).fit(train)
    regret = [evaluate(m, train, bootstrap=0, metrics=False).regret for m in (start, focused, again)]
    assert regret[2] < regret[0]
    loss, batch = SPOPlus(), train.solve()[:]
    mean = train.theta.mean(0).expand_as(train.theta)
    assert float(loss(focused(train.features), batch).mean()) < 0.7 * float(loss(mean, batch).mean())
    chosen = BoostedTrees(trees=40, depth=1, loss=SPOPlus()).fit(train, valid)
    assert chosen.chosen is not None
    assert 1 <= chosen.chosen <= 80
    assert evaluate(chosen, test, bootstrap=0).normalized_regret < 0.5


def test_the_number_of_trees_is_that_of_the_least_regret() -> None:
    train, valid = shortest_path_data(160, degree=4, noise=0.5, seed=0).split(80, 80, seed=0)
    model = BoostedTrees(trees=25, depth=4, lr=0.5, leaf=1).fit(train, valid)
    assert model.chosen is not None
    regrets = {}
    for trees in range(1, 26):
        fewer = BoostedTrees(trees=trees, depth=4, lr=0.5, leaf=1).fit(train)
        regrets[trees] = evaluate(fewer, valid, bootstrap=0, metrics=False).regret
    assert regrets[int(model.chosen)] == pytest.approx(min(regrets.values()), rel=1e-6)


def test_fit_passes_validation_data_on() -> None:
    train, valid = top_k_data(80).split(50, 30)
    model = BoostedTrees(trees=30, depth=2)
    history = fit(model, None, train, valid)
    assert history.valid_regret[0] is not None
    assert model.chosen == BoostedTrees(trees=30, depth=2).fit(train, valid).chosen


def test_items_and_pairs() -> None:
    for data in (item_data(), pair_data()):
        model = BoostedTrees(trees=3, leaf=1).fit(data)
        assert model(data.features).shape == data.theta.shape
    data = item_data()
    loss = foresolve.DecisionLoss(foresolve.MultilinearRelaxation())
    model = BoostedTrees(trees=3, leaf=1, loss=loss, subsample=0.5, bounds=(0.0, 1.0)).fit(data)
    assert model(data.features).shape == data.theta.shape


def test_equal_seeds_grow_equal_trees() -> None:
    data = top_k_data(60)

    def grown(seed: int) -> torch.Tensor:
        return BoostedTrees(trees=5, subsample=0.5, seed=seed, loss=SPOPlus()).fit(data)(data.features)

    assert torch.equal(grown(1), grown(1))
    assert not torch.equal(grown(1), grown(2))


@pytest.mark.parametrize("transform", [None, "log", "scale"])
def test_transforms_and_bounds(transform: str | None) -> None:
    train = shortest_path_data(100, degree=6, noise=0.5, seed=0)
    model = BoostedTrees(trees=5, loss=SPOPlus(), lr=1.0, transform=transform, bounds=(0.05, None)).fit(train)  # type: ignore[arg-type]
    assert bool((model(train.features) >= 0.05).all())


def test_weights_count_as_copies() -> None:
    data = top_k_data(40)
    weights = torch.tensor([1.0, 2.0]).repeat(20)
    weighted = DecisionDataset(data.features, data.theta, data.problem, weights=weights)
    copies = data.subset(torch.arange(40).repeat_interleave(weights.long()))
    options = {"trees": 5, "depth": 2, "leaf": 1}
    first, second = BoostedTrees(**options).fit(weighted), BoostedTrees(**options).fit(copies)
    torch.testing.assert_close(first(data.features), second(data.features))


def test_a_policy_keeps_it_without_its_loss(tmp_path: Path) -> None:
    train, valid = shortest_path_data(80, seed=0).split(50, 30)
    model = BoostedTrees(trees=5, loss=SPOPlus(), transform="log").fit(train, valid)
    Policy(model, train.problem).save(tmp_path)
    again = Policy.load(tmp_path).model
    assert torch.equal(again(train.features), model(train.features))
    assert again.chosen == model.chosen
    assert again.config() == model.config()
    with mistake("", "SPOPlus", kind=ForesolveError):
        again.fit(train)
    json.dumps(model.config())


def test_damaged_files_are_refused() -> None:
    model = BoostedTrees(trees=2).fit(top_k_data())
    again = build("BoostedTrees", model.config())
    again.load_state_dict(model.state_dict())
    again.left[0] = 0  # type: ignore[index]
    with mistake("", "BoostedTrees", kind=ForesolveError):
        again.validate()  # type: ignore[operator]


def test_refusals() -> None:
    with mistake("loss", "got str"):
        BoostedTrees(loss="spo+")  # type: ignore[arg-type]
    with mistake("start", "'squares'"):
        BoostedTrees(start="squares")
    with mistake("lr", "got 0"):
        BoostedTrees(lr=0)
    with mistake("", "BoostedTrees", "fit(train)", kind=ForesolveError):
        BoostedTrees()(torch.zeros(2, 3))


def test_a_perfect_start_adds_no_trees() -> None:
    theta = torch.tensor([[1.0, 2.0, 3.0]]).expand(20, 3)
    data = DecisionDataset(torch.randn(20, 2, generator=torch.Generator().manual_seed(0)), theta, foresolve.TopK(3, 1))
    model = BoostedTrees(trees=4, loss=SPOPlus(), start="mean").fit(data)
    model.validate()
    torch.testing.assert_close(model(data.features), theta.contiguous())

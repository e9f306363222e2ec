from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from foresolve.data import DecisionDataset
from foresolve.errors import ForesolveError
from foresolve.learning import Policy, evaluate, fit
from foresolve.learning.registry import build
from foresolve.models import LastValue
from foresolve.problems import TopK
from learning.instances import top_k_data
from mistakes import mistake
from models.instances import item_data, pair_data


def series(count: int = 20) -> DecisionDataset:
    """A season of five rows, and a trend."""
    row = torch.arange(float(count))
    theta = torch.stack([row % 5, 0.1 * row, (row + 2) % 5], 1)
    return DecisionDataset(row.unsqueeze(1), theta, TopK(3, 1))


def test_the_last_truth_and_that_of_a_season_ago() -> None:
    data = series()
    lagged = data.lagged(5, 1)
    last = LastValue().fit(lagged)(lagged.features)
    assert torch.equal(last, data.theta[4:-1])
    season = LastValue(range(1, 4)).fit(lagged)(lagged.features)
    assert torch.equal(season, data.theta[:-5])
    assert torch.equal(LastValue([-3, -2, -1]).fit(lagged)(lagged.features), last)
    assert torch.equal(LastValue([6, 5, 4]).fit(lagged)(lagged.features), last.flip(1))
    assert evaluate(LastValue(range(1, 4)).fit(lagged), lagged, bootstrap=0).regret < 0.2


def test_it_is_fitted_and_evaluated_as_others() -> None:
    train, test = series().lagged(1).split(0.5, shuffle=False)
    model = LastValue()
    history = fit(model, None, train, test)
    assert history.valid_regret[0] == pytest.approx(evaluate(model, test, bootstrap=0).normalized_regret)


def test_parameters_of_any_shape_integers_weights_and_decisions_alone() -> None:
    items = item_data()
    table = DecisionDataset(items.theta.flatten(1), items.theta, items.problem, weights=torch.ones(len(items)))
    assert torch.equal(LastValue().fit(table)(table.features), items.theta)
    counts = torch.arange(12).reshape(4, 3)
    data = DecisionDataset(counts, decisions=torch.eye(3)[[0, 1, 2, 0]], problem=TopK(3, 1))
    predicted = LastValue().fit(data)(data.features)
    assert torch.equal(predicted, counts.to(torch.get_default_dtype()))


def test_rebuilt_from_config_and_state(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    data = series().lagged(1, 5)
    for model in (LastValue(), LastValue(columns=range(1, 4))):
        model.fit(data)
        twin = build("LastValue", json.loads(json.dumps(model.config())), device="meta")
        twin.load_state_dict(model.state_dict(), assign=True)
        assert torch.equal(twin(data.features), model(data.features))
        Policy(model, data.problem).save(tmp_path)
        again: Any = Policy.load(tmp_path).model
        assert again.config() == model.config()
        assert torch.equal(again(data.features), model(data.features))
    model.places[0] = 7
    with mistake("", "LastValue", kind=ForesolveError):
        model.validate()


def test_bad_input() -> None:
    data = series()
    with mistake("", "LastValue", "fit(train)", kind=ForesolveError):
        LastValue()(data.features)
    with mistake("columns", "got -3", "data.lagged"):
        LastValue().fit(data)
    with mistake("columns", "got 2"):
        LastValue([0, 1]).fit(data.lagged(1))
    for wrong in ([0.5, 1], "ab", 3, [None]):
        with mistake("columns"):
            LastValue(wrong)  # type: ignore[arg-type]
    with mistake("features", "got 7"):
        LastValue().fit(data.lagged(1))(data.lagged(1, 2).features)
    for other in (pair_data(), item_data()):
        with mistake("features", "(N, d)", "LastValue"):
            LastValue().fit(other)
    with mistake("columns", "got -5"):
        LastValue().fit(top_k_data())

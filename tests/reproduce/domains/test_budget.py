from __future__ import annotations

from pathlib import Path

import pytest
import torch

from foresolve.data import read_edges
from foresolve.layers import MultilinearRelaxation, RelativeGamma
from foresolve.losses import DecisionLoss
from foresolve.report.records import Config
from foresolve.reproduce import InstanceCache, NetworkMethod, plan
from foresolve.reproduce.domains import budget
from mistakes import mistake
from reproduce import tiny
from reproduce.values import assert_largest_are_chosen


def test_budgets_are_generated_where_the_folder_has_no_edges(tmp_path: Path) -> None:
    config = plan("budget", quick=True, data=tmp_path)
    assert config.data is None
    assert config.source.startswith("generated")
    with mistake("data", "nowhere"):
        plan("budget", quick=True, data=tmp_path / "nowhere")


def test_yahoo_begins_with_the_time(tmp_path: Path) -> None:
    path = tmp_path / budget.YAHOO
    path.write_text("".join(f"06/15/2002 00:00:00\tp{a}\tu{b}\t0.5\t0\n" for a in range(60) for b in range(210)))
    assert read_edges(path, budget.columns(path))[0] == ("p0", "u0")
    assert budget.columns(tmp_path / "edges.txt") == (0, 1)


def test_budgets_from_an_edge_list(tmp_path: Path) -> None:
    drawn = torch.randint(600, (9000, 2), generator=torch.Generator().manual_seed(0))
    (tmp_path / "edges.txt").write_text("".join(f"c{a % 120} u{b}\n" for a, b in drawn.tolist()))
    config = plan("budget", quick=True, data=tmp_path)
    data = budget.data(config)
    assert config.source.endswith("edges of edges.txt")
    assert data.theta.shape == (60, 50, 200)
    assert 0 <= data.theta.min() < data.theta.max() <= 0.2


def test_sizes_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    generate = budget.budget_data
    monkeypatch.setattr(budget, "budget_data", lambda count, **sizes: (count, generate(2, **sizes)))
    count, data = budget.data(plan("budget"))  # type: ignore[misc]
    assert (count, data.theta.shape[1:]) == (1000, (100, 500))


@pytest.mark.parametrize("k", [2, 5])
def test_the_longest_features_are_chosen(k: int) -> None:
    data = tiny.data("budget")
    length = data.features.square().sum(-1).sqrt()
    assert length[0].unique().numel() > k
    assert_largest_are_chosen(
        length.round(decimals=5), budget.longest_features(data.features), tiny.problem("budget", k)
    )


def test_a_budget_network_trains_through_the_exact_layer() -> None:
    method = budget.methods(Config("budget", ks=(5,)))["NN1-Decision"]
    assert isinstance(method, NetworkMethod)
    loss = method.loss(method.settings[0])
    assert isinstance(loss, DecisionLoss)
    assert isinstance(loss.layer, MultilinearRelaxation)
    assert loss.layer.gamma == RelativeGamma(method.settings[0]["gamma"])


def test_each_split_of_the_paper_has_features_of_its_own() -> None:
    config, cache = tiny.config("budget", protocol="paper", ks=[2, 4]), InstanceCache()
    first, second = (cache.split_data(config, split, 2) for split in (0, 1))
    assert torch.equal(first.theta, second.theta)
    assert not torch.equal(first.features, second.features)
    assert bool((first.features >= 0).all())  # a ReLU is the last layer
    assert torch.equal(cache.split_data(config, 0, 4).features, first.features)
    exact = tiny.config("budget", ks=[2])
    assert cache.split_data(exact, 0, 2) is cache.split_data(exact, 1, 2) is cache.data(exact, 2)

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from foresolve.reproduce import DOMAINS, InstanceCache, RuleMethod, plan, register
from foresolve.reproduce.domains.registry import find_domain, published
from mistakes import mistake
from reproduce.values import by_chance, by_rule


def test_what_is_said_of_domains_fits_together() -> None:
    assert published() == ("budget", "matching", "recommendation")
    assert list(DOMAINS) == [*published(), "shortest-path", "knapsack", "facility", "portfolio", "tracking"]
    for name, domain in DOMAINS.items():
        info = domain.info
        assert info.name == name
        story = domain.told(plan(name)).story
        assert story
        assert all(paragraph.endswith(".") for paragraph in story)
        assert info.table2_k is None if not info.ks else info.table2_k in info.ks
        assert list(info.ks) == sorted(info.ks)
        assert (domain.problem is None) == (domain.largest_k is None) == (not info.ks)
        methods = domain.methods(plan(name))
        rules = {key for key, method in methods.items() if isinstance(method, RuleMethod)}
        assert rules == set(info.heuristics) - {"True means"}  # no rule that one could choose
        assert (domain.real is None) == (not domain.published)


def test_domains_can_join(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foresolve.reproduce.domains.registry.DOMAINS", dict(DOMAINS))
    paths = find_domain("shortest-path")
    shelf = register(replace(paths, info=replace(paths.info, name="shelf")))
    assert find_domain("shelf") is shelf
    assert plan("shelf", quick=True).methods == plan("shortest-path", quick=True).methods
    with mistake("domain", '"all"'):
        register(replace(paths, info=replace(paths.info, name="all")))
    with mistake("domain", "problem(data, k)"):
        register(replace(paths, info=replace(paths.info, name="many", ks=(2, 3))))
    with mistake("domain", "'chess'"):
        find_domain("chess")


@pytest.mark.parametrize(
    ("name", "count", "shape"),
    [
        ("budget", 60, (50, 200)),
        ("matching", 30, (900,)),
        ("recommendation", 40, (50, 100)),
        ("shortest-path", 200, (40,)),
        ("knapsack", 200, (32,)),
        ("facility", 60, (30, 60)),
        ("portfolio", 120, (20,)),
        ("tracking", 100, (24,)),
    ],
)
def test_quick_instances(name: str, count: int, shape: tuple[int, ...]) -> None:
    config, domain, cache = plan(name, quick=True), DOMAINS[name], InstanceCache()
    assert config.source == "generated"
    for k in config.ks or (None,):
        data = cache.data(config, k)
        assert data.theta.shape == (count, *shape)
        assert data.theta.dtype == torch.float32
        assert by_chance(domain, data, 2) < data.values.mean().item()
        x = domain.random(data.problem, 3, torch.Generator().manual_seed(0))
        assert data.problem.check(x).feasible.all()
        tables = domain.tables(data.theta)
        vectors = ("shortest-path", "knapsack", "portfolio", "tracking")
        assert tables is None if name in vectors else tables is not None
        assert tables is None or torch.equal(tables.flatten(1), data.theta.flatten(1))
    first, again, different = (domain.data(plan(name, quick=True, seed=seed)) for seed in (0, 0, 1))
    assert torch.equal(first.theta, again.theta)
    assert not torch.equal(first.theta, different.theta)


@pytest.mark.parametrize(
    ("name", "rule"),
    [("budget", "Longest features"), ("matching", "TF-IDF"), ("recommendation", "Most rated")],
)
def test_heuristics_are_between_chance_and_the_best_on_generated_data(name: str, rule: str) -> None:
    config, domain = plan(name, quick=True), DOMAINS[name]
    data = InstanceCache().data(config, config.ks[0] if config.ks else None)
    assert by_chance(domain, data) * 1.2 < by_rule(domain, data, config, rule) < data.values.mean().item()


@pytest.mark.parametrize("name", ["budget", "recommendation", "facility"])
def test_budgets_share_features_and_parameters(name: str) -> None:
    domain = DOMAINS[name]
    data = domain.data(plan(name, quick=True))
    few, many = domain.at(data, 3), domain.at(data, 5)
    assert few.theta.data_ptr() == many.theta.data_ptr() == data.theta.data_ptr()
    assert few.problem.solve(data.theta[:4]).sum(-1).tolist() == [3.0] * 4
    assert many.problem.solve(data.theta[:4]).sum(-1).tolist() == [5.0] * 4
    assert domain.at(data, None) is data

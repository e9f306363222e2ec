from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from foresolve.errors import InvalidInputError
from foresolve.report.records import Config, Job
from foresolve.reproduce.domains.methods import Forest, Network, Rule
from foresolve.reproduce.runs import trial
from reproduce import tiny

EXACT = ("matching", "shortest-path", "knapsack")  # problems whose best decisions are known to be best

# With so few sites the decisions of the layer sit on vertices, which it says.
vertices = pytest.mark.filterwarnings("ignore::foresolve.errors.NoGradientWarning")
FACILITY = pytest.param("facility", marks=vertices)


@pytest.fixture(autouse=True)
def no_old_instances() -> Iterator[None]:
    trial._instances.cache_clear()
    yield
    trial._instances.cache_clear()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.shrink(monkeypatch)


# -- plan and jobs -------------------------------------------------------------------------------------------------


def test_a_plan_fills_everything_in() -> None:
    config = trial.plan("budget")
    assert (config.protocol, config.splits, config.ks, config.seed) == ("exact", 30, (5, 10, 20), 0)
    assert (config.quick, config.data, config.files, config.device) == (False, None, {}, "cpu")
    assert config.methods == tuple(trial.ALL["budget"].methods(config))
    quick = trial.plan("budget", quick=True)
    assert (quick.splits, quick.ks) == (3, (10,))
    assert trial.plan("matching").ks == ()
    assert Config.from_dict(config.to_dict()) == config


def test_a_plan_puts_things_in_order() -> None:
    config = trial.plan("budget", ks=[20, 5, 5], methods=["OPT", "NN1-Decision"], splits=4, seed=7)
    assert (config.ks, config.methods, config.splits, config.seed) == ((5, 20), ("NN1-Decision", "OPT"), 4, 7)


def test_every_domain_has_the_methods_of_the_paper() -> None:
    paper = {"NN1-Decision", "NN2-Decision", "NN1-2Stage", "NN2-2Stage", "RF-2Stage", "Random", "OPT"}
    for name, info in trial.DOMAINS.items():
        for protocol in ("exact", "paper") if name in trial.PAPER else ("exact",):
            methods = trial.plan(name, protocol=protocol).methods  # type: ignore[arg-type]
            assert paper <= set(methods)
            assert set(info.figure_methods) <= set(methods)
            assert protocol == "paper" or set(info.heuristics) <= set(methods)


@pytest.mark.parametrize(
    ("domain", "wrong", "message"),
    [
        ("chess", {}, "`domain` must be one of budget, matching, recommendation, .*; got 'chess'"),
        ("budget", {"protocol": "other"}, "`protocol` must be one of exact, paper; got 'other'"),
        ("knapsack", {"protocol": "paper"}, '`protocol` must be "exact" for knapsack'),
        ("matching", {"ks": [5]}, "`ks` must be not given for matching, which has no budget; got 5"),
        ("budget", {"ks": [0]}, "`ks` must be an integer >= 1; got 0"),
        ("budget", {"ks": [5, 31]}, "`ks` must be at most 30; got 31"),
        ("budget", {"methods": ["NN1-Decision", "NN9"]}, "`methods` must be among those of budget: NN1-.*; got 'NN9'"),
        ("budget", {"splits": 0}, "`splits` must be an integer >= 1; got 0"),
        ("budget", {"seed": -1}, "`seed` must be an integer >= 0; got -1"),
        ("budget", {"device": "cuda:99"}, "`device` must be one that is there"),
        ("knapsack", {"data": "somewhere"}, "`data` must be not given for knapsack, which is generated"),
        ("matching", {"protocol": "paper", "methods": ["Cosine-Decision"]}, "`methods` must be among"),
    ],
)
def test_wrong_arguments_are_told_before_any_work(domain: str, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        trial.plan(domain, **wrong)


@pytest.mark.parametrize(
    ("domain", "file"),
    [("matching", "cora.content"), ("recommendation", "user_ratedmovies")],
)
def test_a_data_folder_without_the_files_is_told(domain: str, file: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=rf"`data` must be a folder with .*{file}.*foresolve data list"):
        trial.plan(domain, data=tmp_path)
    with pytest.raises(InvalidInputError, match="`data` must be"):
        trial.plan(domain, data=tmp_path / "absent")


def test_files_are_known_by_their_checksum(tmp_path: Path) -> None:
    (tmp_path / "edges").mkdir()
    edges = [f"c{i % 100} u{i}\n" for i in range(500)]
    (tmp_path / "edges" / "edges.txt").write_text("".join(edges))
    one = trial.plan("budget", data=tmp_path)
    assert one.data == str(tmp_path.resolve())
    assert list(one.files) == ["edges.txt"]
    (tmp_path / "edges" / "edges.txt").write_text("".join([*edges, "c0 u1\n"]))
    assert trial.plan("budget", data=tmp_path).files != one.files
    (tmp_path / "edges" / "edges.txt").write_text("c0 u0\n")
    with pytest.raises(InvalidInputError, match="at least 100 channels and 500 customers; got 1 and 1"):
        trial.plan("budget", data=tmp_path)


def test_one_job_for_each_budget_where_training_depends_on_it() -> None:
    config = trial.plan("budget", splits=3, methods=["NN1-Decision", "RF-2Stage", "Longest features", "Random"])
    jobs = trial.jobs(config)
    assert len(jobs) == len(set(jobs)) == 3 * (3 + 3)
    of = {name: [job.ks for job in jobs if job.method == name and job.split == 1] for name in config.methods}
    assert of["NN1-Decision"] == [(5,), (10,), (20,)]
    assert of["RF-2Stage"] == of["Longest features"] == of["Random"] == [(5, 10, 20)]


def test_two_stage_networks_of_the_paper_are_trained_once() -> None:
    config = trial.plan("budget", protocol="paper", splits=1, methods=["NN1-Decision", "NN1-2Stage"])
    assert [job.ks for job in trial.jobs(config)] == [(5,), (10,), (20,), (5, 10, 20)]


def test_a_domain_without_budgets_has_one_job_for_each_method() -> None:
    config = trial.plan("matching", splits=2)
    jobs = trial.jobs(config)
    assert len(jobs) == 2 * len(config.methods)
    assert {job.ks for job in jobs} == {(None,)}
    assert jobs[0] == Job("matching", 0, "NN1-Decision", (None,))


# -- work ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("domain", [*(name for name in trial.ALL if name != "facility"), FACILITY])
def test_records_of_every_method(domain: str) -> None:
    config = tiny.config(domain, splits=1)
    table, info = trial.ALL[domain].methods(config), trial.DOMAINS[domain]
    found = tiny.done(config)
    assert set(found) == {(0, name, k) for name in config.methods for k in config.ks or (None,)}
    for (_, name, k), record in found.items():
        method = table[name]
        assert (record.domain, record.split, record.method, record.k) == (domain, 0, name, k)
        assert math.isfinite(record.value)
        assert record.optimum == found[0, "OPT", k].value
        learns = isinstance(method, Network | Forest)
        assert (record.validation is not None) == isinstance(method, Network | Rule), name
        has_layer = isinstance(method, Network) or (isinstance(method, Forest) and method.layer is not None)
        assert (record.fractional is not None) == has_layer, name
        assert bool(record.setting) == isinstance(method, Network), name
        for measure in info.measures:
            value = getattr(record, measure)
            assert not learns or (value is not None and math.isfinite(value)), (name, measure)
        if domain in EXACT:
            assert record.value <= record.optimum + 1e-5, name
        else:
            assert record.value <= 1.2 * record.optimum, name  # greedy on the truth is the best known, not the best


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("domain", trial.PAPER)
def test_the_protocol_of_the_paper(domain: str) -> None:
    config = tiny.config(domain, protocol="paper", splits=1)
    table = trial.ALL[domain].methods(config)
    for (_, name, _), record in tiny.done(config).items():
        assert math.isfinite(record.value)
        method = table[name]
        if isinstance(method, Network):
            assert record.validation is None
            assert record.fractional is not None
            assert (record.setting,) == method.settings


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("domain", ["budget", "matching", FACILITY])
def test_numbers_do_not_depend_on_what_was_done_before(domain: str) -> None:
    methods = ["NN1-Decision", "NN2-2Stage", "RF-2Stage", "Random", "OPT"]
    methods += ["Cosine-Decision", "TF-IDF"] if domain == "matching" else []  # with dropout
    config = tiny.config(domain, methods=methods)
    state = torch.get_rng_state()
    first = tiny.done(config)
    assert torch.equal(torch.get_rng_state(), state)
    trial._instances.cache_clear()
    torch.rand(3)
    assert tiny.done(config, backwards=True) == first
    if config.ks:
        fewer = tiny.done(tiny.config(domain, methods=methods, ks=config.ks[1:]))
        assert fewer == {key: record for key, record in first.items() if key[2] in config.ks[1:]}
    alone = tiny.done(tiny.config(domain, methods=methods[1:2], splits=1))
    assert alone.items() <= first.items()


@pytest.mark.usefixtures("small")
def test_seeds_and_splits_change_the_numbers() -> None:
    one = tiny.done(tiny.config("budget", methods=["NN1-2Stage", "Random", "OPT"], ks=[2]))
    other = tiny.done(tiny.config("budget", methods=["NN1-2Stage", "Random", "OPT"], ks=[2], seed=1))
    for name in ("NN1-2Stage", "Random", "OPT"):
        values = [found[split, name, 2].value for found in (one, other) for split in (0, 1)]
        assert len(set(values)) == 4, name


def test_a_random_decision_is_worse_than_a_rule_and_the_best(small: None) -> None:
    found = tiny.done(tiny.config("recommendation", methods=["Most rated", "Random", "OPT"], splits=1))
    for k in tiny.KS:
        chance, rule, best = (found[0, name, k].value for name in ("Random", "Most rated", "OPT"))
        assert chance < rule < best

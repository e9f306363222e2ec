from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch

from foresolve.data import DecisionDataset
from foresolve.models import RandomForest
from foresolve.report.records import Config, Job, JobResult, Record
from foresolve.reproduce import DOMAINS, InstanceCache, NetworkMethod, list_jobs, work
from foresolve.reproduce.domains.methods import depends_on_k
from foresolve.reproduce.domains.registry import published
from foresolve.reproduce.runs import trial
from foresolve.reproduce.runs.trial import Trial
from reproduce import tiny


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.shrink(monkeypatch)


# -- what is trained on what ---------------------------------------------------------------------------------------


@dataclass
class Seen:
    """Positions of the instances in what `fit` and `evaluate` were given, in the order of the calls."""

    fitted: list[tuple[list[int], list[int] | None, dict[str, Any]]]
    scored: list[list[int]]
    followed: list[list[int]]


def positions(part: DecisionDataset, everything: torch.Tensor) -> list[int]:
    same = (part.theta.flatten(1)[:, None] == everything.flatten(1)[None]).all(-1)
    assert same.sum(-1).eq(1).all()
    return same.float().argmax(-1).tolist()


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[[Config, str], Seen]:
    fit, evaluate, follow = trial.fit, trial.evaluate, trial.follow

    def watch(config: Config, method: str, split: int = 0) -> Seen:
        seen, theta = Seen([], [], []), tiny.data(config.domain, config.seed).theta

        def fitting(model: Any, loss: Any, train: Any, valid: Any = None, **how: Any) -> Any:
            seen.fitted.append((positions(train, theta), None if valid is None else positions(valid, theta), how))
            return fit(model, loss, train, valid, **how)

        def scoring(model: Any, data: Any, *others: Any, **how: Any) -> Any:
            seen.scored.append(positions(data, theta))
            return evaluate(model, data, *others, **how)

        def following(method: Any, model: Any, train: Any, source: Any) -> None:
            seen.followed.append(positions(train, theta))
            follow(method, model, train, source)

        with monkeypatch.context() as patch:
            patch.setattr(trial, "follow", following)
            patch.setattr(trial, "fit", fitting)
            patch.setattr(trial, "evaluate", scoring)
            k = config.ks[0] if config.ks else None
            work(config, Job(config.domain, split, method, (k,)), InstanceCache())
        return seen

    return watch


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("domain", ["budget", "recommendation", "shortest-path"])
def test_a_validation_part_chooses_among_the_settings(domain: str, watched: Callable[..., Seen]) -> None:
    config = tiny.config(domain)
    everything = set(range(len(tiny.data(config.domain))))
    decision, two_stage = (watched(config, f"NN1-{name}") for name in ("Decision", "2Stage"))
    test = decision.scored[-1]
    once = not depends_on_k(DOMAINS[domain].methods(config)["NN1-2Stage"])
    assert once == bool(config.ks)  # where there are budgets, two-stage training does not know them
    assert len(test) == round(0.2 * len(everything))
    method = DOMAINS[domain].methods(config)["NN1-Decision"]
    assert isinstance(method, NetworkMethod)
    assert len(decision.fitted) == len(method.settings)
    for train, valid, _ in decision.fitted + ([] if once else two_stage.fitted):
        assert valid is not None
        parts = [set(train), set(valid), set(test)]
        assert sum(map(len, parts)) == len(everything) == len(set.union(*parts))
        assert (train, valid) == decision.fitted[0][:2]
    assert two_stage.scored[-1] == test
    if once:
        train, valid, _ = decision.fitted[0]
        assert all(fitted[:2] == (train, None) for fitted in two_stage.fitted)
        assert all(scored in (valid, test) for scored in two_stage.scored)
    assert watched(config, "NN1-Decision", 1).scored[-1] != test
    assert watched(config, "RF-2Stage").scored[-1] == test


@pytest.mark.usefixtures("small")
def test_forests_see_all_training_instances(monkeypatch: pytest.MonkeyPatch, watched: Callable[..., Seen]) -> None:
    seen: list[int] = []
    fit = RandomForest.fit

    def spy(forest: RandomForest, train: DecisionDataset) -> RandomForest:
        seen.append(len(train))
        return fit(forest, train)

    monkeypatch.setattr(RandomForest, "fit", spy)
    config = tiny.config("budget")
    tests = len(watched(config, "RF-2Stage").scored[-1])
    assert seen == [len(tiny.data(config.domain)) - tests]


@pytest.mark.usefixtures("small")
def test_rules_are_validated_on_what_networks_are(watched: Callable[..., Seen]) -> None:
    config = tiny.config("budget")
    network, rule = watched(config, "NN1-Decision"), watched(config, "Longest features")
    assert rule.scored == [network.fitted[0][1], network.scored[-1]]
    config = tiny.config("matching")
    network, rule = watched(config, "NN1-Decision"), watched(config, "TF-IDF")
    assert rule.scored == [network.fitted[-1][0], network.scored[-1]]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", ["NN2-Decision", "Bilinear-2Stage", "Cosine-Decision"])
def test_folds_cover_the_training_instances_once(name: str, watched: Callable[..., Seen]) -> None:
    config = tiny.config("matching")
    method = DOMAINS["matching"].methods(config)[name]
    assert isinstance(method, NetworkMethod)
    assert method.folds > 1
    seen = watched(config, name)
    everything, test = set(range(len(tiny.data(config.domain)))), set(seen.scored[-1])
    *tried, (last, none, how) = seen.fitted
    assert none is None
    assert set(last) == everything - test
    assert 1 <= how["epochs"] <= method.epochs
    assert len(tried) == method.folds * len(method.settings)
    for start in range(0, len(tried), method.folds):
        held: list[int] = []
        for train, valid, _ in tried[start : start + method.folds]:
            assert valid is not None
            assert not set(train) & set(valid)
            assert set(train) | set(valid) == set(last)
            held += valid
        assert sorted(held) == sorted(last)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("domain", published())
def test_the_paper_does_not_validate(domain: str, watched: Callable[..., Seen]) -> None:
    config = tiny.config(domain, protocol="paper")
    seen = watched(config, "NN2-Decision")
    everything, test = set(range(len(tiny.data(domain)))), set(seen.scored[-1])
    assert all(set(scored) == test for scored in seen.scored)
    if domain != "matching":  # the recipe has a loop of its own
        assert seen.fitted == []
        ((visited,),) = {tuple(map(tuple, seen.followed))}
        assert set(visited) == everything - test
        return
    ((train, valid, how),) = seen.fitted
    assert valid is None
    assert how["batch_size"] == 1
    assert set(train) == everything - test


@pytest.mark.usefixtures("small")
def test_a_network_is_carried_from_budget_to_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the smaller ones of the domain, with a new optimizer and other draws; only "budget" does so."""
    stages: list[tuple[int, int, int]] = []

    def following(method: Any, model: Any, train: DecisionDataset, source: torch.Generator) -> None:
        stages.append((id(model), train.problem.matroid.rank, source.initial_seed()))  # type: ignore[attr-defined]

    monkeypatch.setattr(trial, "follow", following)
    work(tiny.config("budget", protocol="paper", ks=[6, 11]), Job("budget", 0, "NN1-Decision", (6, 11)))
    first, carried, again, further, last = stages
    assert [rank for _, rank, _ in stages] == [5, 6, 5, 10, 11]
    assert first[0] == carried[0] != again[0] == further[0] == last[0]
    assert len({seed for _, _, seed in stages}) == 4  # 5 has the same draws both times
    stages.clear()
    work(tiny.config("recommendation", protocol="paper", ks=[6, 11]), Job("recommendation", 0, "NN1-Decision", (11,)))
    assert [rank for _, rank, _ in stages] == [11]


def test_annealing_stops_where_the_longer_training_was(
    monkeypatch: pytest.MonkeyPatch, watched: Callable[..., Seen]
) -> None:
    """After cross-validation the chosen number of epochs goes through the first part of the schedule, not all of it."""
    tiny.shrink(monkeypatch, epochs=5)
    config = tiny.config("matching")
    method = DOMAINS["matching"].methods(config)["Bilinear-Annealed"]
    assert isinstance(method, NetworkMethod)
    assert method.anneal is not None
    setting = {**method.settings[0], "epochs": 3}
    monkeypatch.setattr(Trial, "_cross_validated", lambda self, method, data: (1.0, setting, {}))
    ((_, _, how),) = watched(config, "Bilinear-Annealed").fitted
    factors = [method.anneal(setting)(epoch / 4).factor for epoch in range(5)]  # type: ignore[union-attr]
    assert how["epochs"] == 3
    assert [how["anneal"](epoch / 2).factor for epoch in range(3)] == pytest.approx(factors[:3])
    assert factors[0] > 2 * factors[4]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", ["facility", "matching"])  # with a validation part, with folds
@pytest.mark.parametrize("rates", [(1e-9, 3e-2), (3e-2, 1e-9)])
def test_the_best_setting_on_validation_data_is_kept(
    name: str, rates: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A learning rate of nothing and one of something: the record says which, and its value."""
    config = tiny.config(name, methods=["NN1-2Stage"], splits=1, ks=[2] if name == "facility" else None)
    domain = DOMAINS[name]
    method = domain.methods(config)["NN1-2Stage"]
    assert isinstance(method, NetworkMethod)

    def record(*rates: float) -> Record:
        tried = replace(method, settings=tuple({"lr": lr} for lr in rates), epochs=10)
        monkeypatch.setitem(DOMAINS, name, replace(domain, methods=lambda config: {"NN1-2Stage": tried}))
        (result,) = tiny.done(config).values()
        return result

    alone, both = [record(rate) for rate in rates], record(*rates)
    better = max(alone, key=lambda record: record.validation or 0.0)
    assert alone[0].validation != alone[1].validation
    assert both == better
    assert 1 <= both.setting["epochs"] <= 10


@pytest.mark.usefixtures("small")
def test_one_training_serves_all_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Setting and epoch are those of the best validation at each budget, as if it had been trained for it alone."""
    config = tiny.config("budget", methods=["NN1-2Stage"], splits=1)
    method = DOMAINS["budget"].methods(config)["NN1-2Stage"]
    assert isinstance(method, NetworkMethod)
    together = tiny.done(config)
    alone = replace(DOMAINS["budget"], methods=lambda config: {"NN1-2Stage": replace(method, per_k=True)})
    monkeypatch.setitem(DOMAINS, "budget", alone)
    apart = tiny.done(config)
    assert together.keys() == apart.keys()
    for key, record in together.items():
        assert record.setting == apart[key].setting
        assert record.validation == pytest.approx(apart[key].validation)
        assert record.value == pytest.approx(apart[key].value)


# -- how trainings went ----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("domain", ["budget", "shortest-path"])
def test_a_record_has_the_course_of_the_training_that_was_chosen(domain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[Any] = []
    fit = trial.fit
    monkeypatch.setattr(trial, "fit", lambda *args, **how: (trained.append(fit(*args, **how)), trained[-1])[1])
    (record,) = outcome(domain, "NN1-Decision", (None,) if domain == "shortest-path" else (2,)).records
    assert len(trained) == len(DOMAINS[domain].methods(tiny.config(domain))["NN1-Decision"].settings)  # type: ignore[union-attr]
    regrets, errors = ([h.curve(column)[1] for h in trained] for column in ("valid_regret", "valid_mse"))
    near = functools.partial(pytest.approx, rel=1e-3)
    assert any(record.course == {"regret": near(r), "mse": near(e)} for r, e in zip(regrets, errors, strict=True))
    assert all(float(f"{number:.4g}") == number for numbers in record.course.values() for number in numbers if number)


@pytest.mark.usefixtures("small")
def test_one_training_for_all_budgets_has_the_course_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same as of a training for that budget alone, but for epoch 0, at which nobody looked."""
    together = outcome("budget", "NN1-2Stage", tiny.KS).records
    method = DOMAINS["budget"].methods(tiny.config("budget"))["NN1-2Stage"]
    assert isinstance(method, NetworkMethod)
    alone = replace(DOMAINS["budget"], methods=lambda config: {"NN1-2Stage": replace(method, per_k=True)})
    monkeypatch.setitem(DOMAINS, "budget", alone)
    for record in together:
        (expected,) = outcome("budget", "NN1-2Stage", (record.k,)).records
        assert record.setting["lr"] == expected.setting["lr"]
        for name, numbers in record.course.items():
            assert numbers[0] is None
            assert numbers[1:] == pytest.approx(expected.course[name][1:], rel=2e-3)
    assert together[0].course["regret"] != together[1].course["regret"]
    assert together[0].course["mse"] == together[1].course["mse"]


@pytest.mark.usefixtures("small")
def test_folds_have_a_mean_course_and_others_none() -> None:
    (record,) = outcome("matching", "NN1-2Stage", (None,)).records
    assert [len(numbers) for numbers in record.course.values()] == [tiny.EPOCHS + 1] * 2
    assert outcome("matching", "TF-IDF", (None,)).records[0].course == {}
    assert outcome("budget", "RF-2Stage", (2,)).records[0].course == {}
    paper = outcome("budget", "NN1-Decision", (2,), protocol="paper").records[0]
    assert paper.course == {}  # the published recipe does not validate


# -- pictures ------------------------------------------------------------------------------------------------------


def outcome(domain: str, method: str, at: tuple[int | None, ...], split: int = 0, **wanted: Any) -> JobResult:
    return work(tiny.config(domain, **wanted), Job(domain, split, method, at), InstanceCache())


@pytest.mark.usefixtures("small")
def test_a_picture_of_the_first_split_at_the_budget_of_the_figures() -> None:
    picture = outcome("budget", "NN1-2Stage", (10,), ks=[5, 10]).picture
    shapes = {name: array.shape for name, array in picture.items()}
    assert (shapes["theta"], shapes["theta_hat"]) == ((12, 30), (12, 30))
    assert (shapes["true_weight"], shapes["predicted_weight"]) == ((4, 12), (4, 12))
    assert (shapes["decision"], shapes["best_decision"]) == ((4, 12), (4, 12))  # of the instances to look at
    assert picture["true_weight"][0] == pytest.approx(picture["theta"].sum(-1), rel=1e-5)
    assert picture["predicted_weight"][0] == pytest.approx(picture["theta_hat"].sum(-1), rel=1e-5)
    assert outcome("budget", "NN1-2Stage", (5,), ks=[5, 10]).picture == {}
    assert outcome("budget", "NN1-2Stage", (10,), split=1, ks=[5, 10]).picture == {}
    assert outcome("budget", "NN1-2Stage", (5,), ks=[5, 7]).picture != {}  # the figures' own budget is not asked for
    assert outcome("budget", "OPT", (5, 10), ks=[5, 10]).picture == {}


@pytest.mark.usefixtures("small")
def test_pictures_of_pairs_and_none_of_vectors() -> None:
    assert outcome("matching", "TF-IDF", (None,)).picture["theta_hat"].shape == (8, 8)
    assert outcome("shortest-path", "RF-2Stage", (None,)).picture == {}


@pytest.mark.usefixtures("small")
def test_the_time_of_a_job_is_shared_among_its_records() -> None:
    records = outcome("budget", "Random", tiny.KS).records
    assert [record.k for record in records] == list(tiny.KS)
    assert records[0].seconds == records[1].seconds > 0


@pytest.mark.usefixtures("small")
def test_folds_add_up_negative_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs: the best value of a fold is negative, and regret is measured in units of its size."""
    config = tiny.config("shortest-path")
    table = DOMAINS["shortest-path"].methods(config)
    method = table["NN1-Decision"]
    assert isinstance(method, NetworkMethod)
    changed = replace(DOMAINS["shortest-path"], methods=lambda config: {"NN1-Decision": replace(method, folds=2)})
    monkeypatch.setitem(DOMAINS, "shortest-path", changed)
    config = replace(config, splits=1, methods=("NN1-Decision",))
    (job,) = list_jobs(config)
    cache = InstanceCache()
    (record,) = work(config, job, cache).records
    assert record.validation is not None
    everything = cache.data(config)
    assert record.validation < float(everything.values.mean()) * 0.5 < 0

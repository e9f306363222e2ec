from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from experiments.configs import BUDGET, MATCHING
from foresolve import InvalidInputError
from foresolve.experiments.comparison import (
    DECISION_FOCUSED,
    TWO_STAGE,
    UNTRAINED,
    Config,
    Instances,
    Result,
    bootstrap,
    compare,
)
from foresolve.experiments.demo import DEMOS, run_demos


@pytest.fixture(scope="module", params=[MATCHING, BUDGET], ids=lambda config: config.name)
def config(request: pytest.FixtureRequest) -> Config:
    return request.param


@pytest.fixture(scope="module")
def result(config: Config) -> Result:
    return compare(config)


def numbers(result: Result) -> tuple:
    rows = tuple(replace(row, seconds=None) for row in result.rows)
    return rows, tuple(trial.history for trial in result.trials), result.difference, result.validation_best


def test_the_same_seed_gives_the_same_numbers(config: Config, result: Result) -> None:
    before = torch.random.get_rng_state()
    assert numbers(compare(config)) == numbers(result)
    assert torch.equal(torch.random.get_rng_state(), before), "the global random state is the user's"


def test_another_seed_gives_others(config: Config, result: Result) -> None:
    assert numbers(compare(replace(config, seed=1))) != numbers(result)


def test_rows_are_measured_against_the_last(result: Result) -> None:
    rows = {row.name: row for row in result.rows}
    assert list(rows) == [result.story.random, UNTRAINED, TWO_STAGE, DECISION_FOCUSED, result.story.best]
    best = rows[result.story.best]
    assert best.normalised_regret == 0
    for row in rows.values():
        assert row.normalised_regret == pytest.approx(1 - row.value / best.value, abs=1e-6)
    mean, low, high = result.difference
    assert mean == pytest.approx(rows[DECISION_FOCUSED].value - rows[TWO_STAGE].value, abs=1e-4)
    assert low <= mean <= high


def test_the_kept_weights_are_those_of_the_best_validation_epoch(config: Config, result: Result) -> None:
    assert [(trial.method, trial.rate, trial.gamma) for trial in result.trials] == config.candidates
    for method, trial in result.chosen.items():
        rivals = [other for other in result.trials if other.method == method]
        assert trial.best == max(other.best for other in rivals)
        assert trial.history[trial.epoch - 1] == trial.best


def test_validation_and_test_instances_are_kept_apart(config: Config) -> None:
    domain = config.domain(torch.Generator().manual_seed(0))
    assert tuple(map(len, domain.instances)) == config.sizes
    flat = torch.cat([part.theta.flatten(1) for part in domain.instances])
    assert len(flat.unique(dim=0)) == sum(config.sizes)


def test_an_epoch_sees_every_instance_once() -> None:
    data = Instances(torch.arange(7.0), torch.arange(7.0))
    seen = list(data.batches(3, torch.Generator().manual_seed(0)))
    assert [len(part) for part in seen] == [3, 3, 1]
    assert sorted(torch.cat([part.theta for part in seen]).tolist()) == list(range(7))


def test_progress_counts_the_epochs_of_all_parts() -> None:
    seen: list[tuple[int, int, str]] = []
    results = run_demos([MATCHING, BUDGET], lambda done, total, what: seen.append((done, total, what)))
    total = 2 * (2 * 3 + 2 * 2)
    assert [done for done, _, _ in seen] == list(range(1, total + 1))
    assert {all_ for _, all_, _ in seen} == {total}
    assert (seen[0][2], seen[-1][2]) == (f"matching, {TWO_STAGE}", f"budget, {DECISION_FOCUSED}")
    assert [result.config for result in results] == [MATCHING, BUDGET]
    assert list(DEMOS) == ["matching", "budget"]


def test_bootstrap_interval() -> None:
    generator = torch.Generator().manual_seed(0)
    sample = torch.randn(400, generator=generator) + 1
    mean, low, high = bootstrap(sample, 4000, generator)
    assert mean == pytest.approx(sample.mean().item(), abs=1e-6)
    assert high - low == pytest.approx(2 * 1.96 * sample.std().item() / 20, rel=0.1)


@pytest.mark.parametrize("change", [{"epochs": 0}, {"seed": -1}, {"hidden": 2.5}, {"gammas": ()}])
def test_bad_settings_are_named(config: Config, change: dict) -> None:
    with pytest.raises(InvalidInputError, match=f"`{next(iter(change))}` must be"):
        replace(config, **change)

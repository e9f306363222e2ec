from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from foresolve import InvalidInputError
from foresolve.experiments.matching_demo import (
    DECISION_FOCUSED,
    TWO_STAGE,
    DemoConfig,
    DemoResult,
    Rule,
    bootstrap,
    run_demo,
)
from foresolve.experiments.matching_report import HEADERS, report_html, table_rows, verdict, write_report
from foresolve.experiments.report import line_chart, write_whole

TINY = DemoConfig(
    epochs=2, side=5, train=12, validation=6, test=8, batch=6, two_stage_rates=(0.03,), decision_rates=(0.03,),
    gammas=(0.3, 1.0), resamples=200,
)  # fmt: skip


@pytest.fixture(scope="module")
def result() -> DemoResult:
    return run_demo(TINY)


def numbers(result: DemoResult) -> tuple:
    rows = tuple(replace(row, seconds=None) for row in result.rows)
    return rows, tuple(trial.history for trial in result.trials), result.difference, result.validation_limits


def test_the_same_seed_gives_the_same_numbers(result: DemoResult) -> None:
    assert numbers(run_demo(TINY)) == numbers(result)


def test_another_seed_gives_others(result: DemoResult) -> None:
    assert numbers(run_demo(replace(TINY, seed=1))) != numbers(result)


def test_the_global_random_state_is_left_alone() -> None:
    before = torch.random.get_rng_state()
    run_demo(TINY)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_rows_are_ordered_by_what_they_know(result: DemoResult) -> None:
    rows = {row.name: row for row in result.rows}
    assert list(rows) == ["random matching", TWO_STAGE, DECISION_FOCUSED, "optimum"]
    assert rows["optimum"].normalised_regret == 0
    assert all(0 <= row.normalised_regret <= 1 for row in rows.values())
    assert all(row.value <= rows["optimum"].value for row in rows.values())
    gap = rows[DECISION_FOCUSED].value - rows[TWO_STAGE].value
    mean, low, high = result.difference
    assert mean == pytest.approx(gap, abs=1e-4)
    assert low <= mean <= high


def test_the_kept_weights_are_those_of_the_best_validation_epoch(result: DemoResult) -> None:
    assert len(result.trials) == 3
    for method, trial in result.chosen.items():
        rivals = [other for other in result.trials if other.method == method]
        assert trial.best == max(other.best for other in rivals)
        assert trial.history[trial.epoch - 1] == trial.best


def test_progress_counts_every_epoch() -> None:
    seen: list[tuple[int, int, str]] = []
    run_demo(TINY, lambda done, total, what: seen.append((done, total, what)))
    total = 2 * 3 + 2 * 2
    assert [done for done, _, _ in seen] == list(range(1, total + 1))
    assert {all_ for _, all_, _ in seen} == {total}
    assert seen[0][2] == TWO_STAGE
    assert seen[-1][2] == DECISION_FOCUSED


def test_decision_focused_training_improves_the_validation_value() -> None:
    config = replace(TINY, epochs=15, side=8, train=40, validation=20, two_stage_epochs=1)
    trial = run_demo(config).chosen[DECISION_FOCUSED]
    assert trial.best > trial.history[0] + 0.1


def test_what_is_common_to_all_perfect_matchings_makes_most_of_the_variance() -> None:
    generator = torch.Generator().manual_seed(0)
    theta = Rule(6, generator).instances(50, 20, generator).theta.reshape(-1, 20, 20)
    common = theta.mean(1, keepdim=True) + theta.mean(2, keepdim=True) - theta.mean((1, 2), keepdim=True)
    assert (theta > 0).all()
    assert (theta - common).var() < 0.25 * theta.var()


def test_bootstrap_interval() -> None:
    generator = torch.Generator().manual_seed(0)
    sample = torch.randn(400, generator=generator) + 1
    mean, low, high = bootstrap(sample, 4000, generator)
    assert mean == pytest.approx(sample.mean().item(), abs=1e-6)
    assert high - low == pytest.approx(2 * 1.96 * sample.std().item() / 20, rel=0.1)


@pytest.mark.parametrize("change", [{"epochs": 0}, {"seed": -1}, {"side": 2.5}, {"gammas": ()}])
def test_bad_settings_are_named(change: dict) -> None:
    with pytest.raises(InvalidInputError, match=f"`{next(iter(change))}` must be"):
        replace(TINY, **change)


def test_the_report_is_well_formed_and_complete(result: DemoResult) -> None:
    html = report_html(result)
    tree = ET.fromstring(html.removeprefix("<!DOCTYPE html>\n"))
    text = " ".join(tree.itertext())
    for row in table_rows(result):
        assert len(row) == len(HEADERS)
        assert all(cell in text for cell in row)
    for piece in ("seed", "gammas", "torch", "foresolve", verdict(result)):
        assert piece in text
    assert len(list(tree.iter("polyline"))) == 2
    assert "<script" not in html
    assert "http" not in html


def test_the_verdict_follows_the_interval(result: DemoResult) -> None:
    assert "decision-focused is better" in verdict(replace(result, difference=(2.0, 1.0, 3.0)))
    assert "two-stage is better" in verdict(replace(result, difference=(-2.0, -3.0, -1.0)))
    assert "do not tell them apart" in verdict(replace(result, difference=(0.0, -1.0, 1.0)))


def test_charts_take_flat_and_short_series() -> None:
    chart = ET.fromstring(line_chart({"a & b": [1.0]}, {"level": 1.0}, x_label="epoch", y_label="value"))
    assert any("a & b" in (text or "") for text in chart.itertext())


def test_reports_are_written_whole_or_not_at_all(
    result: DemoResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_report(result, tmp_path / "new" / "folder")
    assert path.read_text(encoding="utf-8") == report_html(result)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_whole(path, "half")
    assert path.read_text(encoding="utf-8") == report_html(result)
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]

"""Blocks in `evaluate` and `compare`."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from foresolve.data import DecisionDataset
from foresolve.learning import Report, compare, evaluate
from foresolve.learning.blocks import as_block, described, same_block
from foresolve.learning.paired import Standing, paired
from foresolve.problems import TopK
from learning.instances import model, top_k_data
from mistakes import caution, mistake

RNG = np.random.default_rng(5)
OPTIMUM = 5 + RNG.random(60)
WEEKS = np.arange(60) // 7  # eight weeks, and four days


def ar(count: int, seed: int, phi: float = 0.8) -> np.ndarray:
    noise, values = np.random.default_rng(seed).normal(size=count + 100), np.zeros(count + 100)
    for i in range(1, len(values)):
        values[i] = phi * values[i - 1] + noise[i]
    return values[100:]


def report(regret: np.ndarray, block: Any = None, weight: np.ndarray | None = None, **options: Any) -> Report:
    columns = {"value": OPTIMUM - regret, "optimum": OPTIMUM, "regret": regret}
    columns |= {} if weight is None else {"weight": weight}
    block = as_block("block", block, len(regret))
    return Report.of(columns, None, {"decision": 0.0, "prediction": 0.0}, True, 300, 0.95, 0, block=block, **options)


def width(pair: tuple[float, float] | None) -> float:
    assert pair is not None
    return pair[1] - pair[0]


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", "b", 7],
        ("b", "a", "b", "c"),
        np.array([3, -1, 3, 8]),
        np.array([0.5, 1.5, 0.5, 2.5]),
        torch.tensor([3, 1, 3, 0]),
        pd.Series(["x", "y", "x", "z"], index=[9, 8, 7, 6]),
        pd.Series(pd.to_datetime(["2024-01-08", "2024-01-01", "2024-01-08", "2024-01-15"])),
        pd.Categorical(["x", "y", "x", "z"]),
        np.array(["2024-02", "2024-01", "2024-02", "2024-03"], dtype="datetime64[M]"),
    ],
)
def test_labels_of_any_kind_are_numbered_by_first_appearance(labels: Any) -> None:
    assert as_block("block", labels, 4).tolist() == [0, 1, 0, 2]  # type: ignore[union-attr]


def test_lengths() -> None:
    for seven in (7, np.int64(7), torch.tensor(7), np.array(7)):
        found = as_block("block", seven, 7)
        assert type(found) is int
        assert found == 7
    assert as_block("block", 1, 5) is None
    assert as_block("block", None, 5) is None


@pytest.mark.parametrize(
    ("block", "got"),
    [
        (0, "0"),
        (-3, "-3"),
        (2.5, "2.5"),
        (True, "True"),
        (61, "61"),
        ("week", "'week'"),
        (range(59), "59 labels"),
        (np.zeros((60, 1)), "an array of shape (60, 1)"),
        ({1, 2}, "set"),
        ([None, *range(59)], "None at [0]"),
        ([0.0, math.nan, *range(58)], "nan at [1]"),
        (pd.Series([pd.NA, *range(59)]), "<NA> at [0]"),
        (np.array(["2024-01-01", *["NaT"] * 59], dtype="datetime64[ns]"), "NaT at [1]"),
        ([[1, 2], [3], *range(58)], "[1, 2] at [0]"),
    ],
)
def test_what_is_no_block_is_refused_before_any_work(block: Any, got: str) -> None:
    def never(features: Tensor) -> Tensor:
        raise AssertionError

    for call in (
        lambda: evaluate(never, top_k_data(60), block=block),
        lambda: compare({"a": report(np.ones(60))}, block=block),
    ):
        with mistake("block") as caught:
            call()
        assert caught.value.got == got


def test_sameness_and_words() -> None:
    assert same_block(None, None)
    assert same_block(np.array([0, 1]), np.array([0, 1]))
    for first, second in ((None, 2), (3, 2), (2, np.array([0, 1])), (np.array([0, 0]), np.array([0, 1]))):
        assert not same_block(first, second)
        assert not same_block(second, first)
    assert [described(block, 60) for block in (None, 7, 40)] == ["", "8 blocks of 7", "1 block of 40"]
    assert [described(as_block("block", labels, 60), 60) for labels in (WEEKS, np.ones(60))] == ["9 groups", "1 group"]


def test_no_block_is_as_it_was_and_a_block_of_one_is_none() -> None:
    data = top_k_data(40)
    plain, one = evaluate(model(), data), evaluate(model(), data, block=1)
    assert plain.intervals == one.intervals
    assert plain.block is one.block is None
    assert str(plain).splitlines()[0] == "40 instances"
    assert plain.to_dict()["block"] is None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("block", [6, WEEKS])
def test_intervals_of_rows_that_depend_on_each_other_are_wider(block: Any, weighted: bool) -> None:
    theta = torch.as_tensor(ar(60, 1))[:, None] * torch.tensor([1.0, -1.0])
    weights = torch.as_tensor(1 + np.random.default_rng(0).random(60)) if weighted else None
    data = DecisionDataset(torch.zeros(60, 1), theta, TopK(2, 1), weights=weights)

    def always(features: Tensor) -> Tensor:
        return torch.tensor([[1.0, 0.0]]).expand(len(features), -1)

    def hit(x: Tensor, y: Tensor) -> Tensor:
        return (x == y).all(-1).double()

    plain, blocks = (evaluate(always, data, metric=hit, block=b, batch_size=11) for b in (None, block))
    assert blocks.intervals.keys() == plain.intervals.keys()
    for name in ("value", "regret", "normalized_regret", "hit"):
        assert width(blocks.intervals[name]) > 1.2 * width(plain.intervals[name])
        mean = blocks.metrics[name] if name == "hit" else getattr(blocks, name)
        assert blocks.intervals[name][0] < mean < blocks.intervals[name][1]
    assert blocks.metrics == plain.metrics


def test_weights_are_those_of_repeated_instances_within_a_group() -> None:
    data, counts = top_k_data(30), torch.arange(30) % 4
    groups = torch.arange(30) // 5
    heavy = DecisionDataset(data.features, data.theta, data.problem, weights=counts)
    repeated = data.subset(torch.arange(30).repeat_interleave(counts))
    first = evaluate(model(), heavy, block=groups)
    second = evaluate(model(), repeated, block=groups.repeat_interleave(counts))
    for name in ("value", "normalized_regret", "mse"):
        assert first.intervals[name] == pytest.approx(second.intervals[name])


def test_decisions_on_record() -> None:
    y = torch.eye(2)[torch.arange(20) % 2]
    data = DecisionDataset(torch.zeros(20, 1), decisions=y, problem=TopK(2, 1))
    scored = evaluate(lambda features: torch.tensor([[1.0, 0.0]]).expand(len(features), -1), data, block=4)
    assert scored.intervals["hamming"] == (0.5, 0.5)  # each block has two of either
    assert compare({"a": scored, "b": scored})["b"].interval == (0.0, 0.0)


def test_a_report_says_what_was_resampled() -> None:
    blocks, groups = (evaluate(model(), top_k_data(60), block=block) for block in (7, [f"w{w}" for w in WEEKS]))
    assert blocks.block == 7
    assert isinstance(groups.block, np.ndarray)
    assert groups.block.tolist() == WEEKS.tolist()
    assert str(blocks).splitlines()[0] == "60 instances, resampled by 8 blocks of 7"
    assert str(groups).splitlines()[0] == "60 instances, resampled by 9 groups"
    assert [json.loads(json.dumps(r.to_dict()))["block"] for r in (blocks, groups)] == [7, "9 groups"]


@pytest.mark.parametrize("block", [31, 60, np.zeros(60)])
def test_fewer_than_two_blocks_have_no_interval_and_p_is_one(block: Any) -> None:
    single = report(np.ones(60), block)
    assert single.intervals == {}
    row = compare({"a": single, "b": report(np.ones(60) + RNG.random(60), block)})["b"]
    assert (row.interval, row.normalized_interval, row.p_value) == (None, None, 1.0)
    assert row.gained < 0


def test_units_of_tests_are_blocks_and_groups() -> None:
    first, second = RNG.random(60), RNG.random(60) + 0.1 * ar(60, 2)
    weight = 1 + RNG.random(60)
    run = np.minimum(np.arange(60) // 7, 7)
    for block, groups in ((7, run), (WEEKS, WEEKS)):
        for w in (np.ones(60), weight):
            reports = {"a": report(first, block, w), "b": report(second, block, w)}
            totals = np.bincount(groups, w)
            row, means = compare(reports)["b"], np.bincount(groups, w * (first - second)) / totals
            expected = paired("b", "a", means, totals)
            assert row.units == len(means)
            assert row.gained == pytest.approx(expected.gained)
            assert row.p_value == pytest.approx(expected.p_value)


def test_rows_without_a_number_take_no_part() -> None:
    own = RNG.random(60)
    own[WEEKS == 3] = np.nan
    own[::5] = np.nan
    known = ~np.isnan(own)
    columns = {"value": OPTIMUM, "optimum": OPTIMUM, "regret": np.zeros(60)}
    seconds = {"decision": 0.0, "prediction": 0.0}
    settings = (None, seconds, True, 4000, 0.95, 0)
    for block in (7, as_block("block", WEEKS, 60)):
        reports = {
            "a": Report.of(columns | {"own": np.where(known, 0.0, np.nan)}, *settings, metrics=("own",), block=block),
            "b": Report.of(columns | {"own": own}, *settings, metrics=("own",), block=block),
        }
        row = compare(reports, measure="own", more_is_better=True)["b"]
        assert row.gained == pytest.approx(own[known].mean())
        assert row.units == (7 if isinstance(block, int) else 8)  # one week has no number
        assert row.interval == pytest.approx(reports["b"].intervals["own"], abs=0.1)
        assert row.standing is Standing.AHEAD
    kept = Report.of(
        {name: column[known] for name, column in (columns | {"own": own}).items()}, *settings,
        metrics=("own",), block=as_block("block", WEEKS[known], int(known.sum())),
    )  # fmt: skip
    assert reports["b"].intervals["own"] == pytest.approx(kept.intervals["own"], abs=0.02)


def test_compare_takes_the_block_of_the_reports() -> None:
    first, second = RNG.random(60), RNG.random(60) + 0.3 * ar(60, 3)
    plain = compare({"a": report(first), "b": report(second)})
    for block, words in ((7, "8 blocks of 7"), (WEEKS, "9 groups")):
        reports = {"a": report(first, block), "b": report(second, block)}
        by_reports = compare(reports, bootstrap=300)
        assert by_reports.rows == compare({"a": report(first), "b": report(second)}, block=block, bootstrap=300).rows
        assert by_reports["b"].normalized_interval == reports["b"].intervals["normalized_regret"]
        assert by_reports["b"].p_value != plain["b"].p_value
        assert by_reports.blocks == words
        assert str(by_reports).startswith(f"60 instances in {words}; ")
        assert compare(reports, block=1) == plain
    assert plain.blocks == ""


def test_reports_of_other_blocks_are_refused() -> None:
    plain, seven, weeks = (report(np.ones(60), block) for block in (None, 7, WEEKS))
    others = report(np.ones(60), WEEKS[::-1] // 2)
    with mistake("reports", "'b' by 8 blocks of 7", "'a' by instances"):
        compare({"a": plain, "b": seven})
    with mistake("reports", "'b' by 9 groups", "'a' by 8 blocks of 7"):
        compare({"a": seven, "b": weeks})
    with mistake("reports", "'b'", "'a'", "groups"):
        compare({"a": weeks, "b": others})
    assert compare({"a": plain, "b": seven, "c": weeks, "d": others}, block=7)["d"].gained == 0


def test_labels_of_other_names_are_the_same_groups() -> None:
    first, second = report(np.ones(60), WEEKS), report(np.ones(60), [f"week {w}" for w in WEEKS])
    assert compare({"a": first, "b": second}).blocks == "9 groups"


def test_tests_by_blocks_hold_their_level_where_those_by_rows_do_not() -> None:
    by_rows = by_blocks = 0
    for seed in range(200):
        reports = {"a": report(np.zeros(60)), "b": report(ar(60, seed, 0.6))}
        by_rows += (compare(reports, bootstrap=0)["b"].p_value or 0.0) < 0.05
        by_blocks += (compare(reports, block=10, bootstrap=0)["b"].p_value or 0.0) < 0.05
    assert by_rows > 40
    assert by_blocks < 24


def test_a_part_in_another_order_is_warned_of() -> None:
    data = top_k_data(40)
    shuffled, ordered = data.split(0.5)[0], data.split(0.5, shuffle=False)[1]
    with caution("`block=5`", "5 instances"):
        evaluate(model(), shuffled, block=5)
    for part, block in ((ordered, 5), (shuffled, shuffled.positions // 5), (shuffled, None)):
        evaluate(model(), part, block=block)  # warnings are errors in these tests


def test_labels_of_the_whole_fit_folds_by_their_positions() -> None:
    data, weeks = top_k_data(60), torch.as_tensor(WEEKS)
    whole = evaluate(model(), data, bootstrap=0)
    for train, valid in data.folds(3):
        assert torch.equal(valid.features, data.features[valid.positions])
        assert torch.equal(train.features, data.features[train.positions])
        assert sorted([*train.positions.tolist(), *valid.positions.tolist()]) == list(range(60))
        scored = evaluate(model(), valid, block=weeks[valid.positions])
        assert scored.instances["regret"] == pytest.approx(whole.instances["regret"][valid.positions.numpy()])
        assert "regret" in scored.intervals

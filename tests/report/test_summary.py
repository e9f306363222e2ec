"""Means, intervals, the choice on validation data, paired differences."""

from __future__ import annotations

import numpy as np
import pytest

from foresolve.learning.paired import IntervalRule, Standing
from foresolve.report.records import MethodInfo
from foresolve.report.summary import chosen, differences, estimate, pairs, summary, ways
from foresolve.reproduce.domains.methods import METHODS
from reproduce.fakes import record


def test_the_interval_is_the_percentile_bootstrap() -> None:
    rng = np.random.default_rng(0)
    sample = rng.exponential(size=30)
    interval = estimate(sample)
    means = rng.choice(sample, (20_000, 30)).mean(1)
    assert interval.mean == pytest.approx(sample.mean())
    assert [interval.low, interval.high] == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=0.02)
    assert interval.half == pytest.approx((interval.high - interval.low) / 2)  # type: ignore[operator]
    assert estimate(sample) == interval
    assert estimate(sample, seed=1) != interval


def test_one_split_has_no_interval_and_equal_ones_an_empty_one() -> None:
    single = estimate([3.0])
    assert (single.mean, single.low, single.high, single.half, single.splits) == (3.0, None, None, None, 1)
    equal = estimate([0.1] * 7)
    assert equal.half == pytest.approx(0.0, abs=1e-15)


def test_rows_have_what_every_split_has() -> None:
    records = [
        record(0, "A", 1.0, fractional=1.5, auc=0.5),
        record(1, "A", 3.0, fractional=2.5, auc=None),
        record(0, "B", 5.0, fractional=5.0),
        record(1, "B", 7.0),
    ]
    a, b = summary(records, ["B", "A"])[::-1]
    assert (a.method, a.value.mean, a.value.splits) == ("A", 2.0, 2)
    assert a.fractional is not None
    assert a.fractional.mean == 2.0
    assert a.measures["auc"].splits == 1
    assert set(a.measures) == {"auc"}
    assert b.fractional is None
    assert b.shown("paper") == b.value
    assert (a.basis("paper"), a.basis("exact"), b.basis("paper")) == ("fractional", "rounded", "rounded")
    assert a.share() == pytest.approx(2 / 40)


def test_the_order_of_records_does_not_matter_and_the_last_of_two_counts() -> None:
    records = [record(i, m, float(i) / 3, validation=1.0) for i in range(9) for m in ("A", "B")]
    assert summary(records[::-1], ["A", "B"]) == summary(records, ["A", "B"])
    again = [*records, record(0, "A", 99.0, validation=1.0)]
    assert summary(again)[0].value.mean == pytest.approx(sum(range(9)) / 27 + 11)
    assert summary(again)[0].value.splits == 9


def test_chosen_takes_the_largest_validation_value_in_each_split_and_budget() -> None:
    records = [
        record(0, "A", 1.0, validation=5.0, k=5),
        record(0, "B", 2.0, validation=4.0, k=5),
        record(1, "A", 3.0, validation=4.0, k=5),
        record(1, "B", 4.0, validation=5.0, k=5),
        record(0, "A", 8.0, validation=1.0, k=10),
        record(0, "B", 9.0, validation=1.0, k=10),
        record(0, "OPT", 40.0, validation=40.0, k=5),
        record(0, "Random", 0.0, k=5),
    ]
    choices = chosen(records, ["B", "A"])
    assert [(r.k, r.split, r.value, r.setting["method"]) for r in choices] == [
        (5, 0, 1.0, "A"),
        (5, 1, 4.0, "B"),
        (10, 0, 9.0, "B"),  # a tie goes to the first of the methods
    ]
    assert {r.method for r in choices} == {"Chosen"}


def test_chosen_waits_for_all_and_is_nothing_for_one() -> None:
    half = [record(0, "A", 1.0, validation=1.0), record(0, "B", 2.0, validation=2.0)]
    assert [r.split for r in chosen([*half, record(1, "A", 1.0, validation=1.0)])] == [0]
    assert chosen([half[0]]) == []


def test_rows_come_in_the_order_of_the_methods_references_last() -> None:
    names = ["OPT", "Random", "Z-Decision", "A-Decision"]
    records = [record(0, name, 1.0, validation=1.0 if "Dec" in name else None) for name in names]
    assert [row.method for row in summary(records, names)] == ["Z-Decision", "A-Decision", "Chosen", "Random", "OPT"]


def test_pairs() -> None:
    methods = ["NN2-Decision", "NN2-SPO+", "NN2-2Stage", "RF-2Stage", "Cosine-Decision", "TF-IDF", "Chosen", "Random"]
    assert pairs(methods, {**METHODS, "TF-IDF": MethodInfo("heuristic"), "Random": MethodInfo("reference")}) == [
        ("NN2-Decision", "NN2-2Stage"),
        ("NN2-SPO+", "NN2-2Stage"),
        ("Chosen", "TF-IDF"),
    ]


def test_variants_are_held_against_the_two_stage_training_of_their_architecture() -> None:
    longer = MethodInfo("two-stage", "NN2", "2Stage", "2 epochs")
    known = {**METHODS, "longer": longer, "NN3": MethodInfo("decision-focused", "NN3"), "rule": MethodInfo("heuristic")}
    methods = ["NN1-Decision (code rate)", "NN2-Decision (exact layer)", "NN1-2Stage", "NN2-2Stage", "longer", "NN3",
               "rule", "unknown"]  # fmt: skip
    assert pairs(methods, known) == [
        ("NN1-Decision (code rate)", "NN1-2Stage"),
        ("NN2-Decision (exact layer)", "NN2-2Stage"),
        ("longer", "NN2-2Stage"),
    ]


def test_the_best_by_steps_is_that_of_the_same_splits() -> None:
    records = [record(i, "OPT", 40.0, fractional=10.0 * (i + 1)) for i in range(3)]
    records += [record(i, "A", 5.0, fractional=4.0) for i in range(2)]
    records += [record(i, "B", 5.0, fractional=4.0) for i in range(4)]  # one split more than OPT
    a, b, opt = summary(records)
    assert a.ascent == pytest.approx(15.0)
    assert a.share("paper") == pytest.approx(4 / 15)
    assert (a.share(), a.by_steps("paper"), a.by_steps("exact")) == (pytest.approx(5 / 40), True, False)
    assert (b.ascent, b.by_steps("paper"), b.share("paper")) == (None, False, pytest.approx(4 / 40))
    assert opt.share("paper") == pytest.approx(1.0)


def test_differences_are_paired() -> None:
    rng = np.random.default_rng(0)
    luck = rng.normal(scale=10, size=12)
    records = [
        r
        for i in range(12)
        for r in (
            record(i, "NN1-Decision", luck[i] + 1 + 0.1 * rng.normal(), fractional=luck[i]),
            record(i, "NN1-2Stage", luck[i], fractional=luck[i] + 2),
        )
    ]
    (difference,) = differences(records[:-1], METHODS)
    assert difference.units == 11
    assert difference.gained == pytest.approx(1.0, abs=0.1)
    assert difference.standing is Standing.AHEAD
    assert (difference.rule, difference.p_value) == (IntervalRule.BOOTSTRAP, None)
    (fractional,) = differences(records, METHODS, protocol="paper")
    assert (fractional.basis, fractional.standing) == ("fractional", Standing.BEHIND)
    assert fractional.gained == pytest.approx(-2.0)


def test_rounding_noise_does_not_decide() -> None:
    records = [r for i in range(5) for r in (record(i, "NN1-Decision", 0.1 + 0.2), record(i, "NN1-2Stage", 0.3))]
    (difference,) = differences(records, METHODS)
    assert difference.gained == 0
    assert difference.standing is Standing.LEVEL
    assert differences(records[:2], METHODS)[0].standing is Standing.UNKNOWN


def test_shares_of_the_way_are_paired_by_split() -> None:
    """Splits differ much more than methods do: what they share cancels, and no share is above the best."""
    rng = np.random.default_rng(0)
    records = []
    for split, level in enumerate(rng.uniform(10, 100, 12)):
        share = 0.9 + 0.01 * rng.standard_normal()
        worth = {"A-Decision": share * level + (1 - share) * level / 4, "Random": level / 4, "OPT": level}
        records += [record(split, method, value) for method, value in worth.items()]
    shares = ways(records)
    assert set(shares) == {("A-Decision", None)}
    found = shares["A-Decision", None]
    assert found.mean == pytest.approx(0.9, abs=0.01)
    assert found.low is not None
    assert found.high is not None
    assert 0.88 < found.low < found.mean < found.high < 0.92
    lone = ways([r for r in records if r.split == 0])["A-Decision", None]
    assert (lone.low, lone.high) == (None, None)


def test_without_random_or_best_decisions_there_is_no_way() -> None:
    both = [record(split, method, value) for split in range(3) for method, value in (("A", 2.0), ("OPT", 3.0))]
    assert ways(both) == {}
    assert ways([*both, *(record(split, "Random", 3.0) for split in range(3))]) == {}
    assert set(ways([*both, *(record(split, "Random", 1.0) for split in range(2))])) == {("A", None)}

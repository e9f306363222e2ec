from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foresolve.learning.inference import mean_difference
from foresolve.learning.study.contrast import MethodRow
from foresolve.learning.study.methods import Family
from foresolve.learning.study.verdict import Verdict, judge
from learning.study.instances import compared, method_row

PAYS, UNSURE = (0.84, 1.8), (-1.9, 2.1)


def row(name: str, gained: float, interval: tuple[float, float] | None) -> MethodRow:
    return method_row(name, gained, interval, reference="ridge")


def verdict(
    *rows: MethodRow, units: int = 100, sense: str = "min", regret: float = 10.0, hurried: str = "",
    reach: float = math.inf,
) -> Verdict:  # fmt: skip
    reference = method_row("ridge", reference="ridge", family=Family.TWO_STAGE, regret=regret)
    comparison = compared("ridge", reference, *rows, units=units, sense=sense)
    validated = {row.name: float(i) for i, row in enumerate(rows)}
    return judge(comparison, validated, worthwhile=0.05, units="minutes", hurried=hurried, reach=reach)


def test_the_sentences() -> None:
    """The words of all verdicts, in one place."""
    spo = row("spo+", 1.31, PAYS)
    worse, level = row("spo+", -0.1, (-0.4, 0.2)), row("decision", 0.1, (-0.2, 0.45))
    assert [
        verdict(spo).sentence,
        verdict(spo, sense="max").sentence,
        verdict(spo, regret=-3.0).sentence,
        verdict(worse, level).sentence,
        verdict(worse, level, sense="max").sentence,
        verdict(row("spo+", -1.31, (-1.8, -0.84)), regret=-3.0).sentence,
        verdict(row("spo+", 0.0, (0.0, 0.0))).sentence,
        verdict(row("spo+", -0.5, (-0.8, -0.2)), regret=0.0).sentence,
        verdict(row("spo+", 0.1, UNSURE)).sentence,
        verdict(row("spo+", 0.1, UNSURE), reach=0.0015).sentence,
        verdict(row("spo+", 1.0, None), units=1).sentence,
        verdict(row("spo+", 1.0, (-math.inf, 2.0))).sentence,
        verdict(row("boosted", -1.31, (-1.8, -0.84)), row("spo+", -0.1, (-0.9, 0.7))).sentence,
        verdict(spo, hurried="3 of 100 epochs, at the end of which spo+ was still improving").sentence,
    ] == [
        "Training on decisions pays: spo+ costs 1.31 minutes less per instance than ridge (95% interval: 0.84 less"
        " to 1.8 less), 13% of the regret of ridge.",
        "Training on decisions pays: spo+ gains 1.31 minutes more per instance than ridge (95% interval: 0.84 more"
        " to 1.8 more), 13% of the regret of ridge.",
        "Training on decisions pays: spo+ costs 1.31 minutes less per instance than ridge (95% interval: 0.84 less"
        " to 1.8 less).",
        "Training on decisions does not pay: spo+ costs 0.1 minutes more per instance than ridge (95% interval: "
        "0.4 more to 0.2 less). A gain of more than 5% of the regret of ridge (0.5 minutes) is ruled out for each "
        "of the 2 methods.",
        "Training on decisions does not pay: spo+ gains 0.1 minutes less per instance than ridge (95% interval: "
        "0.4 less to 0.2 more). A gain of more than 5% of the regret of ridge (0.5 minutes) is ruled out for each "
        "of the 2 methods.",
        "Training on decisions does not pay: spo+ costs 1.31 minutes more per instance than ridge (95% interval: "
        "1.8 more to 0.84 more). A gain is ruled out.",
        "Training on decisions does not pay: spo+ decides exactly as well as ridge. A gain of more than 5% of the "
        "regret of ridge (0.5 minutes) is ruled out.",
        "Training on decisions does not pay: ridge makes the best decisions already.",
        "Too little data to say whether training on decisions pays: on 100 test instances, spo+ costs 0.1 minutes "
        "less per instance than ridge (95% interval: 1.9 more to 2.1 less). Detecting a gain of 0.5 minutes with a"
        " power of 80% would take about 33 times as many instances.",  # (2 / 0.5)^2 ((1.96 + 0.84) / 1.96)^2
        "Too little data to say whether training on decisions pays: on 100 test instances, spo+ costs 0.1 minutes "
        "less per instance than ridge (95% interval: 1.9 more to 2.1 less). But ridge already decides within 0.2% "
        "of the best: little is left to gain.",
        "Too little data to say whether training on decisions pays: on 1 test instance, spo+ costs 1 minutes less "
        "per instance than ridge.",
        "Too little data to say whether training on decisions pays: on 100 test instances, spo+ costs 1 minutes "
        "less per instance than ridge (95% interval: unbounded to 2 less).",
        "Too little data to say whether training on decisions pays: on 100 test instances, boosted costs 1.31 "
        "minutes more per instance than ridge (95% interval: 1.8 more to 0.84 more). A gain of up to 0.7 minutes "
        "by spo+ is not ruled out. Detecting a gain of 0.5 minutes with a power of 80% would take about 1.7 times "
        "as many instances.",
        "Training on decisions pays: spo+ costs 1.31 minutes less per instance than ridge (95% interval: 0.84 less"
        " to 1.8 less), 13% of the regret of ridge. The time budget allowed 3 of 100 epochs, at the end of which "
        "spo+ was still improving: more time may change this.",
    ]


def test_it_pays() -> None:
    told = verdict(row("spo+", 1.31, PAYS))
    assert (told.answer, told.method, told.reference) == ("pays", "spo+", "ridge")
    assert (told.gained, told.interval, told.share) == (1.31, PAYS, pytest.approx(0.131))
    assert str(told) == told.sentence


def test_the_best_on_validation_data_of_those_that_pay_is_named() -> None:
    told = verdict(row("first", 0.1, (-0.2, 0.4)), row("second", 1.0, (0.5, 1.5)), row("third", 2.0, (1.5, 2.5)))
    assert (told.answer, told.method) == ("pays", "second")


def test_it_does_not_pay_where_every_interval_ends_below_what_is_worthwhile() -> None:
    first = row("spo+", -0.1, (-0.4, 0.2))
    assert verdict(first, row("decision", 0.1, (-0.2, 0.45))).answer == "does not pay"
    assert verdict(first, row("decision", 0.1, (-0.2, 0.55))).answer == "too little data"
    assert verdict(first).worthwhile == 0.5


@given(st.floats(-2, 2), st.floats(-2, 2), st.integers(1, 200))
def test_the_interval_decides(first: float, second: float, units: int) -> None:
    low, high = sorted((first, second))
    told = verdict(row("spo+", (low + high) / 2, (low, high)), units=units)
    assert (told.answer == "pays") == (units >= 20 and low > 0)
    assert (told.answer == "does not pay") == (units >= 20 and low <= 0 and high <= 0.5)


def test_claims_after_hardly_any_training_say_so() -> None:
    pays, unsure = row("spo+", 1.31, PAYS), row("spo+", 0.1, UNSURE)
    hurried = "3 of 100 epochs"
    assert hurried in verdict(pays, hurried=hurried).sentence
    assert verdict(unsure, hurried=hurried).sentence == verdict(unsure).sentence


def test_where_little_is_left_to_gain_more_data_is_no_advice() -> None:
    """Regret of at most 0.2 % of the best value; from 1 % on, the data that would be needed is said."""
    unsure = row("spo+", 0.1, UNSURE)
    told = verdict(unsure, reach=0.0015)
    assert told.answer == "too little data"
    assert told.sentence != verdict(unsure).sentence
    assert verdict(unsure, reach=0.01).sentence == verdict(unsure).sentence
    assert verdict(unsure, units=19, reach=0.001).sentence == verdict(unsure, units=19).sentence


@pytest.mark.parametrize("regret", [0.0, -3.0, 0.5])
def test_regret_against_a_heuristic_has_no_shares(regret: float) -> None:
    """Decisions may be better than those that a heuristic makes under the true parameters."""
    pays = verdict(row("spo+", 1.31, PAYS), regret=regret)
    assert pays.answer == "pays"
    assert "of the regret" not in pays.sentence
    told = verdict(row("spo+", -1.31, (-1.8, -0.84)), regret=regret)
    assert told.answer == "does not pay"
    assert told.worthwhile == 0.05 * max(0.0, regret)


def test_what_is_not_bounded_or_not_known_is_null_in_json() -> None:
    unbounded = verdict(row("spo+", 1.0, (-math.inf, 2.0)), regret=0.0)
    document = json.loads(json.dumps(unbounded.to_dict(), allow_nan=False))
    assert (document["gained"], document["interval"], document["share"]) == (1.0, [None, 2.0], None)
    assert verdict(row("spo+", 1.0, None)).to_dict()["interval"] is None
    assert verdict(row("spo+", 1.0, None)).answer == "too little data"


def test_that_many_find_it_in_four_of_five_studies() -> None:
    """Evidence of instances with a spread of 1, and a gain for which it pays to switch."""
    rng, least = np.random.default_rng(0), 0.5
    half = float(np.mean([np.diff(mean_difference(rng.normal(size=15)).interval())[0] / 2 for _ in range(200)]))
    text = verdict(row("spo+", 0.0, (-half, half))).sentence
    times = float(text.partition("would take about ")[2].partition(" ")[0])
    found = [mean_difference(rng.normal(least, 1.0, round(15 * times))).p_value() < 0.05 for _ in range(300)]
    assert 0.7 < np.mean(found) < 0.95


def test_few_units_claim_nothing() -> None:
    assert verdict(row("spo+", 1.31, PAYS), units=19).answer == "too little data"


def test_a_gain_below_zero_never_pays() -> None:
    assert verdict(row("spo+", -1.31, (-1.8, -0.84))).answer == "does not pay"


def test_a_reference_without_regret() -> None:
    told = verdict(row("spo+", -0.5, (-0.8, -0.2)), regret=0.0)
    assert told.answer == "does not pay"
    assert math.isnan(told.share)

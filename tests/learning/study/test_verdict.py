from __future__ import annotations

import json
import math

import numpy as np
import pytest

from foresolve.learning.inference import mean_difference
from foresolve.learning.study.contrast import Contrast, ContrastRow
from foresolve.learning.study.verdict import Verdict, judge

Pair = tuple[float, float]


def row(name: str, difference: float, interval: Pair | None, p: float, corrected: float) -> ContrastRow:
    return ContrastRow(name, "decision-focused", 20 + difference, 10 + difference, difference, interval, p, corrected)


def verdict(
    *rows: ContrastRow, units: int = 100, sense: str = "min", regret: float = 10.0, hurried: str = "",
    reach: float = math.inf,
) -> Verdict:  # fmt: skip
    reference = ContrastRow("ridge", "reference", 20.0, regret, 0.0, None, None, None)
    comparison = Contrast("ridge", 0.95, units, units, "", (reference, *rows))
    validated = {row.name: float(i) for i, row in enumerate(rows)}
    return judge(comparison, validated, worthwhile=0.05, units="minutes", sense=sense, hurried=hurried, reach=reach)


def test_it_pays() -> None:
    told = verdict(row("spo+", -1.31, (-1.8, -0.84), 0.001, 0.002))
    assert told.answer == "pays"
    expected = (
        "Training on decisions pays: spo+ saves 1.31 minutes [0.84, 1.8] an instance against ridge, 13% of its regret."
    )
    assert str(told) == expected
    assert told.interval == (0.84, 1.8)


def test_gains_are_gained() -> None:
    told = verdict(row("spo+", -1.31, (-1.8, -0.84), 0.001, 0.002), sense="max")
    assert "spo+ gains 1.31 minutes [0.84, 1.8] an instance" in told.sentence


def test_the_best_on_validation_data_of_those_that_pay_is_named() -> None:
    pays = {"p": 0.001, "corrected": 0.002}
    told = verdict(
        row("first", -0.1, (-0.4, 0.2), 0.5, 0.5), row("second", -1.0, (-1.5, -0.5), **pays),
        row("third", -2.0, (-2.5, -1.5), **pays),
    )  # fmt: skip
    assert told.method == "second"


def test_it_does_not_pay() -> None:
    told = verdict(row("spo+", 0.1, (-0.2, 0.4), 0.5, 0.5), row("decision", -0.1, (-0.45, 0.2), 0.5, 0.5))
    assert told.answer == "does not pay"
    assert "spo+ costs 0.1 minutes more [-0.2, 0.4] an instance against ridge" in told.sentence
    assert "by any of 2 methods of more than 5% of its regret (0.5 minutes) is ruled out" in told.sentence


def test_claims_after_hardly_any_training_say_so() -> None:
    pays, not_told = row("spo+", -1.31, (-1.8, -0.84), 0.001, 0.002), row("spo+", -0.1, (-2.1, 1.9), 0.5, 0.5)
    hurried = "3 of 100 epochs, at the end of which spo+ was still improving"
    said = f" The time budget allowed {hurried}: more time may change this."
    assert verdict(pays, hurried=hurried).sentence == verdict(pays).sentence + said
    assert verdict(not_told, hurried=hurried).sentence == verdict(not_told).sentence


def test_where_little_is_left_to_gain_more_data_is_no_advice() -> None:
    """Regret of at most 0.2 % of the best value; from 1 % on, the data that would be needed is said."""
    unsure = row("spo+", -0.1, (-2.1, 1.9), 0.5, 0.5)
    told = verdict(unsure, reach=0.0015)
    assert told.answer == "too little data"
    assert told.sentence.endswith(
        "against ridge. But ridge already decides within 0.2% of the best: little is left to gain."
    )
    assert "already decides" not in verdict(unsure, reach=0.01).sentence
    assert verdict(unsure, reach=0.01).sentence == verdict(unsure).sentence
    assert "already decides" not in verdict(unsure, units=19, reach=0.001).sentence


@pytest.mark.parametrize("regret", [0.0, -3.0, 0.5])
def test_regret_against_a_heuristic_has_no_shares(regret: float) -> None:
    """Decisions may be better than those that a heuristic makes under the truth."""
    pays = verdict(row("spo+", -1.31, (-1.8, -0.84), 0.001, 0.002), regret=regret)
    assert pays.answer == "pays"
    assert str(pays).endswith("spo+ saves 1.31 minutes [0.84, 1.8] an instance against ridge.")
    if regret < 0:
        told = verdict(row("spo+", 1.31, (0.84, 1.8), 0.001, 0.002), regret=regret)
        words = "spo+ costs 1.31 minutes more [0.84, 1.8] an instance against ridge; an improvement is ruled out."
        assert (told.answer, told.worthwhile) == ("does not pay", 0.0)
        assert str(told) == f"Training on decisions does not pay: {words}"


def test_too_little_data() -> None:
    told = verdict(row("spo+", -0.1, (-2.1, 1.9), 0.5, 0.5))
    assert told.answer == "too little data"
    needed = "Detecting 0.5 minutes with a power of 80% would take about 33 times as many instances."
    assert told.sentence.endswith(needed)  # (2 / 0.5)^2 ((1.96 + 0.84) / 1.96)^2
    assert verdict(row("spo+", -1.0, None, 1.0, 1.0)).answer == "too little data"
    json.dumps(verdict(row("spo+", -1.0, (-math.inf, 2.0), 1.0, 1.0)).to_dict(), allow_nan=False)


def test_that_many_find_it_in_four_of_five_studies() -> None:
    """Of instances with a spread of 1, and an improvement by which it pays to switch."""
    rng, least = np.random.default_rng(0), 0.5
    half = float(np.mean([np.diff(mean_difference(rng.normal(size=15)).interval)[0] / 2 for _ in range(200)]))
    text = verdict(row("spo+", 0.0, (-half, half), 1.0, 1.0)).sentence
    times = float(text.partition("would take about ")[2].partition(" ")[0])
    found = [mean_difference(rng.normal(-least, 1.0, round(15 * times))).p_value < 0.05 for _ in range(300)]
    assert 0.7 < np.mean(found) < 0.95


def test_a_method_that_may_yet_pay_is_named_where_the_sentence_is_about_another() -> None:
    """Otherwise it would say that nothing is known, and show that it is worse."""
    told = verdict(row("boosted", 1.31, (0.84, 1.8), 0.5, 0.5), row("spo+", 0.1, (-0.7, 0.9), 0.5, 0.5))
    assert told.answer == "too little data"
    words = "more [0.84, 1.8] an instance against ridge; an improvement of up to 0.7 minutes by spo+ is not ruled out"
    assert words in str(told)


def test_few_units_claim_nothing() -> None:
    assert verdict(row("spo+", -1.31, (-1.8, -0.84), 0.001, 0.002), units=19).answer == "too little data"


def test_a_difference_that_is_worse_never_pays() -> None:
    assert verdict(row("spo+", 1.31, (0.84, 1.8), 0.001, 0.002)).answer == "does not pay"


def test_equal_decisions() -> None:
    told = verdict(row("spo+", 0.0, (0.0, 0.0), 1.0, 1.0))
    assert told.answer == "does not pay"
    assert "spo+ decides exactly as well as ridge" in told.sentence


def test_a_reference_without_regret() -> None:
    told = verdict(row("spo+", 0.5, (0.2, 0.8), 0.01, 0.01), regret=0.0)
    assert told.sentence == "Training on decisions does not pay: ridge makes the best decisions already."
    assert math.isnan(told.share)
    assert told.to_dict()["share"] is None


@pytest.mark.parametrize("value", [0.0499, 0.0501])
def test_the_corrected_p_value_decides(value: float) -> None:
    assert (verdict(row("spo+", -1.0, (-2.0, 0.0), value / 2, value)).answer == "pays") == (value < 0.05)


def test_one_instance_is_one() -> None:
    told = verdict(row("spo+", 1.31, None, 1.0, 1.0), units=1)
    assert "on 1 test instance, spo+" in told.sentence

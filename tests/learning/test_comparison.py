from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from foresolve.data.dataset import DecisionDataset
from foresolve.learning import compare, evaluate
from foresolve.learning.paired import Standing, paired
from foresolve.learning.report import Report
from foresolve.models.mlp import MLP
from foresolve.problems.top_k import TopK
from learning.instances import top_k_data
from mistakes import mistake

RNG = np.random.default_rng(0)
OPTIMUM = 5 + RNG.random(60)


def report(regret: np.ndarray, optimum: np.ndarray = OPTIMUM) -> Report:
    """A report with these columns."""
    columns = {"value": optimum - regret, "optimum": optimum, "regret": regret}
    return Report.of(columns, None, {"decision": 1e-3, "prediction": 1e-3}, True, 200, 0.95, 0)


GOOD, BAD = report(0.1 * RNG.random(60)), report(0.5 + RNG.random(60))


def test_the_reference_gains_nothing_over_itself() -> None:
    row = compare({"good": GOOD, "bad": BAD}, reference="bad")["bad"]
    assert row.is_reference
    assert (row.gained, row.interval, row.p_value) == (0.0, None, None)


def test_pairing_cancels_what_varies_between_instances() -> None:
    noise = 10 * RNG.random(60)
    row = compare({"first": report(noise), "second": report(noise + 0.1)})["second"]
    assert row.interval == pytest.approx((-0.1, -0.1))
    assert row.p_value == pytest.approx(2e-4)  # of ten thousand draws none is as extreme


def test_intervals_of_a_report_and_of_a_comparison_agree() -> None:
    comparison = compare({"good": GOOD, "bad": BAD}, bootstrap=200)
    assert comparison["bad"].normalized_interval == BAD.intervals["normalized_regret"]
    assert compare({"good": GOOD}, bootstrap=0)["good"].normalized_interval is None


def test_instances_without_a_number_are_left_out() -> None:
    optimum = np.where(np.arange(60) < 3, 0.0, OPTIMUM)
    reports = {"a": report(np.zeros(60), optimum), "b": report(np.ones(60), optimum)}
    row = compare(reports, measure="relative_regret")["b"]
    assert row.mean == pytest.approx((1 / optimum[3:]).mean())
    assert row.gained == pytest.approx(-row.mean)
    assert row.units == 57
    assert row.standing is Standing.BEHIND


def test_it_is_shown() -> None:
    """The words of this area, in one place."""
    title, headers, *lines = str(compare({"good": GOOD, "bad": BAD})).splitlines()
    assert title == "60 instances; gained: regret of good minus regret of the row"
    assert re.split(r"\s{2,}", headers.strip()) == ["normalized regret", "regret", "gained [95%]", "p"]
    assert [line.split()[0] for line in lines[1:] if line[0] != " "] == ["bad", "----", "good"]
    long = compare({"decision-focused, SPO+": GOOD, "two-stage network": BAD})
    assert max(map(len, str(long).splitlines())) <= 80


@pytest.mark.parametrize(
    ("reports", "options", "argument", "fact"),
    [
        ({}, {}, "reports", "none"), ([GOOD, BAD], {}, "reports", "list of 2"), (None, {}, "reports", "NoneType"),
        ({"good": 5}, {}, "reports", "int as 'good'"), ({"good": MLP(3, 5)}, {}, "reports", "evaluate(model, data)"),
        ({"good": GOOD}, {"confidence": 95}, "confidence", "95"), ({"good": GOOD}, {"bootstrap": "x"}, "bootstrap", ""),
        ({"good": GOOD}, {"reference": "best"}, "reference", "best"), ({"good": GOOD}, {"measure": "f"}, "measure", ""),
        ({"good": GOOD, "else": report(np.zeros(60), OPTIMUM + 1)}, {}, "reports", "'else'"),
        ({"good": GOOD}, {"measure": "optimum"}, "more_is_better", "'optimum'"),
        ({"good": GOOD}, {"more_is_better": "yes"}, "more_is_better", "'yes'"),
    ],
)  # fmt: skip
def test_bad_input(reports: Any, options: dict[str, Any], argument: str, fact: str) -> None:
    with mistake(argument, fact):
        compare(reports, **options)


def test_reports_of_other_weights_are_refused() -> None:
    data = top_k_data(20)
    weights = np.linspace(1.0, 2.0, 20)
    plain, weighted, scaled, other = (
        evaluate(MLP(3, 5, seed=0), DecisionDataset(data.features, data.theta, data.problem, weights=w), bootstrap=0)
        for w in (None, weights, 7 * weights, weights[::-1])
    )
    assert compare({"a": weighted, "b": scaled})["b"].gained == 0
    ones = DecisionDataset(data.features, data.theta, data.problem, weights=np.full(20, 3.0))
    assert compare({"a": plain, "b": evaluate(MLP(3, 5, seed=0), ones)})["b"].gained == 0
    for reports in ({"a": plain, "b": weighted}, {"a": weighted, "b": plain}, {"a": weighted, "b": other}):
        with mistake("reports", "'b'", "weight"):
            compare(reports)
    with mistake("measure", "'weight'"):
        compare({"a": weighted, "b": scaled}, measure="weight")


def test_numbers_are_those_of_studies() -> None:
    """A few large losses: the mean is worse, however many small gains there are."""
    gap = np.where(np.arange(60) % 10 == 0, 1.0, -0.01)
    row = compare({"a": report(np.ones(60)), "b": report(np.ones(60) + gap)})["b"]
    expected = paired("b", "a", -gap)
    assert row.gained == pytest.approx(expected.gained)
    assert row.interval == pytest.approx(expected.interval)
    assert row.p_value == expected.p_value
    assert row.gained < 0


def test_rounding_is_no_difference_in_the_precision_of_the_parameters() -> None:
    """Two orders of the same sum; in double precision the difference counts."""
    theta = torch.full((40, 5), 1e6) + torch.rand(40, 5, generator=torch.Generator().manual_seed(0))
    regret = np.full(40, 0.25)
    single, double = (
        {name: replace(report(regret + shift, np.full(40, 2e6)), rounding=torch.finfo(kind).eps)
         for name, shift in (("a", 0.0), ("b", 0.1))}
        for kind in (torch.float32, torch.float64)
    )  # fmt: skip
    assert compare(single)["b"].gained == 0
    assert compare(single, measure="value")["b"].gained == 0
    assert compare(single, measure="relative_regret")["b"].gained == 0
    assert compare(double)["b"].gained == pytest.approx(-0.1)
    for kind in (torch.float32, torch.float64):
        data = DecisionDataset(theta.to(kind), theta.to(kind), TopK(5, 2))
        assert evaluate(lambda features: features, data).rounding == torch.finfo(kind).eps


def test_a_metric_of_ones_own_has_the_direction_that_it_is_given() -> None:
    data = top_k_data(40)
    reports = {
        name: evaluate(lambda a, guess=guess: guess[: len(a)], data, metric={"distance": far}, batch_size=40)
        for name, guess in (("bad", data.theta.flip(0)), ("truth", data.theta))
    }
    with mistake("more_is_better", "'distance'"):
        compare(reports, measure="distance")
    less, more = (compare(reports, measure="distance", more_is_better=way)["truth"] for way in (False, True))
    assert less.standing is Standing.AHEAD
    assert more.standing is Standing.BEHIND
    assert less.gained == -more.gained > 0


def far(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x - y).abs().mean(-1)


def test_too_few_instances_bound_no_interval() -> None:
    few = {"a": report(np.ones(4), OPTIMUM[:4]), "b": report(np.ones(4) + RNG.random(4), OPTIMUM[:4])}
    row = compare(few)["b"]
    assert row.interval is None
    assert row.p_value is not None
    assert row.p_value > 0.05


def test_intervals_of_all_reports_hold_at_once_where_they_are_asked_to() -> None:
    others = {str(i): report(0.1 * RNG.random(60)) for i in range(5)}
    alone = compare({"good": GOOD, **others})
    together = alone.together()
    for row in together.others:
        assert row.together == 5
        assert row.p_value == min(1.0, 5 * (alone[row.name].p_value or 0.0))
        low, high = row.interval or (0.0, 0.0)
        assert (low > 0 or high < 0) == ((row.p_value or 0.0) < 0.05)
    assert together["good"] == alone["good"]


@pytest.mark.parametrize("measure", ["regret", "value"])
def test_the_best_is_shown_first_and_the_reference_apart(measure: str) -> None:
    sizes = {"bad": 3.0, "usual": 1.5, "best": 0.5, "good": 1.0}
    reports = {name: report(size * GOOD.instances["regret"]) for name, size in sizes.items()}
    compared = compare(reports, reference="usual", measure=measure)
    assert [row.name for row in compared.rows] == list(sizes)  # as they were given
    shown = [line.split()[0] for line in str(compared).splitlines() if line.split() and line.split()[0] in sizes]
    assert shown == ["best", "good", "bad", "usual"]
    lines = str(compared).splitlines()
    (last,) = [i for i, line in enumerate(lines) if line.startswith("usual")]
    assert set(lines[last - 1]) <= {"-", " "}
    assert compared._repr_html_().partition("border-top")[2].count("<td>usual") == 1

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from foresolve.data.dataset import DecisionDataset
from foresolve.errors import InvalidInputError
from foresolve.learning import compare, evaluate
from foresolve.learning.inference import mean_difference
from foresolve.learning.report import Report
from foresolve.models.mlp import MLP
from learning.instances import top_k_data

RNG = np.random.default_rng(0)
OPTIMUM = 5 + RNG.random(60)


def report(regret: np.ndarray, optimum: np.ndarray = OPTIMUM) -> Report:
    """A report with these columns."""
    columns = {"value": optimum - regret, "optimum": optimum, "regret": regret}
    return Report.of(columns, None, {"decision": 1e-3, "prediction": 1e-3}, True, 200, 0.95, 0)


GOOD, BAD = report(0.1 * RNG.random(60)), report(0.5 + RNG.random(60))


@pytest.mark.parametrize("test", ["wilcoxon", "t"])
def test_p_values_are_those_of_scipy(test: str) -> None:
    row = compare({"good": GOOD, "bad": BAD}, test=test)["bad"]
    gap = BAD.instances["regret"] - GOOD.instances["regret"]
    expected = stats.wilcoxon(gap) if test == "wilcoxon" else stats.ttest_1samp(gap, 0.0)
    assert row.p_value == pytest.approx(expected.pvalue)
    assert row.difference == pytest.approx(gap.mean())


def test_the_reference_against_itself() -> None:
    row = compare({"good": GOOD, "bad": BAD}, reference="bad")["bad"]
    assert (row.difference, row.difference_interval, row.p_value) == (0.0, (0.0, 0.0), 1.0)


def test_pairing_cancels_what_varies_between_instances() -> None:
    noise = 10 * RNG.random(60)
    first, second = report(noise), report(noise + 0.1)
    row = compare({"first": first, "second": second}, test="t")["second"]
    assert row.difference_interval == pytest.approx((0.1, 0.1))
    assert row.p_value == 0.0  # the same difference everywhere


def test_intervals_of_a_report_and_of_a_comparison_agree() -> None:
    comparison = compare({"good": GOOD, "bad": BAD}, bootstrap=200)
    assert comparison["bad"].normalized_interval == BAD.intervals["normalized_regret"]
    assert compare({"good": GOOD}, bootstrap=0)["good"].normalized_interval is None


def test_instances_without_a_number_are_left_out() -> None:
    optimum = np.where(np.arange(60) < 3, 0.0, OPTIMUM)
    reports = {"a": report(np.zeros(60), optimum), "b": report(np.ones(60), optimum)}
    row = compare(reports, measure="relative_regret")["b"]
    assert row.mean == pytest.approx((1 / optimum[3:]).mean())
    assert row.difference_interval is not None


def test_it_is_shown() -> None:
    lines = str(compare({"good": GOOD, "bad": BAD})).splitlines()
    assert lines[0] == "difference from good, paired test of the mean; 95% intervals"
    assert lines[1].split()[:2] == ["normalized", "regret"]
    assert [line.split()[0] for line in lines[3:] if line[0] != " "] == ["bad", "----", "good"]
    long = compare({"decision-focused, SPO+": GOOD, "two-stage network": BAD})
    assert max(map(len, str(long).splitlines())) <= 80


def test_bad_input() -> None:
    with pytest.raises(InvalidInputError, match="`reports` must be at least one"):
        compare({})
    for wrong in ([GOOD], GOOD, None, {"good": 5}):
        with pytest.raises(InvalidInputError, match="`reports` must be a dict of reports by name; got"):
            compare(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"got list of 2\. Did you mean `compare\(\{.two-stage.: evaluate"):
        compare([GOOD, BAD])  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"got MLP as 'good'\. Did you mean `evaluate\(model, data\)`\?"):
        compare({"good": MLP(3, 5)})  # type: ignore[dict-item]
    with pytest.raises(InvalidInputError, match=r"`confidence` must be in \(0, 1\); got 95\. 95 % is 0\.95"):
        compare({"good": GOOD}, confidence=95)
    with pytest.raises(InvalidInputError, match="`bootstrap` must be an integer >= 0; got 'x'"):
        compare({"good": GOOD}, bootstrap="x")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="`test` must be one of 'mean', 't', 'wilcoxon'; got 'sign'"):
        compare({"good": GOOD}, test="sign")
    with pytest.raises(InvalidInputError, match="`reference` must be one of 'good'; got 'best'"):
        compare({"good": GOOD}, reference="best")
    with pytest.raises(InvalidInputError, match="`measure` must be one of"):
        compare({"good": GOOD}, measure="fame")
    with pytest.raises(InvalidInputError, match="`reports` must be of the same instances"):
        compare({"good": GOOD, "else": report(np.zeros(60), OPTIMUM + 1)})


def test_reports_of_other_weights_are_refused() -> None:
    data = top_k_data(20)
    weights = np.linspace(1.0, 2.0, 20)
    plain, weighted, scaled, other = (
        evaluate(MLP(3, 5, seed=0), DecisionDataset(data.features, data.theta, data.problem, weights=w), bootstrap=0)
        for w in (None, weights, 7 * weights, weights[::-1])
    )
    assert compare({"a": weighted, "b": scaled})["b"].difference == 0
    ones = DecisionDataset(data.features, data.theta, data.problem, weights=np.full(20, 3.0))
    assert compare({"a": plain, "b": evaluate(MLP(3, 5, seed=0), ones)})["b"].difference == 0
    for reports in ({"a": plain, "b": weighted}, {"a": weighted, "b": plain}, {"a": weighted, "b": other}):
        with pytest.raises(InvalidInputError, match="`reports` must be of the same weights; got 'b', weighted other"):
            compare(reports)
    with pytest.raises(InvalidInputError, match=r"`measure` must be one of .*; got 'weight'"):
        compare({"a": weighted, "b": scaled}, measure="weight")


def test_interval_and_p_value_agree_and_are_those_of_studies() -> None:
    """A few large losses: ranks see many small gains, the mean is worse."""
    gap = np.where(np.arange(60) % 10 == 0, 1.0, -0.01)
    reports = {"a": report(np.ones(60)), "b": report(np.ones(60) + gap)}
    row = compare(reports)["b"]
    evidence = mean_difference(gap, seed=0)
    assert row.difference_interval == pytest.approx(evidence.interval)
    assert row.p_value == evidence.p_value
    assert row.difference > 0
    assert compare(reports, test="wilcoxon")["b"].p_value < 0.05
    for shift in np.linspace(-0.3, 0.3, 13):
        row = compare({"a": report(np.ones(60)), "b": report(np.ones(60) + gap + shift)})["b"]
        assert row.difference_interval is not None
        low, high = row.difference_interval
        assert (row.p_value < 0.05) == (low > 0 or high < 0)


def test_too_few_instances_bound_no_interval() -> None:
    few = {"a": report(np.ones(4), OPTIMUM[:4]), "b": report(np.ones(4) + RNG.random(4), OPTIMUM[:4])}
    row = compare(few)["b"]
    assert row.difference_interval is None
    assert row.p_value > 0.05
    assert compare({"a": GOOD, "b": BAD}, bootstrap=0)["b"].difference_interval is None


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

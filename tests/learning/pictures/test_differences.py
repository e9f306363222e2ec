"""Forest plots of comparisons."""

from __future__ import annotations

import math

import pytest
import torch

import foresolve
from drawn import labels, overlaps
from foresolve._base.drawing.palette import COLORS
from foresolve.learning import Comparison, PairedComparison, compare, evaluate
from foresolve.learning.pictures.differences import pair_rows


@pytest.fixture(scope="module")
def reports() -> dict[str, foresolve.learning.Report]:
    theta = torch.rand(60, 4, generator=torch.Generator().manual_seed(0))
    data = foresolve.DecisionDataset(theta, theta, foresolve.TopK(4, 2))
    noise = torch.rand(60, 4, generator=torch.Generator().manual_seed(1))
    models = {"noisy": lambda a: a + noise[: len(a)], "truth": lambda a: a, "upside down": lambda a: -a}
    return {name: evaluate(model, data) for name, model in models.items()}


def texts(comparison: Comparison, **options: object) -> list[str]:
    axes = comparison.plot(**options)  # type: ignore[arg-type]
    assert overlaps(axes.get_figure()) == []
    return [text.get_text() for text in axes.get_yticklabels()]


def test_what_is_better_is_to_the_right(reports: dict[str, foresolve.learning.Report]) -> None:
    comparison = compare(reports)
    assert texts(comparison) == ["truth", "upside down"]
    axes = comparison.plot(roles={"truth": "decision-focused", "upside down": "heuristic"})
    best, worst = (line for line in axes.get_lines() if line.get_marker() in ("o", "^"))
    assert best.get_xdata()[0] == pytest.approx(comparison["truth"].gained)
    assert best.get_xdata()[0] > 0 > worst.get_xdata()[0]
    assert best.get_color() == COLORS["decision-focused"]
    assert axes.get_xlabel() == "regret gained over noisy, mean over instances"
    assert {"better →", "← worse"} <= {text.get_text() for text in axes.texts}
    assert labels(axes.get_figure().legends[0])[:2] == ["trained on decisions", "heuristic, nothing learned"]


def test_gains_are_above_zero_by_every_measure(reports: dict[str, foresolve.learning.Report]) -> None:
    for measure in ("value", "relative_regret", "mse"):
        comparison = compare(reports, measure=measure)
        drawn = comparison.plot().get_lines()[0].get_xdata()[0]
        assert drawn == pytest.approx(comparison["truth"].gained)
        assert drawn > 0


def test_marks_of_pairs_hold_the_gain_and_its_interval() -> None:
    pairs = [
        PairedComparison(name="a", reference="b", gained=1.0, interval=(0.5, math.inf)),
        PairedComparison(name="c", reference="b"),
        PairedComparison(name="b", reference="b"),
    ]
    first, second = pair_rows(pairs, {"a": "two-stage"})
    assert (first.name, first.role, first.mean, first.low, first.high) == ("a", "two-stage", 1.0, 0.5, math.inf)
    assert (first.verdict, second.verdict) == ("better", "no interval")
    assert pair_rows(pairs, {}, tested=False)[0].verdict == "no significant difference"


def test_nothing_to_compare_with(reports: dict[str, foresolve.learning.Report]) -> None:
    assert "nothing to compare" in compare({"a": reports["truth"]}).plot().texts[0].get_text()


def test_in_a_notebook(reports: dict[str, foresolve.learning.Report]) -> None:
    comparison = compare({"<b>": reports["noisy"], "truth": reports["truth"]})
    html = comparison._repr_html_()
    assert "<img" in html
    assert "<b>" not in html.replace("</b>", "")
    assert repr(comparison) == "Comparison(2 reports by regret against '<b>')"

"""Values, shares, differences and cost, by what is drawn rather than by pixels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from drawn import labels
from foresolve._base.drawing.palette import COLORS
from foresolve.report import value_figures
from foresolve.report.view import RunView
from reproduce.fakes import fake_run, record


def points(axis: Any, method: str) -> list[Any]:
    """The lines in the row of a method."""
    height = [text.get_text() for text in axis.get_yticklabels()].index(method)
    return [line for line in axis.get_lines() if set(np.asarray(line.get_ydata(), dtype=float)) == {float(height)}]


def color(line: Any) -> Any:
    return to_rgba(line.get_color())


@pytest.fixture(scope="module")
def budget() -> RunView:
    return fake_run("budget")


def test_values_have_means_intervals_roles_and_published_figures(budget: RunView) -> None:
    figure = value_figures.values(budget)
    assert [axis.get_title() for axis in figure.axes] == ["k = 5", "k = 10", "k = 20"]
    axis, row, best = figure.axes[0], budget.row("NN1-Decision", 5), budget.row("OPT", 5)
    assert row is not None
    assert best is not None
    mean, interval, *_ = points(axis, "NN1-Decision")
    assert list(mean.get_xdata()) == [row.value.mean]
    assert list(interval.get_xdata()) == [row.value.low, row.value.high]
    assert color(mean) == to_rgba(COLORS["decision-focused"])
    assert color(points(axis, "RF-2Stage")[0]) == to_rgba(COLORS["two-stage"])
    assert color(points(axis, "Random")[0]) == to_rgba(COLORS["reference"])
    diamonds = [line for line in axis.get_lines() if line.get_marker() == "D"]
    assert {float(np.asarray(line.get_xdata())[0]) for line in diamonds} >= {49.18, 48.81}
    dashed = [line for line in axis.get_lines() if line.get_linestyle() == "--"]
    assert list(np.asarray(dashed[0].get_xdata())) == [best.value.mean] * 2
    assert "published, with its interval" in labels(figure.legends[0])


def test_rows_are_in_the_order_of_value(budget: RunView) -> None:
    names = [text.get_text() for text in value_figures.values(budget).axes[0].get_yticklabels()]
    means = [row.value.mean for name in names if (row := budget.row(name, 10)) is not None]
    assert means == sorted(means, reverse=True)


def test_a_quick_run_shows_nothing_published() -> None:
    figure = value_figures.values(fake_run("budget", quick=True, splits=3))
    assert not any(line.get_marker() == "D" for axis in figure.axes for line in axis.get_lines())
    assert not any("published" in text for text in labels(figure.legends[0]))
    assert all("3 splits: only a hint" in axis.get_xlabel() for axis in figure.axes)


def test_heuristics_have_their_color_and_variants_that_of_their_training() -> None:
    run = fake_run(splits=2)
    more = [record(i, name, 3.0 + i) for i in range(2) for name in ("RF-2Stage", "NN2-Decision (exact layer)")]
    axis = value_figures.values(replace(run, records=[*run.records, *more])).axes[0]
    roles = {"RF-2Stage": "two-stage", "NN2-Decision (exact layer)": "decision-focused",
             "TF-IDF": "heuristic"}  # fmt: skip
    for name, role in roles.items():
        assert color(points(axis, name)[0]) == to_rgba(COLORS[role])  # type: ignore[index]


def test_shares_are_of_the_way_from_random_to_best(budget: RunView) -> None:
    figure = value_figures.shares(budget)
    assert figure is not None
    rows = [budget.row(name, 5) for name in ("Random", "NN1-Decision", "OPT")]
    random, ours, best = (row.value.mean for row in rows if row is not None)
    drawn = points(figure.axes[0], "NN1-Decision")[0].get_xdata()[0]
    assert drawn == pytest.approx(100 * (ours - random) / (best - random))
    low, high = figure.axes[0].get_xlim()
    assert high - low < 30  # differences are seen
    far = points(figure.axes[0], "NN2-2Stage")[0]  # about as good as random
    assert far.get_marker() == "<"
    assert far.get_xdata()[0] == low
    assert "off the scale" in labels(figure.legends[0])
    assert any(text.get_text().startswith("−0.") or text.get_text().startswith("0.") for text in figure.axes[0].texts)


def test_without_random_decisions_there_are_no_shares(budget: RunView) -> None:
    assert value_figures.shares(replace(budget, records=[r for r in budget.records if r.method != "Random"])) is None


def test_differences_are_sorted_on_one_scale_with_better_to_the_right(budget: RunView) -> None:
    figure = value_figures.differences(budget)
    assert figure is not None
    assert len({axis.get_xlim() for axis in figure.axes}) == 1
    for axis in figure.axes:
        means = [line.get_xdata()[0] for line in axis.get_lines() if line.get_marker() == "o"]
        assert means == sorted(means, reverse=True)
        assert any(set(np.asarray(line.get_xdata(), dtype=float)) == {0.0} for line in axis.get_lines())
    assert "better →" in [text.get_text() for text in figure.axes[0].texts]
    gaps = [gap for gap in budget.differences if gap.k == 5]
    texts = [text.get_text() for text in figure.axes[0].texts]
    for gap in gaps:
        low, high = gap.interval  # type: ignore[misc]
        assert f"{gap.gained:+.2f} [{low:+.2f}, {high:+.2f}]" in texts


def test_cost_names_every_method(budget: RunView) -> None:
    run = replace(budget, records=[replace(r, seconds=1.0 + len(r.method)) for r in budget.records])
    figure = value_figures.cost(run)
    assert figure is not None
    names = {text.get_text() for text in figure.axes[0].texts}
    assert names == set(run.methods) - {"OPT", "Random"}
    assert figure.axes[0].get_xscale() == "log"
    still = replace(run, records=[replace(r, seconds=0.0) for r in run.records])
    assert value_figures.cost(still) is None

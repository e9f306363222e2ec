"""What a study found, in pictures."""

from __future__ import annotations

import pytest

import foresolve
from drawn import labels, overlaps
from foresolve._base.drawing.palette import COLORS
from foresolve.data import knapsack_data
from foresolve.learning.study.methods import Family
from foresolve.learning.study.result import Study
from foresolve.learning.study.study_pictures import study_roles
from learning.study.instances import method_row


@pytest.fixture(scope="module")
def study() -> Study:
    data = knapsack_data(120, seed=0)
    return foresolve.study(
        data, methods=["spo+"], references=["mean", "ridge"], trials=1, epochs=2, budget=None, units="<euros>"
    )  # fmt: skip


def test_what_each_method_gains(study: Study) -> None:
    axes = study.plot()
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert sorted(names) == sorted(row.name for row in study.comparison if row.name != study.reference)
    markers = [line.get_xdata()[0] for line in axes.get_lines() if line.get_marker() in ("o", "s", "^")]
    assert markers == [study.comparison[name].gained for name in names]
    assert study.reference in axes.get_xlabel()
    assert "<euros>" in axes.get_xlabel()
    assert "95% interval" in labels(axes.get_figure().legends[0])
    assert overlaps(axes.get_figure()) == []


def test_cost_against_regret(study: Study) -> None:
    axes = study.plot_cost()
    assert {text.get_text() for text in axes.texts} == {"mean", "ridge", "spo+"}
    drawn = {line.get_ydata()[0]: line.get_color() for line in axes.get_lines()}
    assert drawn[study.comparison["spo+"].regret] == COLORS["decision-focused"]
    assert overlaps(axes.get_figure()) == []


def test_an_instance_of_the_test_data(study: Study) -> None:
    titles = [axes.get_title().split("\n")[0] for axes in study.draw_instance(1).axes]
    assert titles[-1].endswith(": true")
    assert f"{study.reference}: predicted" in titles


def test_in_a_notebook(study: Study) -> None:
    html = study._repr_html_()
    assert "<img" in html
    assert "<euros>" not in html
    assert repr(study).startswith(f"Study({study.verdict.answer}: ")
    told = f"Contrast(3 methods on {study.comparison.instances} test instances against {study.reference!r})"
    assert repr(study.comparison) == told


def test_the_family_of_a_method_gives_its_role() -> None:
    rows = [
        method_row(family.value, reference="ridge", family=family)
        for family in (Family.BASELINE, Family.TWO_STAGE, Family.DECISION_FOCUSED)
    ]
    assert list(study_roles(rows).values()) == ["heuristic", "two-stage", "decision-focused"]

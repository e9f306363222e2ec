from __future__ import annotations

import re
from pathlib import Path

import pytest

from foresolve.learning.study.result import Study
from foresolve.projects import init
from foresolve.projects.run import Run
from foresolve.projects.settings import Settings
from foresolve.report import run_page, study_page
from foresolve.report.pages.curves import Curves
from foresolve.report.pages.document import Command, Folded
from foresolve.report.pages.forest import Forest
from foresolve.report.pages.picker import Picker
from foresolve.report.pages.studies import small
from learning.study.instances import compared, paths, quick


@pytest.fixture(scope="module")
def study() -> Study:
    return quick(paths(), units="minutes")


def block(page, kind):
    return next(block for section in page.sections for block in section.blocks if isinstance(block, kind))


def test_the_verdict_comes_first_and_the_forest_shows_gains(study: Study) -> None:
    page = study_page(study, date="2026-01-01")
    assert page.cards[0].answer == study.verdict.sentence
    assert page.cards[0].terms == (study.verdict.method, study.reference)
    assert study.chosen in page.cards[2].answer
    forest = block(page, Forest)
    drawn = {difference.method: difference for difference in forest.differences}
    assert set(drawn) == {row.name for row in study.comparison.rows} - {study.reference}
    for row in study.comparison.rows:
        if row.name in drawn:
            assert drawn[row.name].mean == pytest.approx(row.gained)
            assert (drawn[row.name].low, drawn[row.name].high) == pytest.approx(row.interval)
    assert "minutes" in forest.unit
    assert page.html() == study_page(study, date="2026-01-01").html()


def test_networks_have_learning_curves_and_instances_every_method(study: Study) -> None:
    page = study_page(study)
    curves = block(page, Curves)
    assert [[curve.name for curve in panel.curves] for panel in curves.panels] == [["network", "spo+"]] * 3
    assert [panel.title for panel in curves.panels[:2]] == [
        "Regret in validation (%)", "Squared error of predictions in validation",
    ]  # fmt: skip
    trial = study.trial("spo+")
    assert trial.history is not None
    assert curves.panels[0].curves[1].values[1:] == tuple(100 * value for value in trial.history["valid_regret"])
    assert curves.panels[1].curves[1].values[1:] == tuple(trial.history["valid_mse"])
    assert "line-0 two-stage" in curves.panels[1].styles
    assert curves.caption.startswith("From the first epoch to the last, ")
    picker = block(page, Picker)
    assert {choice.method for choice in picker.instances[0].choices} == {row.name for row in study.comparison.rows}
    assert picker.unit == "minutes"


def test_a_run_has_the_page_of_its_study(study: Study, tmp_path: Path) -> None:
    init("shortest-path", tmp_path)
    run = Run.write(tmp_path / "run", Settings.read(tmp_path), study)
    page, expected = run_page(run), study_page(study)
    assert page.cards == expected.cards
    assert block(page, Forest) == block(expected, Forest)
    assert re.match(r"\d{4}-\d\d-\d\d$", page.date)
    assert commands(page) == ["foresolve train foresolve.toml --out NEW_RUN"]
    (tmp_path / "run" / "examples.json").unlink()  # an old run
    assert "One instance" not in [section.short for section in run_page(run).sections]


def commands(page) -> list[str]:
    folded = [inner for section in page.sections for part in section.blocks if isinstance(part, Folded)
              for inner in part.blocks]  # fmt: skip
    return [inner.text for inner in folded if isinstance(inner, Command)]


def test_the_command_trains_the_same_again(study: Study, tmp_path: Path) -> None:
    init("shortest-path", tmp_path)
    run = Run.write(tmp_path / "run", Settings.read(tmp_path), study, ["spo+"], budget=40.0)
    expected = ["foresolve train foresolve.toml --out NEW_RUN --budget 40 --keep spo+"]
    assert commands(run_page(run)) == commands(run_page(Run.open(tmp_path / "run"))) == expected


def test_settings_are_told_in_words(study: Study) -> None:
    html = study_page(study).html()
    assert "from the two-stage network with " in html
    assert "[]" not in html.partition("<body>")[2].partition("<script")[0]


def test_small_samples_are_called_small(study: Study) -> None:
    few, some, many = (small(compared("ridge", units=units)) for units in (12, 30, 50))
    assert "12 test instances" in few
    assert "20" in few  # the least for a claim
    assert "30 test instances" in some
    assert many == ""
    assert study.comparison.units == 32
    html = study_page(study).html()
    assert html.count("Small sample: 32 test instances.") == 3  # the verdict, the forest, the table

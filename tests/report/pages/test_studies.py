from __future__ import annotations

import re
from pathlib import Path

import pytest

from foresolve._base.numbers import signed
from foresolve.learning.study.result import Study
from foresolve.projects import init
from foresolve.projects.run import Run
from foresolve.projects.settings import Settings
from foresolve.report import run_page, study_page
from foresolve.report.pages.document import Command, Drawing, Folded, Grid
from foresolve.report.pages.studies import small
from learning.study.instances import compared, paths, quick


@pytest.fixture(scope="module")
def study() -> Study:
    return quick(paths(), units="minutes")


def drawing(page, title: str) -> Drawing:
    blocks = [block for section in page.sections for block in section.blocks]
    return next(block for block in blocks if isinstance(block, Drawing) and block.title == title)


def test_the_verdict_comes_first_and_the_forest_shows_gains(study: Study) -> None:
    page = study_page(study, date="2026-01-01")
    assert page.cards[0].answer == study.verdict.sentence
    assert page.cards[0].terms == (study.verdict.method, study.reference)
    assert study.chosen in page.cards[2].answer
    forest = drawing(page, "Paired differences")
    assert forest.alt.startswith(f"Minutes gained per instance over {study.reference}: ")
    for row in study.comparison.rows:
        if row.name != study.reference:
            low, high = row.interval or (None, None)
            text = f"{row.name} {signed(row.gained)} [{signed(low)}, {signed(high)}]".replace("-", "−")
            assert text in forest.alt
            assert text.partition(" ")[2] in forest.svg
    assert f"{study.reference} 0" not in forest.alt
    assert page.html() == study_page(study, date="2026-01-01").html()


def test_networks_have_learning_curves_and_instances_every_method(study: Study) -> None:
    page = study_page(study)
    curves = drawing(page, "How networks learned")
    trial = study.trial("spo+")
    assert trial.history is not None
    regrets, errors = trial.history["valid_regret"], trial.history["valid_mse"]
    assert f"spo+, regret from {100 * trial.history['start']:.3g} % to {100 * regrets[-1]:.3g} %" in curves.alt
    assert f"spo+, squared error of predictions from {trial.history['start_mse']:.3g} to {errors[-1]:.3g}" in curves.alt
    assert {part.strip().partition(",")[0] for part in curves.alt.partition(":")[2].split(";")} == {"network", "spo+"}
    assert curves.caption.startswith("From the first epoch to the last, ")
    (_, first, *_) = next(section for section in page.sections if section.short == "One instance").blocks
    assert isinstance(first, Folded)
    decisions = first.blocks[0]
    assert isinstance(decisions, Grid)
    assert {row.cells[0].text for row in decisions.compared} == {row.name for row in study.comparison.rows}
    assert decisions.headers[1] == "value (minutes)"


def test_a_run_has_the_page_of_its_study(study: Study, tmp_path: Path) -> None:
    init("shortest-path", tmp_path)
    run = Run.write(tmp_path / "run", Settings.read(tmp_path), study)
    page, expected = run_page(run), study_page(study)
    assert page.cards == expected.cards
    assert drawing(page, "Paired differences") == drawing(expected, "Paired differences")
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

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.calls import document, done, refused
from foresolve._base.container import ENTRIES
from foresolve.cli import build
from foresolve.projects import Project, Run, Settings
from foresolve.projects.run import STUDY_RESULT


@pytest.fixture(scope="module")
def other(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with another policy on the same data."""
    folder = tmp_path_factory.mktemp("other") / "run"
    settings = Project.load(sample).settings
    text = settings.text.replace('references = ["mean", "ridge"]', 'references = ["mean"]')
    return Project(Settings.parse(text, settings.path)).study(folder, progress=False).folder


def test_report(run: Path) -> None:
    study, text = Run.open(run).study(), done("report", run).stdout
    assert study["verdict"]["sentence"] in text
    assert all(row["name"] in text for row in study["comparison"]["rows"])
    (record,) = document("report", run)
    assert record["verdict"] == study["verdict"]
    assert [row["name"] for row in record["methods"]] == ["mean", "ridge", "spo+"]


def test_reports_say_what_to_mind(sample: Path, tmp_path: Path) -> None:
    """What a study had to cut, and methods that failed, stand beside the verdict wherever it is told."""
    folder = tmp_path / "run"
    shutil.copytree(sample / "run", folder)
    study = json.loads((folder / "study.json").read_text())
    study |= {"warnings": ["epochs reduced from 100 to 6"], "failures": {"forest": "no trees"}}
    STUDY_RESULT.write(folder / "study.json", {key: value for key, value in study.items() if key not in ENTRIES})
    notes = ["forest failed: no trees", "epochs reduced from 100 to 6"]
    (record,) = document("report", folder)
    assert record["cautions"] == notes
    for words in ([], ["--markdown"]):
        lines = done("report", folder, *words).stdout.splitlines()
        assert [line for line in lines if line.startswith("- ")] == [f"- {note}" for note in notes]


def test_tables_for_other_programs(run: Path) -> None:
    (record,) = document("report", run)
    rows = list(csv.DictReader(io.StringIO(done("report", run, "--csv").stdout)))
    assert [float(row["regret"]) for row in rows] == [method["regret"] for method in record["methods"]]
    assert "| mean" in done("report", run, "--markdown").stdout
    assert "one of --json, --csv and --markdown" in refused(2, "report", run, "--csv", "--json")


def test_compare(run: Path, other: Path) -> None:
    result = document("compare", run, other)
    first, second = result["rows"]
    assert (first["name"], second["name"]) == (str(run), str(other))
    assert second["gained"] == pytest.approx(first["regret"] - second["regret"])
    assert result["instances"] == 144
    assert f"regret of {run} minus" in " ".join(done("compare", run, other).stdout.split())


def test_compare_wants_two(run: Path) -> None:
    for words in ([run], [run, run]):
        assert "two different runs or more are compared" in refused(2, "compare", *words)


def test_a_page_is_written_where_it_is_asked_for(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    result = CliRunner().invoke(build(), ["report", str(run), "--html", str(path)])
    assert result.exit_code == 0, result.output
    sentence = Run.open(run).study()["verdict"]["sentence"]
    assert sentence in re.sub("<[^>]+>", "", path.read_text()).replace("−", "-")
    assert str(path) in result.stderr
    assert result.stdout.splitlines()[-1].startswith(sentence)  # the verdict last, where the eye is


def test_a_page_is_about_one_run(run: Path) -> None:
    result = CliRunner().invoke(build(), ["report", str(run), str(run), "--html", "page.html"])
    assert result.exit_code == 2
    assert "one run" in result.stderr

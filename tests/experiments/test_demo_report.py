from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.configs import BUDGET, MATCHING
from foresolve.experiments.comparison import Result
from foresolve.experiments.demo import run_demos
from foresolve.experiments.demo_report import HEADERS, report_html, table_rows, verdict, write_report
from foresolve.experiments.report import line_chart, write_whole


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return run_demos([MATCHING, BUDGET])


def test_the_report_is_well_formed_and_complete(results: list[Result]) -> None:
    html = report_html(results)
    tree = ET.fromstring(html.removeprefix("<!DOCTYPE html>\n"))
    text = " ".join(tree.itertext())
    titles = [heading.text for heading in tree.iter("h2")]
    for result in results:
        assert result.story.title in titles
        for row in table_rows(result):
            assert len(row) == len(HEADERS)
            assert all(cell in text for cell in row)
        for piece in (verdict(result), result.story.data, result.story.training, *result.story.notes):
            assert piece in text
    for piece in ("seed", "gammas", "customers", "torch", "foresolve", "docs/submodular.md"):
        assert piece in text
    assert len(list(tree.iter("polyline"))) == 2 * len(results)
    assert "<script" not in html
    assert "http" not in html


def test_one_part_alone(results: list[Result]) -> None:
    assert results[0].story.title not in report_html(results[1:])


def test_the_verdict_follows_the_interval(results: list[Result]) -> None:
    result = results[0]
    assert "decision-focused is better" in verdict(replace(result, difference=(2.0, 1.0, 3.0)))
    assert "two-stage is better" in verdict(replace(result, difference=(-2.0, -3.0, -1.0)))
    assert "do not tell them apart" in verdict(replace(result, difference=(0.0, -1.0, 1.0)))


def test_charts_take_flat_and_short_series() -> None:
    chart = ET.fromstring(line_chart({"a & b": [1.0]}, {"level": 1.0}, x_label="epoch", y_label="value"))
    assert any("a & b" in (text or "") for text in chart.itertext())


def test_reports_are_written_whole_or_not_at_all(
    results: list[Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_report(results, tmp_path / "new" / "folder")
    assert path.read_text(encoding="utf-8") == report_html(results)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_whole(path, "half")
    assert path.read_text(encoding="utf-8") == report_html(results)
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]

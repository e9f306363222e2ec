"""The report: whole, sound, by itself, and in words that follow from the numbers."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from foresolve.report.claims import answers
from foresolve.report.findings import two_stage_gaps
from foresolve.report.pages import reproduction
from foresolve.report.pages.answers import QUICK
from foresolve.report.pages.domains import instances
from foresolve.report.pages.reproduction import command, report_html, write_report
from foresolve.report.records import Course
from foresolve.report.tables import table1, table2
from foresolve.report.verdicts import overview, tallies
from foresolve.report.view import RunView
from report.test_courses import learned
from report.views import published_run
from reproduce.fakes import INFOS, fake_run

VOID = {"meta", "br"}


class Reader(HTMLParser):
    """Collects text, names and links, and fails on tags that do not close."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self._note(attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def _note(self, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name in ("href", "src", "xlink:href"):
                self.links.append(value or "")


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    return reader


@pytest.fixture(scope="module")
def runs() -> list[RunView]:
    files = {"cora.content": "b8ebed0f" * 8}
    return [
        fake_run("budget"),
        fake_run("matching", data="/home/someone/data", files=files),
        fake_run("recommendation", protocol="paper"),
    ]


@pytest.fixture(scope="module")
def html(runs: list[RunView]) -> str:
    return report_html(runs)


def test_the_page_needs_nothing_else(html: str) -> None:
    document = read(html)
    assert len(document.ids) == len(set(document.ids))
    assert all(link.startswith("data:") or link[1:] in document.ids for link in document.links)
    assert html.count("<script") == 2
    assert not re.search(r"""(src|href)=["']?http|@import|url\(http""", html)
    assert len(html) < 3_000_000


def test_the_page_has_tables_stories_settings_and_versions(runs: list[RunView], html: str) -> None:
    text = "".join(read(html).text)
    for run in runs:
        for block in (*table1([run]).blocks, *table2([run]).blocks):
            for name, *cells in block.rows:
                assert name in text
                assert all(cell.text in text and cell.note in text for cell in cells)
        for piece in (*run.info.story, run.info.title, command(run), "13 min", *run.versions.values()):
            assert piece in text
    assert "Papers & citations." in text
    assert "Protocol exact" in text
    assert "Protocol paper" in text
    assert "AAAI 2019" in text
    assert "b8ebed0f" * 8 in text
    assert len(re.findall('<div class="drawing"', html)) == 22  # seven figures of three domains, and one of all
    assert "/home/someone" not in html


def test_the_same_run_gives_the_same_page(html: str) -> None:
    files = {"cora.content": "b8ebed0f" * 8}
    again = [fake_run("budget"), fake_run("matching", data="/home/someone/data", files=files)]
    assert report_html([*again, fake_run("recommendation", protocol="paper")]) == html


def test_half_finished_and_empty_runs_have_a_page() -> None:
    run = fake_run(splits=3)
    empty = replace(run, records=[], pictures={})
    assert "There are no records yet." in report_html([empty])
    few = replace(run, records=[r for r in run.records if r.split == 0 or r.method == "NN2-Decision"])
    text = "".join(read(report_html([few])).text)
    assert "NN2-2Stage: 1 of 3 splits are finished." in text
    none = replace(run, records=[r for r in run.records if r.method != "TF-IDF"])
    assert "Without any finished split: TF-IDF." in report_html([none])


def test_without_matplotlib_the_page_says_how_to_get_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    text = report_html([fake_run(splits=2)])
    assert "foresolve[plot]" in text
    assert 'class="drawing"' not in text


def test_the_command_gives_the_run_again() -> None:
    run = fake_run("recommendation", splits=4, quick=True, data="/somewhere", seed=3, device="cuda")
    assert command(run) == (
        "foresolve reproduce recommendation --protocol exact --splits 4 --k 5,10,20 --methods "
        "'NN1-Decision,NN2-Decision,NN1-2Stage,NN2-2Stage,RF-2Stage,Most rated,Random,OPT' --seed 3 --device cuda "
        "--quick --data DIR"
    )
    assert command(replace(run, command="foresolve reproduce all")) == "foresolve reproduce all"
    assert "--k" not in command(fake_run("matching", splits=1))


def test_pages_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    run = fake_run(splits=1, pictures=False)
    path = write_report([run], tmp_path / "new" / "folder" / "report.html")
    assert path.read_text(encoding="utf-8") == report_html([run])
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]


def test_protocols_are_all_explained() -> None:
    assert set(reproduction.PROTOCOLS) == {"exact", "paper"}


def headings(html: str) -> list[str]:
    return re.findall('<section id="[^"]+">\\n<h2>(.*?)</h2>', html)


def questions(html: str) -> list[str]:
    return re.findall('<article class="card [a-z]+">\\n<h2>(.*?)</h2>', html)


def test_the_page_begins_with_answers_then_differences_the_paper_and_its_claims() -> None:
    means = {("NN1-2Stage", 5): 54.0, ("NN1-2Stage", 10): 59.0}
    runs = [published_run("budget"), published_run("budget", "exact", means=means)]
    html = report_html(runs)
    document = read(html)
    assert len(document.ids) == len(set(document.ids))
    assert questions(html) == [
        "Do decisions get better when models are trained on them?", "Budget allocation (protocol paper): does it pay?",
        "Budget allocation (protocol exact): does it pay?", "Did it reproduce the paper?",
    ]  # fmt: skip
    assert headings(html) == [
        "Did it reproduce?", "The paper&#39;s claims", "Budget allocation (protocol paper)",
        "Budget allocation (protocol exact)", "How to read this", "Settings and versions",
    ]  # fmt: skip
    text = "".join(document.text)
    for told in (
        *tallies(runs),
        overview(runs),
        *two_stage_gaps(runs[1]),
        *(answer.claim.words for answer in answers(runs)),
    ):
        assert told in text


def test_what_cannot_be_compared_says_so() -> None:
    quick = report_html([fake_run(splits=2, quick=True)])
    assert headings(quick)[0] == "By how much"
    assert QUICK in quick
    run = fake_run(splits=2)
    elsewhere = replace(
        run,
        config=replace(run.config, domain="shelf"),
        records=[replace(record, domain="shelf") for record in run.records],
    )
    assert questions(report_html([elsewhere])) == ["Bipartite matching: does it pay?"]
    assert "protocol exact)" not in report_html([elsewhere])


def test_few_splits_are_called_few_where_numbers_stand() -> None:
    small = "Small sample: 3 splits."
    assert report_html([fake_run(splits=3, pictures=False)]).count(small) >= 4  # card, both forests, values
    assert "Small sample" not in report_html([fake_run(splits=30, pictures=False)])


def test_names_are_explained_and_runs_without_protocols_stay_short() -> None:
    html = report_html([fake_run(splits=2)])
    assert "a network with two layers, trained on what its decisions are worth" in html
    assert 'data-meaning="the best decision known under the truth' in html


def test_instances_show_what_the_pictures_have(runs: list[RunView]) -> None:
    budget, matching = (instances(run) for run in runs[:2])
    first = budget["instances"][0]
    assert [choice["method"] for choice in first["choices"]] == ["NN1-2Stage", "NN1-Decision"]
    assert [choice["cost"] > 0 for choice in first["choices"]] == [True, False]
    assert sum(first["best"]) == 10
    assert sum(first["choices"][1]["chosen"]) == 10
    assert first["left_out"] == 100 - len(first["items"])
    assert all(" – " in item for item in matching["instances"][0]["items"])
    assert (budget["item"], budget["parameter"]) == ("channels", "sum over customers")
    assert (matching["item"], matching["parameter"]) == ("papers – papers of the other side", "parameter")
    html = report_html(runs)
    assert html.count("<summary>Instance 1</summary>") == 3
    assert "The first 3 test instances of the first split, k = 10" in html


def test_sessions_are_listed() -> None:
    session = {"date": "2026-11-16T10:00:00+00:00", "platform": "Linux", "cpus": "8", "torch": "2.9.0"}
    session |= {"code": "ab12cd", "engine": "local", "workers": 4, "jobs": 12, "seconds": 60.0}
    run = fake_run(splits=2)
    text = "".join(read(report_html([replace(run, sessions=[session])])).text)
    assert "local x 4" in text
    assert "All records come from one version of the code, ab12cd." in text
    assert "Sessions" not in report_html([run])


def test_details_have_the_share_of_every_row() -> None:
    run = fake_run("budget", protocol="paper", splits=3)
    assert INFOS["budget"].fractional
    assert "the best decisions known</td>" in report_html([run])
    steps = [replace(r, fractional=0.95 * r.value) if r.method == "OPT" else r for r in run.records]
    html = report_html([replace(run, records=steps)])
    assert html.count("<td>the best by the same ten steps</td>") == len(run.rows)
    assert "dashed: the best by the same ten steps." in html


def test_networks_have_learning_curves_and_few_of_many() -> None:
    falling: Course = {"regret": [0.5, 0.25], "mse": [1.0, 2.0]}
    rising: Course = {"regret": [0.5, 0.375], "mse": [1.0, 0.5]}
    both = {"NN2-Decision": [falling] * 2, "NN2-2Stage": [rising] * 2}
    run = learned(fake_run("matching", splits=2, curves=False), both)
    page = report_html([run])
    text = "".join(read(page).text)
    assert page.count("<h3>Learning curves</h3>") == 1
    assert (
        "regret fell while the squared error of predictions rose in NN2-Decision; regret and the squared error of "
        "predictions fell in NN2-2Stage. Means over splits, of the setting that was chosen in each. "
        "No curve: NN1-Decision, NN1-2Stage and RF-2Stage, nothing of which is validated epoch by epoch. "
        "Small sample: 2 splits." in text
    )
    assert "NN2-Decision, regret from 50 % to 25 %, least 25 %; NN2-Decision, squared error of predictions" in page
    assert "<h3>Learning curves</h3>" not in report_html([fake_run("matching", splits=2, curves=False)])  # an old run
    many = [f"NN{i}-Decision" for i in range(3, 9)]
    grown = replace(run, config=replace(run.config, methods=(*run.config.methods, *many)), records=[
        *run.records, *(replace(r, method=name) for r in run.records if r.method == "NN2-Decision" for name in many),
    ])  # fmt: skip
    page = report_html([grown])
    main, _, folded = page.partition("All learning curves")
    assert "NN8-Decision, regret from" in folded
    assert "NN8-Decision, regret from" not in main

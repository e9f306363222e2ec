"""The one rule at its boundaries, the rows that it judges, and the table of verdicts."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from rich.console import Console

from foresolve.report.published import TABLE1, TABLE2, Published
from foresolve.report.summary import Estimate
from foresolve.report.verdicts import Comparison, comparisons, judge, reproduced_table, tallies, tally
from report.views import published_run
from reproduce.fakes import fake_run, record

PAPER = Published(10.0, 0.3)


def ours(mean: float, half: float | None = 0.4) -> Estimate:
    return Estimate(mean, None if half is None else mean - half, None if half is None else mean + half, 30)


@pytest.mark.parametrize(
    ("mean", "verdict", "mirrored"),
    [
        (10.71, "above", "not reproduced"),
        (10.7, "reproduced", "reproduced"),  # the sum of the half widths; their root of squares is 0.5
        (10.51, "reproduced", "reproduced"),
        (10.0, "reproduced", "reproduced"),
        (9.3, "reproduced", "reproduced"),
        (9.29, "not reproduced", "better"),
    ],
)
def test_the_rule_and_its_mirror_image(mean: float, verdict: str, mirrored: str) -> None:
    assert judge(ours(mean), PAPER) == verdict
    assert judge(ours(mean), PAPER, smaller_is_better=True) == mirrored


def test_without_an_interval_nothing_is_judged() -> None:
    assert judge(ours(50.0, None), PAPER) == judge(ours(1.0, None), PAPER, smaller_is_better=True) == "unknown"


def test_comparisons_know_which_way_is_better() -> None:
    def verdict(measure: str | None, mean: float) -> str:
        return Comparison("A", None, measure, ours(mean), PAPER).verdict  # type: ignore[arg-type]

    assert [verdict(measure, 12.0) for measure in (None, "auc")] == ["above", "above"]
    assert [verdict(measure, 12.0) for measure in ("mse", "cross_entropy")] == ["not reproduced"] * 2
    assert [verdict(measure, 8.0) for measure in ("mse", "cross_entropy")] == ["better"] * 2
    comparison = Comparison("A", 5, None, ours(8.0), PAPER)
    assert (comparison.difference, comparison.percent) == pytest.approx((-2.0, -20.0))


@pytest.mark.parametrize("domain", ["budget", "matching", "recommendation"])
def test_the_papers_own_figures_reproduce(domain: str) -> None:
    compared = comparisons(published_run(domain))
    expected = sum(key[0] == domain for key in (*TABLE1, *TABLE2))
    assert len(compared) == expected
    assert {comparison.verdict for comparison in compared} == {"reproduced"}
    assert tally(compared) == f"{expected} of {expected} figures reproduced"


def test_what_is_not_the_papers_is_not_judged() -> None:
    run = published_run("matching")
    more = [
        record(split, name, 30.0) for split in range(30) for name in ("TF-IDF", "NN2-Decision (exact layer)", "OPT")
    ]
    assert comparisons(replace(run, records=[*run.records, *more])) == comparisons(run)
    assert comparisons(fake_run(quick=True)) == []
    other = published_run("budget")
    only_20 = replace(other, records=[r for r in other.records if r.k == 20])
    assert {(c.k, c.measure) for c in comparisons(only_20)} == {(20, None)}  # Table 2 is at k = 10


def test_fractional_figures_are_judged_where_table_1_shows_them() -> None:
    run = published_run("budget")
    moved = replace(run, records=[replace(r, value=r.value / 2) for r in run.records if r.fractional is not None])
    assert {c.verdict for c in comparisons(moved) if c.measure is None} == {"reproduced"}
    exact = replace(moved, config=replace(run.config, protocol="exact"))
    assert {c.verdict for c in comparisons(exact) if c.measure is None} == {"not reproduced"}


def test_the_table_has_every_verdict_and_its_reasons() -> None:
    means = {("NN1-Decision", 5): 55.0, ("NN2-Decision", 5): 30.0}
    run = published_run("budget", means=means, measures={("RF-2Stage", "mse"): 1e-5, ("NN1-2Stage", "mse"): 1.0})
    table = reproduced_table([run])
    quality, accuracy = table.blocks
    assert quality.headers == ("method", "k", "published", "ours", "difference", "verdict")
    assert accuracy.headers == ("method", "measure", "published", "ours", "difference", "verdict")
    rows = {(row[0], row[1]): row[2:] for row in quality.rows} | {(r[0], r[1].text): r[2:] for r in accuracy.rows}
    published, mine, gap, verdict = rows["NN1-Decision", 5]
    assert (published.text, gap.text) == ("49.18 ± 0.24", "+5.82 (+12 %)")
    assert (published.value, mine.value) == pytest.approx((49.18, 55.0))
    assert verdict.text == "above (1)"
    assert table.notes[0].startswith("The edges are generated rather than Yahoo's, so levels need not agree")
    assert rows["NN2-Decision", 5][3].text == "not reproduced (1)"
    assert rows["NN2-Decision", 10][3].text == "reproduced"
    sample = 1 + next(i for i, note in enumerate(table.notes) if "sample of the rows" in note)
    assert rows["RF-2Stage", "MSE (x 1e-2)"][3].text == f"better (1, {sample})"
    assert rows["NN1-2Stage", "MSE (x 1e-2)"][2].text == "+99.9499 (+199501 %)"
    assert table.caption.startswith(tally(comparisons(run)))
    assert "1. The edges are generated" in table.markdown()
    assert table.markdown().startswith("**Did it reproduce?** 19 of 23")


def test_csv() -> None:
    run = published_run("matching", data="here", means={("NN2-Decision", None): 9.0})
    lines = list(csv.DictReader(io.StringIO(reproduced_table([run]).csv())))
    assert len(lines) == 6 + 10
    line = next(x for x in lines if x["method"] == "NN2-Decision" and x["measure"] == "value")
    assert (line["domain"], line["protocol"], line["k"], line["published"]) == ("matching", "paper", "", "6.15")
    assert float(line["difference"]) == pytest.approx(2.85)
    assert float(line["percent"]) == pytest.approx(100 * 2.85 / 6.15)
    assert (line["verdict"], line["reasons"]) == ("above", "The partition of the graph into instances is ours.")


def test_one_split_is_unknown() -> None:
    run = published_run("matching")
    single = replace(run, records=[r for r in run.records if r.split == 0])
    assert tallies([single]) == ["Bipartite matching (protocol paper): 0 of 16 figures reproduced, 16 unknown."]


def test_runs_that_cannot_be_compared_make_an_empty_table() -> None:
    table = reproduced_table([fake_run(quick=True, splits=2), replace(fake_run(), records=[])])
    assert (table.blocks, table.caption, table.notes) == ((), "", ())
    assert table.csv().count("\n") == 1


def test_two_protocols_of_a_domain_are_named() -> None:
    runs = [published_run("matching"), published_run("matching", "exact", means={("NN2-Decision", None): 9.0})]
    table = reproduced_table(runs)
    assert table.caption.startswith(
        "Protocol paper: 16 of 16 figures reproduced. Protocol exact: 15 of 16 figures reproduced, 1 above. A figure"
    )
    assert [block.title for block in table.blocks] == [
        f"Bipartite matching (protocol {protocol}, generated data, 30 splits), Table {number}"
        for protocol in ("paper", "exact")
        for number in (1, 2)
    ]


def test_a_terminal_of_80_columns_is_enough() -> None:
    means = {("NN2-2Stage", 5): 49.12, ("NN1-2Stage", 5): 9.6}
    runs = [published_run(domain) for domain in ("budget", "matching", "recommendation")]
    runs.append(published_run("budget", "exact", means=means, measures={("NN1-Decision", "mse"): 0.366}))
    stream = io.StringIO()
    Console(file=stream, width=80).print(reproduced_table(runs).rich())
    text = stream.getvalue()
    assert text.startswith("Did it reproduce?")
    assert "…" not in text
    rows = [line.split() for line in text.splitlines() if line.startswith(" NN1-2Stage") and " 9.60 " in line]
    assert [row[-3:] for row in rows] == [["-22.53", "not", "reproduced"]]  # in one line

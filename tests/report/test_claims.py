"""What the runs at hand answer to the paper's claims."""

from __future__ import annotations

import csv
import io

import pytest
from rich.console import Console

from foresolve.report.claim_rules import Outcome
from foresolve.report.claims import CLAIMS, Answer, answers, claims_table
from foresolve.report.published import DOMAINS
from foresolve.report.records import Protocol
from foresolve.report.view import RunView
from report.views import published_run
from reproduce.fakes import fake_run

YES, NO = Outcome(True, "1"), Outcome(False, "0")
LEAD, SOMEWHAT = CLAIMS[1], CLAIMS[2]


@pytest.mark.parametrize(
    ("paper", "exact", "verdict"),
    [
        (YES, YES, "holds"),
        (YES, NO, "holds only against untuned two-stage networks"),
        (NO, YES, "does not hold by the published recipe; holds under protocol exact"),
        (NO, NO, "does not hold"),
        (YES, None, "holds (no figures of protocol exact)"),
        (NO, None, "does not hold (no figures of protocol exact)"),
        (None, YES, "holds (no figures of protocol paper)"),
        (None, NO, "does not hold (no figures of protocol paper)"),
        (None, None, "unknown"),
    ],
)
def test_answers(paper: Outcome | None, exact: Outcome | None, verdict: str) -> None:
    assert Answer(LEAD, {"paper": paper, "exact": exact}).verdict == verdict


def test_claims_that_are_not_about_two_stage_networks_have_words_of_their_own() -> None:
    assert LEAD.two_stage
    assert not SOMEWHAT.two_stage
    assert Answer(SOMEWHAT, {"paper": YES, "exact": NO}).verdict == "holds only by the published recipe"


def tuned(protocol: Protocol = "exact") -> RunView:
    """Budget allocation with two-stage networks as good as any."""
    return published_run("budget", protocol, means={("NN1-2Stage", k): 49.0 * k for k in (5, 10, 20)})


def verdicts(*runs: RunView) -> dict[str, str]:
    return {answer.claim.rule.__name__: answer.verdict for answer in answers(runs)}


def test_each_protocol_is_asked() -> None:
    both = verdicts(published_run("budget"), tuned())
    assert both["lead_on_budget"] == "holds only against untuned two-stage networks"
    assert both["one_layer_ahead_of_two"] == "holds"
    turned = verdicts(tuned("paper"), published_run("budget", "exact"))
    assert turned["lead_on_budget"] == "does not hold by the published recipe; holds under protocol exact"
    assert verdicts(tuned())["lead_on_budget"] == "does not hold (no figures of protocol paper)"
    assert set(verdicts(published_run("matching")).values()) == {"holds (no figures of protocol exact)"}


def test_only_what_can_be_asked_is_asked() -> None:
    assert {claim.domains for claim in CLAIMS} == {(d,) for d in DOMAINS} | {("budget", "matching", "recommendation")}
    assert {a.claim.domains for a in answers([published_run("matching")])} == {("matching",)}
    everything = [published_run(domain) for domain in DOMAINS]
    assert [answer.claim for answer in answers(everything)] == list(CLAIMS)
    assert answers([fake_run("budget", quick=True)]) == []
    assert claims_table([fake_run("budget", quick=True)]).blocks == ()


def test_missing_figures_are_unknown() -> None:
    run = published_run("budget")
    some = RunView(run.config, {}, [r for r in run.records if r.k == 10], {}, run.info)
    found = verdicts(some)
    assert found.pop("worst_mse_best_quality") == "holds (no figures of protocol exact)"  # it is about k = 10 alone
    assert set(found.values()) == {"unknown"}


def test_figures_of_fewer_splits_are_no_answer() -> None:
    run = published_run("matching")
    fewer = [r for r in run.records if (r.method, r.split) != ("NN2-2Stage", 0)]
    found = verdicts(RunView(run.config, {}, fewer, {}, run.info))
    assert found["forest_marginally_better"] == "unknown"
    assert found["one_layer_no_better_than_chance"] == "holds (no figures of protocol exact)"


def test_the_table() -> None:
    table = claims_table([published_run("budget"), tuned()])
    (block,) = table.blocks
    assert (block.title, len(block.rows)) == ("Budget allocation", 6)
    assert block.headers == ("claim", "protocol paper", "protocol exact", "answer")
    claim, paper, exact, answer = block.rows[0]
    assert "at least 37%" in claim
    assert paper == "yes: +38.0 / +48.2 / +51.2 %"
    assert exact.startswith("no: -81.9 / ")
    assert answer.text == "holds only against untuned two-stage networks"
    assert "---:" not in table.markdown()
    lines = list(csv.DictReader(io.StringIO(table.csv())))
    assert lines[0]["answer"] == answer.text
    assert lines[0]["paper"] == paper
    assert "1.37" in lines[0]["rule"]
    stream = io.StringIO()
    Console(file=stream, width=80).print(table.rich())
    assert "…" not in stream.getvalue()


def test_one_protocol_has_one_column() -> None:
    runs = [published_run(domain) for domain in ("budget", "matching", "recommendation")]
    table = claims_table(runs)
    assert {block.headers for block in table.blocks} == {("claim", "protocol paper", "answer")}
    assert [block.title for block in table.blocks] == [
        "All domains", "Budget allocation", "Bipartite matching", "Diverse recommendation",
    ]  # fmt: skip
    assert next(csv.DictReader(io.StringIO(table.csv())))["exact"] == "figures missing"

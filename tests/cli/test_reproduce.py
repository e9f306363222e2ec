from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from cli.calls import invoke
from foresolve.cli import build
from foresolve.errors import ForesolveError
from foresolve.report.records import Config, DomainInfo, Job, JobResult, Record
from foresolve.reproduce import DOMAINS, Domain, Run, run_all
from foresolve.reproduce.domains import methods
from foresolve.reproduce.domains.registry import published
from foresolve.reproduce.runs import engines
from reproduce import toys

PAPER = ("budget", "matching", "recommendation")
METHODS = ("NN1-Decision", "NN1-2Stage", "Random")


def info(name: str) -> DomainInfo:
    ks = () if name == "matching" else (5, 10)
    return DomainInfo(
        name, f"The {name}", ("A story.",), ks, 10 if ks else None, ("mse",), "rows", "columns", METHODS[1::-1],
        methods.METHODS,
    )  # fmt: skip


def work(config: Config, job: Job) -> JobResult:
    """The methods differ by one, so that tables have something to say."""
    value = 3.0 - METHODS.index(job.method)
    return JobResult(tuple(Record(job.domain, job.split, job.method, k, value, None, 4.0, mse=0.1) for k in job.ks))


class Planner(SimpleNamespace):
    """`plan` without checks: collects what was asked for, engines included."""

    def plan(self, domain: str, *, ks: Any = None, methods: Any = None, splits: int = 2, **others: Any) -> Config:
        self.asked.append((domain, others | {"ks": ks, "methods": methods, "splits": splits}))
        if domain == self.wrong:
            raise ForesolveError(f"{domain}: the data are wrong")
        known = {name: value for name, value in others.items() if name != "data"}
        data = None if others.get("data") is None else str(others["data"])
        sizes = {"splits": splits, "ks": ks or info(domain).ks, "methods": methods or METHODS}
        return Config(domain, data=data, source="generated" if data is None else f"from {data}", **sizes, **known)


@pytest.fixture
def planner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Planner:
    """The paper's domains with jobs that take no time."""
    fake = Planner(asked=[], wrong="", engines=[])
    for name in PAPER:
        monkeypatch.setitem(DOMAINS, name, replace(DOMAINS[name], info=info(name)))
    monkeypatch.setattr("foresolve.reproduce.runs.plan.plan", fake.plan)
    monkeypatch.setattr("foresolve.reproduce.runs.run.run_all", partial(run_all, work=work, jobs=toys.jobs))

    def local(workers: int | None = None) -> toys.HereEngine:
        fake.engines.append(workers)
        return toys.HereEngine()

    monkeypatch.setattr(engines, "LocalEngine", local)
    monkeypatch.delenv("FORESOLVE_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    return fake


def test_reproduce_prints_tables_and_the_path_of_the_report(planner: Planner, tmp_path: Path) -> None:
    result = invoke("reproduce", "budget", "--splits", "3", "--k", "5,10", "--seed", "7", "--workers", "2")
    assert result.exit_code == 0, result.output
    folder = Path("foresolve-runs/budget-exact")
    assert "budget: generated; protocol exact, 3 splits, k = 5, 10, 3 methods" in result.stdout
    assert "NN1-Decision" in result.stdout
    assert result.stdout.rstrip().endswith(f"Report: {folder / 'report.html'}")
    answers = result.stdout.index("The budget: does it pay?")
    assert result.stdout.index("Table 1") < result.stdout.index("Paired differences") < answers
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert planner.engines == [2]
    assert len(Run.read(folder).records) == 18
    assert {path.name for path in (folder / "tables").iterdir()} >= {"table1.csv", "table1.md", "table2.csv"}
    assert {path.name for path in (folder / "figures").iterdir()} >= {"values.png", "values.svg"}
    assert "The budget" in (folder / "report.html").read_text()
    ((domain, asked),) = planner.asked
    assert (domain, asked["ks"], asked["splits"], asked["seed"]) == ("budget", (5, 10), 3, 7)


def test_all_makes_a_folder_for_each_domain_and_one_report(planner: Planner, tmp_path: Path) -> None:
    result = invoke("reproduce", "all", "--quick", "--protocol", "paper", "--k", "10", "--out", "here")
    assert result.exit_code == 0, result.output
    assert [(domain, asked["ks"]) for domain, asked in planner.asked] == [
        ("budget", (10,)),
        ("matching", None),
        ("recommendation", (10,)),
    ]
    for name in PAPER:
        assert len(Run.read(f"here/{name}-paper-quick").records) == 6
        assert Path(f"here/{name}-paper-quick/figures/values.svg").is_file()
    text = Path("here/all-paper-quick/report.html").read_text()
    assert all(f"The {name}" in text for name in PAPER)
    assert "here/all-paper-quick/report.html" in result.stdout


def test_both_protocols_make_two_runs_and_one_report(planner: Planner) -> None:
    result = invoke("reproduce", "budget", "--protocol", "both", "--out", "here")
    assert result.exit_code == 0, result.output
    assert [(domain, asked["protocol"]) for domain, asked in planner.asked] == [
        ("budget", "paper"),
        ("budget", "exact"),
    ]
    for protocol in ("paper", "exact"):
        assert Run.read(f"here/budget-{protocol}").config.protocol == protocol
        assert Path(f"here/budget-{protocol}/figures/values.svg").is_file()
        assert f"The budget (protocol {protocol}, generated data, 2 splits)" in result.stdout
    assert result.stdout.rstrip().endswith("Report: here/budget-both/report.html")
    assert {path.name for path in Path("here/budget-both/tables").iterdir()} >= {"reproduced.csv", "claims.csv"}
    text = Path("here/budget-both/report.html").read_text()
    assert "<h2>The budget (protocol paper)</h2>" in text
    assert "<h2>The budget (protocol exact)</h2>" in text


def test_both_protocols_of_all_resume_what_is_there(planner: Planner) -> None:
    assert invoke("reproduce", "matching", "--protocol", "paper", "--quick").exit_code == 0
    before = Path("foresolve-runs/matching-paper-quick/records.jsonl").read_bytes()
    result = invoke("reproduce", "all", "--protocol", "both", "--quick")
    assert result.exit_code == 0, result.output
    assert Path("foresolve-runs/matching-paper-quick/records.jsonl").read_bytes() == before
    runs = {path.name for path in Path("foresolve-runs").iterdir()}
    assert runs == {f"{name}-{end}-quick" for name in PAPER for end in ("paper", "exact")} | {"all-both-quick"}
    assert "Report: foresolve-runs/all-both-quick/report.html" in result.stdout


def test_each_protocol_takes_the_methods_that_it_has(planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = {"paper": ("NN1-Decision", "NN1-2Stage"), "exact": ("NN1-Decision", "Random")}
    one = replace(DOMAINS["budget"], methods=lambda config: dict.fromkeys(tables[config.protocol]))
    monkeypatch.setitem(DOMAINS, "budget", one)

    def asked(methods: str) -> list[tuple[str, tuple[str, ...]]]:
        planner.asked.clear()
        result = invoke("reproduce", "budget", "--protocol", "both", "--methods", methods, "--out", methods)
        assert result.exit_code == 0, result.output
        return [(others["protocol"], others["methods"]) for _, others in planner.asked]

    assert asked("NN1-Decision,NN1-2Stage") == [("paper", ("NN1-Decision", "NN1-2Stage")), ("exact", ("NN1-Decision",))]
    assert asked("Random") == [("exact", ("Random",))]
    result = invoke("reproduce", "budget", "--protocol", "both", "--methods", "Random,chess", "--out", "z")
    words = " ".join(result.stderr.replace("│", " ").split())
    assert result.exit_code == 2
    assert (
        "Invalid value for '--methods': must be among those of budget: NN1-Decision, NN1-2Stage, Random; got" in words
    )
    assert not Path("z").exists()


def test_a_domain_that_is_not_in_the_paper_has_one_protocol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke("reproduce", "knapsack", "--protocol", "both", "--quick")
    words = " ".join(result.stderr.replace("│", " ").split())
    assert result.exit_code == 2
    assert "Invalid value for '--protocol'" in words
    assert "which is not in the paper" in words


def test_the_terminal_answers_whether_it_reproduced(planner: Planner) -> None:
    result = invoke("reproduce", "budget", "--k", "5,10,20")
    titles = ("Table 1", "Table 2", "Did it reproduce?", "The paper's claims", "Report:")
    places = [result.stdout.index(title) for title in titles]
    assert places == sorted(places)
    assert "not reproduced" in result.stdout  # NN1-Decision has 3.0 here, the paper 49.18
    answers = Path("foresolve-runs/budget-exact/tables/claims.csv").read_text()
    assert ",holds (no figures of protocol paper)" in answers  # NN1-2Stage is behind NN1-Decision
    assert ",unknown" in answers  # there is no forest
    quick = invoke("reproduce", "budget", "--quick")
    assert "Did it reproduce?" not in quick.stdout
    assert "The paper's claims" not in quick.stdout


def test_the_same_command_resumes(planner: Planner) -> None:
    command = ("reproduce", "matching", "--out", "x")
    assert invoke(*command).exit_code == 0
    before = Path("x/records.jsonl").read_bytes()
    assert invoke(*command).exit_code == 0
    assert Path("x/records.jsonl").read_bytes() == before
    result = invoke(*command, "--seed", "1")
    assert result.exit_code == 1
    assert re.match("foresolve: .*`seed`", result.stderr)


@pytest.mark.parametrize(
    ("words", "variable", "expected"),
    [
        ((), None, None),
        ((), "env", "env"),
        (("--data", "given"), "env", "given"),
        (("--quick",), "env", None),
        (("--quick", "--data", "given"), None, "given"),
    ],
)
def test_where_the_data_come_from(
    words: tuple[str, ...],
    variable: str | None,
    expected: str | None,
    planner: Planner,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if variable is not None:
        monkeypatch.setenv("FORESOLVE_DATA", variable)
    result = invoke("reproduce", "matching", *words)
    assert result.exit_code == 0, result.output
    (asked,) = planner.asked
    data = asked[1].get("data")
    assert (None if data is None else str(data)) == expected
    assert ("matching: generated;" in result.stdout) == (expected is None)


def test_everything_is_checked_before_any_work(planner: Planner) -> None:
    planner.wrong = "recommendation"
    result = invoke("reproduce", "all")
    assert (result.exit_code, result.stderr) == (1, "foresolve: recommendation: the data are wrong\n")
    assert not Path("foresolve-runs").exists()


def test_machines_share_a_run(planner: Planner) -> None:
    common = ("reproduce", "matching", "--splits", "4")
    for part in ("1/2", "2/2"):
        result = invoke(*common, "--part", part, "--out", f"part{part[0]}")
        assert result.exit_code == 0, result.output
        assert {record.split % 2 for record in Run.read(f"part{part[0]}").records} == {int(part[0]) - 1}
    result = invoke(*common, "--out", "whole", "--merge", "part1", "--merge", "part2")
    assert result.exit_code == 0, result.output
    assert {record.split for record in Run.read("whole").records} == {0, 1, 2, 3}
    assert len(Run.read("whole").sessions) == 2  # nothing was left to do


def test_ctrl_c_says_how_to_go_on(planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "LocalEngine", lambda workers: toys.HereEngine(stop_after=1))
    result = invoke("reproduce", "budget")
    assert result.exit_code == 130
    assert "foresolve: stopped with 1 of 6 jobs done" in result.stderr
    assert not Path("foresolve-runs/budget-exact/report.html").exists()


def test_methods_device_and_its_workers(planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "cores", lambda: 64)
    assert invoke("reproduce", "budget", "--methods", "NN1-Decision,Random", "--device", "cuda").exit_code == 0
    assert planner.asked[0][1]["methods"] == ("NN1-Decision", "Random")
    assert planner.asked[0][1]["device"] == "cuda"
    assert planner.engines == [4]


def test_ray_is_asked_for_by_name(planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    result = invoke("reproduce", "budget", "--engine", "ray", "--address", "auto")
    assert result.exit_code == 1
    assert "foresolve[ray]" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["reproduce"],
        ["reproduce", "chess"],
        ["reproduce", "budget", "--splits", "0"],
        ["reproduce", "budget", "--k", "5;10"],
        ["reproduce", "budget", "--seed", "-1"],
        ["reproduce", "budget", "--workers", "0"],
        ["reproduce", "budget", "--engine", "slurm"],
        ["reproduce", "budget", "--address", "auto"],
        ["reproduce", "budget", "--protocol", "other"],
        ["reproduce", "budget", "--part", "3/2"],
        ["reproduce", "budget", "--part", "first"],
        ["reproduce", "budget", "--merge", "nowhere"],
        ["reproduce", "budget", "--out", __file__],
        ["demo"],
    ],
)
def test_bad_arguments_are_refused(arguments: list[str], planner: Planner) -> None:
    assert CliRunner().invoke(build(), arguments).exit_code == 2
    assert planner.asked == []


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--k", "0", "must be an integer >= 1; got 0"),
        ("--k", "-3", "must be an integer >= 1; got -3"),
        ("--k", "5,x", "is not a list of whole numbers"),
        ("--k", "99999", "must be at most"),
        ("--methods", "chess", "must be among those of budget"),
        ("--data", "nowhere", "must be a folder"),
        ("--device", "cuda", "must be one that is available"),
    ],
)
def test_an_option_that_makes_no_sense_is_named_as_it_was_written(
    option: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    if option == "--device" and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    result = invoke("reproduce", "budget", option, value)
    words = " ".join(result.stderr.replace("│", " ").split())
    assert result.exit_code == 2
    assert f"Invalid value for '{option}': " in words
    assert message in words
    assert list(tmp_path.iterdir()) == []


def test_what_was_not_given_as_an_option_is_not_blamed_on_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESOLVE_DATA", "nowhere")
    result = invoke("reproduce", "budget")
    assert result.exit_code == 1
    assert "foresolve: `data` must be a folder" in result.stderr


def test_every_domain_can_be_asked_for(planner: Planner) -> None:
    assert published() == PAPER
    words = " ".join(invoke("reproduce", "--help").stdout.replace("│", " ").split())
    assert f"One of {', '.join(DOMAINS)}; or all: those of the paper." in words
    result = invoke("reproduce", "chess")
    assert result.exit_code == 2
    assert "'chess' is not one of" in result.stderr


def test_a_domain_that_joins_can_be_asked_for(planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    matching: Domain = DOMAINS["matching"]
    monkeypatch.setitem(DOMAINS, "shelf", replace(matching, info=info("shelf"), published=False))
    assert invoke("reproduce", "shelf", "--splits", "1").exit_code == 0
    assert [domain for domain, _ in planner.asked] == ["shelf"]
    assert invoke("reproduce", "all", "--splits", "1").exit_code == 0
    assert [domain for domain, _ in planner.asked[1:]] == list(PAPER)


@pytest.mark.slow
def test_a_real_quick_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESOLVE_DATA", os.devnull)  # not asked for by a quick run
    result = invoke("reproduce", "all", "--quick", "--splits", "2", "--out", str(tmp_path))
    assert result.exit_code == 0, (result.output, result.exception)
    report = tmp_path / "all-exact-quick" / "report.html"
    assert str(report) in result.stdout
    text = report.read_text()
    assert all(re.search(name, text, re.IGNORECASE) for name in PAPER)
    assert "<svg" in text

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foresolve.report.records import Config
from foresolve.reproduce import DOMAINS, plan
from mistakes import mistake


def test_a_plan_fills_everything_in() -> None:
    config = plan("budget")
    assert (config.protocol, config.splits, config.ks, config.seed) == ("exact", 30, (5, 10, 20), 0)
    assert (config.quick, config.data, config.files, config.device) == (False, None, {}, "cpu")
    assert config.methods == tuple(DOMAINS["budget"].methods(config))
    quick = plan("budget", quick=True)
    assert (quick.splits, quick.ks) == (3, (10,))
    assert plan("matching").ks == ()
    assert Config.from_dict(config.to_dict()) == config


def test_a_plan_puts_things_in_order() -> None:
    config = plan("budget", ks=[20, 5, 5], methods=["OPT", "NN1-Decision"], splits=4, seed=7)
    assert (config.ks, config.methods, config.splits, config.seed) == ((5, 20), ("NN1-Decision", "OPT"), 4, 7)


def test_every_domain_has_the_methods_of_the_paper() -> None:
    paper = {"NN1-Decision", "NN2-Decision", "NN1-2Stage", "NN2-2Stage", "RF-2Stage", "Random", "OPT"}
    for name, domain in DOMAINS.items():
        for protocol in ("exact", "paper") if domain.published else ("exact",):
            methods = plan(name, protocol=protocol).methods  # type: ignore[arg-type]
            assert paper <= set(methods)
            assert set(domain.info.figure_methods) <= set(methods)
            assert protocol == "paper" or set(domain.info.heuristics) <= set(methods)


@pytest.mark.parametrize(
    ("domain", "wrong", "facts"),
    [
        ("budget", {"protocol": "other"}, ["'other'"]),
        ("knapsack", {"protocol": "paper"}, ["'paper'", "knapsack"]),
        ("matching", {"ks": [5]}, ["got 5", "matching"]),
        ("budget", {"ks": [0]}, ["got 0"]),
        ("budget", {"ks": [5, 51]}, ["50", "got 51"]),
        ("facility", {"ks": [5, 31]}, ["30", "got 31"]),
        ("budget", {"methods": ["NN1-Decision", "NN9"]}, ["NN1-Decision", "'NN9'"]),
        ("budget", {"splits": 0}, ["got 0"]),
        ("budget", {"seed": -1}, ["got -1"]),
        ("budget", {"device": "cuda:99"}, ["cuda:99"]),
        ("knapsack", {"data": "somewhere"}, ["somewhere"]),
        ("matching", {"methods": ["Cosine-Decision"], "protocol": "paper"}, ["'Cosine-Decision'"]),
    ],
)
def test_wrong_arguments_are_told_before_any_work(domain: str, wrong: dict[str, Any], facts: list[str]) -> None:
    with mistake(next(iter(wrong)), *facts):
        plan(domain, **wrong)


def test_a_domain_that_there_is_not() -> None:
    with mistake("domain", "recommendation", "'chess'"):
        plan("chess")


@pytest.mark.parametrize(
    ("domain", "file"),
    [("matching", "cora.content"), ("recommendation", "user_ratedmovies")],
)
def test_a_data_folder_without_the_files_is_told(domain: str, file: str, tmp_path: Path) -> None:
    with mistake("data", file, "foresolve data list"):
        plan(domain, data=tmp_path)
    with mistake("data", "absent"):
        plan(domain, data=tmp_path / "absent")


def test_files_are_known_by_their_checksum(tmp_path: Path) -> None:
    (tmp_path / "edges").mkdir()
    edges = [f"c{i % 100} u{i}\n" for i in range(500)]
    (tmp_path / "edges" / "edges.txt").write_text("".join(edges))
    before = plan("budget", data=tmp_path)
    assert before.data == str(tmp_path.resolve())
    assert list(before.files) == ["edges.txt"]
    (tmp_path / "edges" / "edges.txt").write_text("".join([*edges, "c0 u1\n"]))
    assert plan("budget", data=tmp_path).files != before.files
    (tmp_path / "edges" / "edges.txt").write_text("c0 u0\n")
    with mistake("data", "100", "500", "got 1"):
        plan("budget", data=tmp_path)

"""A slice of `make soak`, and that its checks can fail."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

import foresolve
from benchmarks.load import page
from tests.soak import endings, memory, processes, steps, threads
from tests.soak.cases import Case, cases, policy, requests
from tests.soak.checks import checks

HIGHS = "program (HiGHS)"
CALLS = 32
EVERYDAY = (HIGHS, "matching")  # `make soak` and `make test-slow` have all


def test_every_case_and_every_way_to_use_it_is_soaked() -> None:
    listed = checks()
    for name in cases():
        assert {f"decide in {threads.THREADS} threads: {name}", f"steps of one layer: {name}"} <= listed.keys()
    assert all(check.calls >= 1_000 for name, check in listed.items() if not name.startswith("end of"))


@pytest.mark.parametrize(
    "name", [name if name in EVERYDAY else pytest.param(name, marks=pytest.mark.slow) for name in cases()]
)
@pytest.mark.filterwarnings("ignore::foresolve.errors.ForesolveWarning")
def test_threads_share_a_policy_and_a_layer_is_kept(name: str) -> None:
    threads.decisions(cases()[name], CALLS)
    steps.training(cases()[name], CALLS // 4)


@pytest.mark.parametrize("name", ["matching", "coverage"])
def test_threads_share_a_layer(name: str) -> None:
    threads.gradients(cases()[name], CALLS)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_workers_decide_alike() -> None:
    processes.pool(cases()[HIGHS], CALLS, "fork")
    processes.loader(cases()[HIGHS], 32, "fork")


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(endings.ENDS))
def test_processes_end(kind: str) -> None:
    endings.ending(kind, 1)


class TestChecksCanFail:
    def test_another_decision(self, monkeypatch: pytest.MonkeyPatch) -> None:
        decide, calls = foresolve.Policy.decide, []

        def drifting(self: foresolve.Policy, features: torch.Tensor) -> object:
            decided = decide(self, features)
            calls.append(1)
            if len(calls) > 40:
                decided.x = 1 - decided.x
            return decided

        monkeypatch.setattr(foresolve.Policy, "decide", drifting)
        with pytest.raises(AssertionError, match="another decision in thread"):
            threads.decisions(cases()[HIGHS], CALLS)

    def test_settings_that_are_not_restored(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen = iter([[2], [1], [1]])
        monkeypatch.setattr(threads, "settings", lambda: next(seen))
        with pytest.raises(AssertionError, match="threads of libraries"):
            threads.decisions(cases()["matching"], CALLS)

    def test_a_process_that_grows(self) -> None:
        kept: list[torch.Tensor] = []
        with pytest.raises(AssertionError, match="grew by"):
            memory.flat(lambda count: kept.extend(torch.ones(2**17) for _ in range(count)), 100)

    def test_a_worker_that_decides_otherwise(self, monkeypatch: pytest.MonkeyPatch) -> None:
        case = cases()[HIGHS]
        shared = policy(case)
        right = shared.decide(requests(1)[0]).x.tolist()
        assert right != (1 - shared.decide(requests(1)[0]).x).tolist()
        answers = iter(range(10_000))
        monkeypatch.setattr(Case, "theta", lambda self, batch, seed: torch.rand(batch, *self.shape) + next(answers))
        with pytest.raises(AssertionError, match="other numbers"):
            processes.loader(case, 4, "fork")

    def test_a_process_that_ends_badly(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for code, match in (("raise SystemExit(3)", "status 3"), ("import sys; sys.stderr.write('oh')", "way out")):
            monkeypatch.setitem(endings.ENDS, "idle", f"print('ready', flush=True)\n{code}\n")
            with pytest.raises(AssertionError, match=match):
                endings.ending("idle", 1)


def test_the_page_takes_the_figures(tmp_path: Path) -> None:
    row = {
        "case": "path",
        "batch": 1,
        "cores": 2,
        "growth": None,
        "size": 5,
        "seconds": 1e-3,
        "one": 2e-3,
        "ratio": 0.5,
    }
    busy = {"case": "path", "batch": 1, "size": 5, "cores": 2, "alone": 1e-3, "beside 1": 1.25, "beside each": 1.75}
    text = page.figures([row, row | {"size": 7, "growth": 1.5, "ratio": 1.25}], [busy], "Two cores.")
    assert "1.25 times as slow as one (path 7, batch 1)" in text
    assert "| batch 1, ms | 1 | 1 |" in text
    assert "| path | 1 | 5 | 1 | 1.25 | 1.75 |" in text
    whole = f"before\n{page.BEGIN}old\n{page.END}\nafter\n"
    once = page.written(whole, text)
    assert "old" not in once
    assert once.startswith("before\n")
    assert once.endswith("\nafter\n")
    assert page.written(once, text) == once

"""Settings of the whole suite, and a report of tests that take long without being marked slow."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterable

import pytest
import torch
from hypothesis import HealthCheck, settings

settings.register_profile("local", deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("local"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

LONGEST_SECONDS = 5.0

# Harnesses that need what Windows has not: pipes by number, signals, limits of a process.
POSIX_ONLY = [
    "browser.py",
    "fuzz",
    "kill",
    "soak",
    "test_benchmarks.py",
    "test_fuzz.py",
    "test_kill.py",
    "test_pages_in_browser.py",
    "test_soak.py",
]
collect_ignore = POSIX_ONLY if os.name == "nt" else []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fail-long", action="store_true", help=f"fail if a test not marked slow takes over {LONGEST_SECONDS:g} s"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Iterable[pytest.Item]) -> None:
    """Tests marked `cuda`, or with a parameter `device="cuda"`, are skipped, and say so, where there is no device."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec is not None and callspec.params.get("device") == "cuda":
            item.add_marker(pytest.mark.cuda)
        if item.get_closest_marker("cuda") and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))


def pytest_collection_finish() -> None:
    """Spare collections of garbage the modules and the thousands of tests, all of which stay."""
    gc.collect()
    gc.freeze()


class LongTests:
    """Collects the durations of calls; `slow` is among the keywords of a test that is marked so."""

    def __init__(self, fail: bool) -> None:
        self.fail = fail
        self.durations: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.duration > LONGEST_SECONDS and "slow" not in report.keywords:
            self.durations[report.nodeid] = report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.fail and self.durations and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.durations:
            return
        terminalreporter.section(f"not marked slow, but over {LONGEST_SECONDS:g} s")
        for name, seconds in sorted(self.durations.items(), key=lambda entry: -entry[1]):
            terminalreporter.write_line(f"{seconds:7.2f}s {name}")


def pytest_configure(config: pytest.Config) -> None:
    # A shell lets what it starts in the background ignore Ctrl-C, which some tests press; what they start inherits it.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # With xdist the reports of all workers come together in the process that started them.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(LongTests(bool(config.getoption("--fail-long"))), "long-tests")

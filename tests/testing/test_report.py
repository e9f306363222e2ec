from __future__ import annotations

import pytest

from foresolve.errors import ForesolveError
from foresolve.testing import ConformanceError, ConformanceReport, Finding

KEPT = Finding("it adds up", "passed", 1e-9, 1e-6)
ASIDE = Finding("it flies", "not applicable", detail="it has no wings")
BROKEN = Finding(
    "it holds water", "failed", 0.25, 1e-6, "instance 3 leaks\nby a quarter", "mend it", ValueError("drip")
)


def test_truthy_where_nothing_failed() -> None:
    assert ConformanceReport("jug", (KEPT, ASIDE))
    assert not ConformanceReport("jug", (KEPT, BROKEN))
    ConformanceReport("jug", (KEPT, ASIDE)).raise_for_failures()


def test_prints_every_promise_with_its_numbers_and_what_to_do() -> None:
    report = ConformanceReport("jug", (KEPT, ASIDE, BROKEN))
    assert str(report).splitlines() == [
        "jug: 1 passed, 1 failed, 1 not applicable",
        "promise                verdict  measured  at most",
        "--------------  --------------  --------  -------",
        "it adds up              passed     1e-09    1e-06",
        "it flies        not applicable",
        "it holds water          failed      0.25    1e-06",
        "not applicable, it flies: it has no wings",
        "failed, it holds water: instance 3 leaks",
        "  by a quarter",
        "  What to do: mend it",
    ]
    assert report["it flies"] is ASIDE
    assert str(BROKEN).startswith("it holds water: failed. instance 3 leaks")


def test_the_error_says_what_failed_and_keeps_the_cause() -> None:
    report = ConformanceReport("jug", (KEPT, BROKEN))
    with pytest.raises(ConformanceError) as raised:
        report.raise_for_failures()
    assert str(raised.value).splitlines()[:2] == ["jug: 1 passed, 1 failed", "failed, it holds water: instance 3 leaks"]
    assert raised.value.report is report
    assert isinstance(raised.value.__cause__, ValueError)
    assert isinstance(raised.value, ForesolveError)
    assert isinstance(raised.value, AssertionError)  # a test that calls a check fails, rather than errs

"""Our own classes, held to the promises of `foresolve.testing`: one test for each."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import pytest

from foresolve.testing.suite import Promise, Suite


def promises(suite: type[Suite], but: Container[str] = (), only: Container[str] | None = None) -> list[Any]:
    """Parameters for a test of each promise; what compares devices needs a GPU."""
    return [
        pytest.param(promise, id=promise.name, marks=[pytest.mark.cuda] if promise.name == "devices_agree" else [])
        for promise in suite.promises()
        if promise.name not in but and (only is None or promise.name in only)
    ]


def keep(promise: Promise, suite: Suite, excused: Container[str] = ()) -> None:
    """Fail unless the promise is kept in full; those that are excused need not apply."""
    finding = promise.test(suite)
    if finding.verdict == "not applicable" and promise.name in excused:
        pytest.skip(finding.detail)
    if finding.error is not None:
        raise finding.error
    assert finding.verdict == "passed", str(finding)
    # What is tested was chosen to be smooth there: every slope is judged.
    assert "kink" not in finding.detail, finding.detail
    assert "undecided" not in finding.detail, finding.detail

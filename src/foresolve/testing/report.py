"""What a check found: each promise, whether it is kept, the numbers, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from foresolve._base.table import Table, Tabular
from foresolve.errors import ForesolveError

Verdict = Literal["passed", "failed", "not applicable", "noted"]


@dataclass(frozen=True)
class Finding:
    """The test of one promise.

    Attributes
    ----------
    promise: what is promised, in words.
    verdict: "passed", "failed" or "not applicable"; "noted" for a number that nothing is promised of.
    measured: the number that came nearest to its tolerance, or crossed it; `None` where a promise has no number.
    tolerance: what it may be at most.
    detail: what was found, and where; for a promise that does not apply, why.
    remedy: what to do about it, where it failed.
    error: what was raised, if that is how it failed.
    """

    promise: str
    verdict: Verdict
    measured: float | None = None
    tolerance: float | None = None
    detail: str = ""
    remedy: str = ""
    error: Exception | None = field(default=None, repr=False, compare=False)

    @property
    def failed(self) -> bool:
        """Whether the promise is broken."""
        return self.verdict == "failed"

    def __str__(self) -> str:
        return f"{self.promise}: {self.verdict}" + (f". {self.detail}" if self.detail else "")


@dataclass(frozen=True)
class ConformanceReport(Tabular):
    """Truthy where no promise is broken; prints a table, and below it what failed and what to do.

    Attributes
    ----------
    subject: what was checked.
    findings: one for each promise, in the order in which they were tested.
    """

    subject: str
    findings: tuple[Finding, ...]

    def __bool__(self) -> bool:
        return not self.failures

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that failed."""
        return tuple(finding for finding in self.findings if finding.failed)

    def __getitem__(self, promise: str) -> Finding:
        """The finding on a promise, by its words."""
        return next(finding for finding in self.findings if finding.promise == promise)

    def _table(self) -> Table:
        rows = [(f.promise, f.verdict, _number(f.measured), _number(f.tolerance)) for f in self.findings]
        return Table(("promise", "verdict", "measured", "at most"), rows, f"{self.subject}: {self.verdict}")

    @property
    def verdict(self) -> str:
        """How many promises are kept, broken, or do not apply."""
        verdicts = [finding.verdict for finding in self.findings]
        words = [word for word in ("passed", "failed", "not applicable") if word == "passed" or word in verdicts]
        return ", ".join(f"{verdicts.count(word)} {word}" for word in words)

    def __str__(self) -> str:
        reasons: dict[str, list[str]] = {}
        for finding in self.findings:
            if finding.verdict == "not applicable":
                reasons.setdefault(finding.detail, []).append(finding.promise)
        asides = [f"not applicable, {'; '.join(promises)}: {reason}" for reason, promises in reasons.items()]
        return "\n".join([self._table().text(), *asides, *_explained(self.failures)])

    def raise_for_failures(self) -> None:
        """Raise a `ConformanceError` that says what failed, if anything did."""
        if self.failures:
            raise ConformanceError(self)


class ConformanceError(ForesolveError, AssertionError):
    """A promise is broken; `report` has every finding, the message those that failed."""

    def __init__(self, report: ConformanceReport) -> None:
        super().__init__("\n".join([f"{report.subject}: {report.verdict}", *_explained(report.failures)]))
        self.report = report
        self.__cause__ = next((finding.error for finding in report.failures if finding.error is not None), None)


def _explained(failures: Sequence[Finding]) -> list[str]:
    """What failed, and what to do, one below the other."""
    lines = []
    for finding in failures:
        first, *rest = f"failed, {finding.promise}: {finding.detail}".splitlines()
        lines += [first, *(f"  {line}" for line in rest)]
        if finding.remedy:
            lines.append(f"  What to do: {finding.remedy}")
    return lines


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"

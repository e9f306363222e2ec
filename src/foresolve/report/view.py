"""A run as tables, figures and pages see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from foresolve._base.checks import fail
from foresolve.report import published
from foresolve.report.published import Published
from foresolve.report.records import Config, DomainInfo, Measure, MethodInfo, Protocol, Record
from foresolve.report.summary import (
    EVERYWHERE,
    Estimate,
    MethodSummary,
    SplitComparison,
    differences,
    summary,
    ways,
)

T = TypeVar("T")


@dataclass(frozen=True)
class RunView:
    """All that tables, figures and pages need of a finished or half finished run.

    Attributes
    ----------
    versions: of packages and machine, of the first session that did a job.
    records: of `config.domain` only.
    pictures: for each method the arrays of `JobResult.picture`.
    seconds: what the run took, or the sum of its jobs.
    command: what was typed; worked out from `config` where it is empty.
    sessions: one mapping for each time that the folder was worked on: versions, machine, date, "code" (a fingerprint of
        the source, missing in old folders), engine, workers, jobs, seconds.
    """

    config: Config
    versions: Mapping[str, Any]
    records: Sequence[Record]
    pictures: Mapping[str, Mapping[str, np.ndarray]]
    info: DomainInfo
    seconds: float = 0.0
    command: str = ""
    sessions: Sequence[Mapping[str, Any]] = ()

    def __post_init__(self) -> None:
        strangers = {record.domain for record in self.records} - {self.config.domain}
        if strangers:
            raise fail("records", f"of the domain {self.config.domain}", ", ".join(sorted(strangers)))

    @cached_property
    def _results(self) -> dict[str, Any]:
        return {}

    def once(self, name: str, work: Callable[[RunView], T]) -> T:
        """What `work` makes of this view, worked out at the first call of this name, for tables and figures are shown
        in several places.
        """
        if name not in self._results:
            self._results[name] = work(self)
        return self._results[name]

    @cached_property
    def rows(self) -> list[MethodSummary]:
        """Means and intervals of every method and budget."""
        return summary(self.records, self.config.methods, seed=self.config.seed)

    @cached_property
    def differences(self) -> list[SplitComparison]:
        """Paired differences, see `summary.pairs`."""
        config = self.config
        return differences(self.records, self.info.methods, config.methods, protocol=self.scored, seed=config.seed)

    @cached_property
    def ways(self) -> dict[tuple[str, int | None], Estimate]:
        """Values as shares of the way from random to best decisions, see `summary.ways`."""
        return ways(self.records, self.config.methods, protocol=self.scored, seed=self.config.seed)

    @property
    def name(self) -> str:
        """What identifies a run on a page: the domain and, where it has several, the protocol."""
        return f"{self.info.title} ({self.protocol_words})" if self.protocol_words else self.info.title

    @property
    def protocol_words(self) -> str:
        """The protocol, where the domain has several: those of the paper."""
        return f"protocol {self.config.protocol}" if self.config.domain in published.DOMAINS else ""

    @property
    def devices(self) -> list[str]:
        """Where the jobs were done; where the config has them done if no session says."""
        noted = [str(session["device"]) for session in self.sessions if session.get("jobs") and "device" in session]
        return list(dict.fromkeys(noted)) or [self.config.device]

    @property
    def scored(self) -> Protocol:
        """The protocol whose decisions are shown: the paper's own only where it scores fractional ones."""
        return self.config.protocol if self.info.fractional else "exact"

    @property
    def comparable(self) -> bool:
        """Whether instances have the size of the paper's, so that its figures say something about ours."""
        return not self.config.quick and self.config.domain in published.DOMAINS

    @property
    def methods(self) -> list[str]:
        """Those with records, in the order of the tables."""
        return list(dict.fromkeys(row.method for row in self.rows))

    @property
    def ks(self) -> list[int | None]:
        """The budgets with records."""
        return sorted({row.k for row in self.rows}, key=lambda k: k or 0)

    @property
    def accuracy_k(self) -> int | None:
        """The budget of Table 2 and the figures: the domain's, or the first there is."""
        if self.info.table2_k in self.ks or not self.ks:
            return self.info.table2_k
        return self.ks[0]

    def method(self, name: str) -> MethodInfo:
        """Facts about a method; one that the domain does not know counts as trained on decisions."""
        return EVERYWHERE.get(name) or self.info.methods.get(name) or MethodInfo("decision-focused")

    def learned(self, method: str) -> bool:
        """True for a trained method."""
        return self.method(method).learned

    def row(self, method: str, k: int | None) -> MethodSummary | None:
        """The row of a method and a budget, where there is one."""
        return next((row for row in self.rows if row.method == method and row.k == k), None)

    def published(self, method: str, k: int | None) -> Published | None:
        """The paper's figure, where it says something about ours."""
        return published.quality(self.config.domain, method, k) if self.comparable else None

    def published_accuracy(self, method: str, measure: Measure) -> Published | None:
        """The paper's figure of Table 2, where it says something about ours."""
        alike = self.comparable and self.accuracy_k == self.info.table2_k
        return published.accuracy(self.config.domain, method, measure) if alike else None

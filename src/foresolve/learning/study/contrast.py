"""All methods on test data, against the best two-stage model: used once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from foresolve._base.bootstrap import Block
from foresolve._base.numbers import significant
from foresolve._base.table import Cell, Table
from foresolve.learning.blocks import described
from foresolve.learning.comparison import report_gains
from foresolve.learning.inference import mean_difference, unit_sums
from foresolve.learning.paired import PairedComparison, PairedTable, paired
from foresolve.learning.report import Report
from foresolve.learning.study.methods import MethodInfo
from foresolve.learning.study.study_pictures import draw_contrast

Sense = Literal["min", "max"]


@dataclass(frozen=True, kw_only=True)
class MethodRow(PairedComparison):
    """A method on test data, and what it gains over the best two-stage model.

    Attributes
    ----------
    method: its family and description.
    value: mean objective in the problem's own sense: a cost where costs are minimized.
    regret: mean of what is lost against the best decision under the true parameters.
    """

    method: MethodInfo
    value: float
    regret: float

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"method": self.method.to_dict()}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        numbers = {name: float(document[name]) for name in ("value", "regret")}
        return super().from_dict({**document, **numbers, "method": MethodInfo.from_dict(document["method"])})


@dataclass(frozen=True, kw_only=True)
class Contrast(PairedTable[MethodRow]):
    """The comparison of a study, one row a method; `print` it, or let a notebook show it: the best first, the
    reference apart.

    Attributes
    ----------
    reference: the best two-stage model on validation data, which the others are compared to.
    confidence: of the intervals. Those of decision-focused methods hold all at once (Bonferroni), those of other
        references each by itself.
    instances: of the test data.
    units: how many of them count as independent: instances, blocks or groups with a weight above 0.
    sense: of the problem: "min" where values are costs.
    """

    sense: Sense

    @property
    def costs(self) -> bool:
        """True if values are costs."""
        return self.sense == "min"

    @property
    def counted(self) -> str:
        """The number of independent units, in words."""
        return self.blocks or f"{self.units} test instance{'s' * (self.units != 1)}"

    @property
    def focused(self) -> list[MethodRow]:
        """The decision-focused methods."""
        return [row for row in self.rows if row.method.focused]

    @property
    def references(self) -> list[MethodRow]:
        """The two-stage models and baselines."""
        return [row for row in self.rows if not row.method.focused]

    def plot(self, ax: Any = None, *, unit: str = "") -> Any:
        """A forest plot of what each method gains over the reference, on matplotlib axes, which are given back."""
        return draw_contrast(self, unit, ax)

    def __repr__(self) -> str:
        return f"Contrast({len(self.rows)} methods on {self.instances} test instances against {self.reference!r})"

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row a method."""
        return super().to_frame().assign(method=[row.method.description for row in self.rows])

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Read a document of `to_dict`."""
        return cls(**{**document, "rows": tuple(map(MethodRow.from_dict, document["rows"]))})

    def scores(self, *, units: str = "", first: str = "", bold: str = "") -> Table:
        """The table, with the `units` of values."""
        value = ("cost" if self.costs else "value") + (f" ({units})" if units else "")
        columns = {
            value: lambda row: Cell(row.value, format=significant),
            "regret": lambda row: Cell(row.regret, format=significant),
        }
        return self.table(columns, first=first, bold=bold)

    def _table(self) -> Table:
        return self.scores()


def contrast(
    reports: Mapping[str, Report],
    methods: Mapping[str, MethodInfo],
    reference: str,
    sense: Sense,
    *,
    block: Block,
    confidence: float,
    seed: int,
    blocks: str = "",
) -> Contrast:
    """Compare reports of the same test instances with that of the reference.

    Parameters
    ----------
    methods: by name.
    sense: of the problem; reports have values that are maximized.
    block: what counts as one, as in `evaluate`, checked.
    blocks: what these are, in words, where more is known of them than how many they are.
    """
    baseline, sign = reports[reference], -1.0 if sense == "min" else 1.0
    weights, size = baseline.instances.get("weight"), len(baseline)
    count = sum(methods[name].focused for name in reports)
    rows = []
    for name, report in reports.items():
        pair = PairedComparison(name=name, reference=reference, confidence=confidence)
        if name != reference:
            pair = paired(
                name, reference, report_gains(report, baseline), weights, block, confidence=confidence,
                together=count if methods[name].focused else 1, seed=seed,
            )  # fmt: skip
        rows.append(MethodRow(**vars(pair), method=methods[name], value=sign * report.value, regret=report.regret))
    units = len(unit_sums(baseline.instances["regret"], weights, block)[0])
    return Contrast(
        reference=reference, confidence=confidence, instances=size, units=units,
        blocks=blocks or described(block, size), sense=sense, rows=tuple(rows),
    )  # fmt: skip


def reach(report: Report, block: Block, *, confidence: float, seed: int) -> float:
    """The most that is lost on average, as a share of the best values: the upper end of the interval of the regret."""
    weights, best = report.instances.get("weight"), np.abs(report.instances["optimum"])
    value = float(np.average(best, weights=weights))
    most = mean_difference(report.instances["regret"], weights, block, seed=seed).interval(confidence)[1]
    return most / value if value > 0 else math.inf

"""All methods on test data, against the best two-stage model: used once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from foresolve._base.bootstrap import Block, Interval
from foresolve._base.extras import need
from foresolve._base.numbers import signed, significant
from foresolve._base.table import Table, Tabular
from foresolve.learning.blocks import described
from foresolve.learning.inference import holm, mean_difference, unit_sums
from foresolve.learning.report import Report
from foresolve.learning.study.study_pictures import draw_contrast

ROUNDINGS, LEAST_ROUNDING = 4, 1e-12  # of a value: times the precision of the parameters, and what solvers leave


@dataclass(frozen=True)
class ContrastRow:
    """A method on test data.

    Attributes
    ----------
    name, role: "reference" or "decision-focused".
    value: mean objective in the problem's own sense: a cost where costs are minimized.
    regret: mean of what is lost against the best decision under the truth.
    difference: of its regret less that of the best two-stage model, paired: below zero is better, for costs and gains.
    interval: of the difference; for decision-focused methods all at once (Bonferroni), for other references each by
        itself. `None` for the reference, and where there are too few instances; an end that they do not bound is
        infinite.
    p_value: two-sided, of no difference; `None` for the reference.
    holm: the p-value corrected for the number of decision-focused methods; `None` for others.
    """

    name: str
    role: str
    value: float
    regret: float
    difference: float
    interval: Interval | None
    p_value: float | None
    holm: float | None

    @property
    def improvement(self) -> float:
        """The saving, or gain, an instance: minus the difference."""
        return 0.0 - self.difference  # no -0

    @property
    def improvement_interval(self) -> Interval | None:
        return None if self.interval is None else (0.0 - self.interval[1], 0.0 - self.interval[0])


@dataclass(frozen=True)
class Contrast(Tabular):
    """The comparison of a study, one row a method; `print` it, or let a notebook show it: the least regret first, the
    reference apart.

    Attributes
    ----------
    reference: the best two-stage model on validation data, which the others are compared to.
    confidence: of the intervals; of those of decision-focused methods together.
    instances: of the test data.
    units: how many of them count as independent: instances, blocks or groups with a weight above 0.
    blocks: what these are, in words; nothing for instances.
    """

    reference: str
    confidence: float
    instances: int
    units: int
    blocks: str
    rows: tuple[ContrastRow, ...]

    def __getitem__(self, name: str) -> ContrastRow:
        return {row.name: row for row in self.rows}[name]

    def __iter__(self) -> Any:
        return iter(self.rows)

    @property
    def counted(self) -> str:
        """How many independent units there are, in words."""
        return self.blocks or f"{self.units} test instance{'s' * (self.units != 1)}"

    @property
    def focused(self) -> list[ContrastRow]:
        """The decision-focused methods."""
        return [row for row in self.rows if row.role == "decision-focused"]

    def plot(self, ax: Any = None, *, unit: str = "") -> Any:
        """A forest plot of what each method saves against the reference, on matplotlib axes, which are given back."""
        return draw_contrast(self, unit, ax)

    def __repr__(self) -> str:
        return f"Contrast({len(self.rows)} methods on {self.instances} test instances against {self.reference!r})"

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row a method."""
        pandas = need("pandas", "a table", "learn")
        return pandas.DataFrame([asdict(row) for row in self.rows]).set_index("name")

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON; an end of an interval that is not bounded is `None`."""
        rows = [asdict(row) | {"interval": _finite(row.interval)} for row in self.rows]
        return {**{name: getattr(self, name) for name in ("reference", "confidence", "instances", "units", "blocks")},
                "rows": rows}  # fmt: skip

    def _table(self) -> Table:
        counted = f" in {self.blocks}" if self.blocks else ""
        title = f"{self.instances} test instances{counted}; difference: regret less that of {self.reference}"
        headers = ("", "value", "regret", "difference", f"{self.confidence:.0%} interval", "p")
        rows = sorted(self.rows, key=lambda row: (row.name == self.reference, row.regret))
        return Table(headers, [_cells(row, row.name == self.reference) for row in rows], title, apart=1)


def contrast(
    reports: Mapping[str, Report],
    roles: Mapping[str, str],
    reference: str,
    signed: Any,
    *,
    block: Block,
    confidence: float,
    seed: int,
    dtype: torch.dtype = torch.float32,
    blocks: str = "",
) -> Contrast:
    """Compare reports of the same test instances with that of the reference.

    Parameters
    ----------
    signed: `problem.signed`, which turns values to be maximized into the problem's own sense.
    block: what counts as one, as in `evaluate`, checked.
    dtype: of the true parameters, which says what differences are rounding.
    blocks: what these are, in words, where more is known of them than how many they are.
    """
    baseline = reports[reference].instances["regret"]
    weights = reports[reference].instances.get("weight")
    focused = [name for name in reports if roles[name] == "decision-focused"]
    level = 1 - (1 - confidence) / max(1, len(focused))
    evidence = {
        name: mean_difference(
            _rounded(report.instances["regret"] - baseline, reports[reference], dtype), weights, block,
            confidence=level if name in focused else confidence, seed=seed,
        )
        for name, report in reports.items() if name != reference
    }  # fmt: skip
    corrected = holm({name: evidence[name].p_value for name in focused})
    rows = []
    for name, report in reports.items():
        seen = evidence.get(name)
        bounded = seen is not None and any(map(math.isfinite, seen.interval))
        rows.append(
            ContrastRow(
                name, roles[name], float(signed(report.value)), report.regret, 0.0 if seen is None else seen.mean,
                seen.interval if seen is not None and bounded else None, None if seen is None else seen.p_value,
                corrected.get(name),
            )
        )  # fmt: skip
    size = len(reports[reference])
    units = len(unit_sums(baseline, weights, block)[0])
    return Contrast(reference, confidence, size, units, blocks or described(block, size), tuple(rows))


def reach(report: Report, block: Block, *, confidence: float, seed: int) -> float:
    """The most that is lost on average, as a share of the best values: the upper end of the interval of the regret."""
    weights, best = report.instances.get("weight"), np.abs(report.instances["optimum"])
    value = float(np.average(best, weights=weights))
    most = mean_difference(report.instances["regret"], weights, block, confidence=confidence, seed=seed).interval[1]
    return most / value if value > 0 else math.inf


def _rounded(differences: np.ndarray, reference: Report, dtype: torch.dtype) -> np.ndarray:
    """Equal decisions differ by nothing, whatever the precision of the parameters makes of their values."""
    size = np.abs(reference.instances["optimum"]) + np.abs(reference.instances["regret"])
    least = max(LEAST_ROUNDING, ROUNDINGS * torch.finfo(dtype).eps)
    return np.where(np.abs(differences) > least * size, differences, 0.0)


def _cells(row: ContrastRow, itself: bool) -> tuple[str, ...]:
    difference = "" if itself else signed(row.difference)
    pair = "" if row.interval is None else " to ".join(signed(end) for end in row.interval)
    p = row.p_value if row.holm is None else row.holm
    return row.name, significant(row.value), significant(row.regret), difference, pair, "" if p is None else f"{p:.2g}"


def _finite(interval: Interval | None) -> list[float | None] | None:
    return None if interval is None else [end if math.isfinite(end) else None for end in interval]

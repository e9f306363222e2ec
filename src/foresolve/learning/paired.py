"""Paired comparisons: what is gained over a reference on the same instances, its interval and its p-value.

Every comparison of foresolve is made here, by the same rules:

- **Sign**: `gained` is above zero where a method is better than its reference, for costs and for values.
- **Rounding**: equal decisions gain nothing. A difference counts from 4 rounding errors of the numbers on, at least
  1e-12 of their size (`gains`).
- **Intervals**: an interval that bounds neither side is `None`; an end that is not bounded is infinite, and `null` in
  JSON.
- **p-values** belong to the interval: zero lies outside of it exactly where `p_value < 1 - confidence`, also where
  several intervals hold at once (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Generic, Self, TypeVar

import numpy as np

from foresolve._base.bootstrap import Block, Interval
from foresolve._base.extras import need
from foresolve._base.numbers import signed
from foresolve._base.table import Cell, Table, Tabular
from foresolve.learning.inference import Evidence, mean_difference

LEAST_UNITS = 20  # below which skewed differences make intervals too short: nothing is claimed
ROUNDINGS, LEAST_ROUNDING = 4, 1e-12  # times the rounding of numbers, and of their size what solvers leave


class Standing(StrEnum):
    """The side of zero on which an interval lies."""

    AHEAD = "ahead"
    BEHIND = "behind"
    LEVEL = "no significant difference"
    UNKNOWN = "unknown"


class IntervalRule(StrEnum):
    """The rule of an interval: two tests that agree (`inference.mean_difference`), or the percentile bootstrap."""

    TESTS = "tests"
    BOOTSTRAP = "bootstrap"


@dataclass(frozen=True, kw_only=True)
class PairedComparison:
    """A method beside its reference, on the same instances.

    Attributes
    ----------
    name, reference: the two methods; the same for the row of the reference, which has neither interval nor p-value.
    gained: the mean gain over the reference per instance; above zero is better.
    interval: of the gain. `None` without one; an end that the data does not bound is infinite.
    p_value: two-sided, of no gain: below `1 - confidence` exactly where zero lies outside of the interval. `None` where
        the interval is a bootstrap's.
    confidence: of the interval; of all together, if `together` is above 1.
    together: the number of comparisons whose intervals hold at once, for which intervals and p-values are corrected.
    units: independent instances, blocks or groups (or splits) that were counted.
    rule: of the interval and the p-value.
    evidence: what the tests know of the gain, for `among`; `None` in a record that was read from a file.

    Examples
    --------
    >>> from foresolve.learning import PairedComparison
    >>> pair = PairedComparison(name="spo+", reference="ridge", gained=0.8, interval=(0.2, 1.4), p_value=0.01)
    >>> pair.standing.value, pair.p_value < 1 - pair.confidence
    ('ahead', True)
    """

    name: str
    reference: str
    gained: float = 0.0
    interval: Interval | None = None
    p_value: float | None = None
    confidence: float = 0.95
    together: int = 1
    units: int = 0
    rule: IntervalRule = IntervalRule.TESTS
    evidence: Evidence | None = field(default=None, repr=False, compare=False)

    @property
    def is_reference(self) -> bool:
        """True for the row of the reference itself."""
        return self.name == self.reference

    @property
    def standing(self) -> Standing:
        """The side of zero on which the interval lies."""
        if self.interval is None:
            return Standing.UNKNOWN
        low, high = self.interval
        return Standing.AHEAD if low > 0 else Standing.BEHIND if high < 0 else Standing.LEVEL

    def among(self, together: int) -> Self:
        """The same with an interval that holds at once with those of `together` comparisons, and the p-value to it."""
        if self.evidence is None:
            return self
        return replace(self, **_tested(self.evidence, self.confidence, together))

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON; an end that is not bounded is `None`."""
        document = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "evidence"}
        return document | {"interval": finite_ends(self.interval)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Read a document of `to_dict`."""
        ends, p = document["interval"], document["p_value"]
        known = {
            "gained": float(document["gained"]), "p_value": None if p is None else float(p),
            "interval": None if ends is None else (_end(ends[0], -math.inf), _end(ends[1], math.inf)),
            "rule": IntervalRule(document["rule"]),
        }  # fmt: skip
        return cls(**{**document, **known})


P = TypeVar("P", bound=PairedComparison)


@dataclass(frozen=True, kw_only=True)
class PairedTable(Tabular, Generic[P]):
    """Rows in the order they were given; `print` it, or let a notebook show it: the best first, the reference apart.

    Attributes
    ----------
    reference: the name that the others are compared to.
    confidence: of the intervals.
    instances: how many were compared.
    units: how many of them count as independent: instances, blocks or groups.
    blocks: what these are: "12 blocks of 7", "9 groups"; nothing for instances.
    """

    reference: str
    confidence: float
    instances: int
    units: int
    blocks: str = ""
    rows: tuple[P, ...]

    def __getitem__(self, name: str) -> P:
        return {row.name: row for row in self.rows}[name]

    def __iter__(self) -> Iterator[P]:
        return iter(self.rows)

    @property
    def others(self) -> tuple[P, ...]:
        """The rows but for that of the reference, the best first."""
        rows = (row for row in self.rows if not row.is_reference)
        return tuple(sorted(rows, key=lambda row: math.inf if math.isnan(row.gained) else -row.gained))

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        return vars(self) | {"rows": [row.to_dict() for row in self.rows]}

    def to_frame(self) -> Any:
        """A pandas DataFrame by name."""
        pandas = need("pandas", "a table", "learn")
        return pandas.DataFrame([row.to_dict() for row in self.rows]).set_index("name")

    def table(
        self, scores: Mapping[str, Callable[[P], str | Cell]], *, measure: str = "regret", more_is_better: bool = False,
        first: str = "", bold: str = "",
    ) -> Table:  # fmt: skip
        """A column for each of the `scores`, then what is gained [and its interval], and the p-value.

        Parameters
        ----------
        measure, more_is_better: what the gain is of.
        first: the heading of the names.
        bold: the name in bold.
        """
        reference = [row for row in self.rows if row.is_reference]
        lines = [
            (Cell(row.name, bold=row.name == bold), *(shown(row) for shown in scores.values()), *pair_cells(row))
            for row in (*self.others, *reference)
        ]
        minuend, other = ("the row", self.reference) if more_is_better else (self.reference, "the row")
        counted = f"{self.instances} instances" + (f" in {self.blocks}" if self.blocks else "")
        title = f"{counted}; gained: {measure} of {minuend} minus {measure} of {other}"
        headers = (first, *scores, f"gained [{self.confidence:.0%}]", "p")
        return Table(headers, lines, title, apart=len(reference))


def paired(
    name: str, reference: str, gained: np.ndarray, weights: np.ndarray | None = None, block: Block = None, *,
    confidence: float = 0.95, together: int = 1, seed: int = 0,
) -> PairedComparison:  # fmt: skip
    """Compare by what each instance gains, as `gains` says it; instances without a number take no part.

    >>> pair = paired("spo+", "ridge", np.array([0.5, 0.0, 1.0, 1.5, 0.0, 2.0, 1.0, 0.5]))
    >>> pair.gained, pair.standing.value, pair.p_value < 0.05
    (0.8125, 'ahead', True)
    """
    known = ~np.isnan(gained)
    weights = known * (1.0 if weights is None else weights)
    if not weights.any():
        return PairedComparison(name=name, reference=reference, gained=math.nan, confidence=confidence)
    evidence = mean_difference(np.where(known, gained, 0.0), weights, block, seed=seed)
    return PairedComparison(
        name=name, reference=reference, gained=evidence.mean, confidence=confidence, units=evidence.units,
        evidence=evidence, **_tested(evidence, confidence, together),
    )  # fmt: skip


def gains(
    own: np.ndarray, reference: np.ndarray, size: np.ndarray | float, rounding: float, *, more_is_better: bool
) -> np.ndarray:
    """The gain of each instance; zero where two numbers are the same up to rounding.

    Parameters
    ----------
    size: of the terms that the numbers are made of: a regret is the difference of two values, and rounded as they are.
    rounding: the relative rounding error of these terms: `torch.finfo(dtype).eps` for parameters of that precision.

    >>> gains(np.array([1.0, 2.0]), np.array([1.0 + 1e-15, 3.0]), 3.0, 2.2e-16, more_is_better=False)
    array([0., 1.])
    """
    difference = own - reference if more_is_better else reference - own
    least = max(LEAST_ROUNDING, ROUNDINGS * rounding)
    return np.where(np.abs(difference) <= least * size, 0.0, difference)


def bounded(interval: Interval) -> Interval | None:
    """The interval, unless it bounds neither side."""
    return interval if any(map(math.isfinite, interval)) else None


def finite_ends(interval: Interval | None) -> list[float | None] | None:
    """An interval for JSON."""
    return None if interval is None else [end if math.isfinite(end) else None for end in interval]


def interval_words(interval: Interval | None, number: Callable[[float], str] = signed) -> str:
    """Both ends of an interval.

    >>> interval_words((-0.5, math.inf)), interval_words(None)
    ('[-0.5, unbounded]', '')
    """
    if interval is None:
        return ""
    return f"[{', '.join(number(end) if math.isfinite(end) else 'unbounded' for end in interval)}]"


def pair_cells(row: PairedComparison) -> tuple[Cell, Cell]:
    """The gain with its interval, and the p-value; nothing for the reference."""
    if row.is_reference:
        return Cell(), Cell()
    gain = Cell(row.gained, interval_words(row.interval), format=signed)
    return gain, Cell(row.p_value, format="{:.2g}".format)


def _tested(evidence: Evidence, confidence: float, together: int) -> dict[str, Any]:
    interval = bounded(evidence.interval(confidence, together))
    return {"interval": interval, "p_value": evidence.p_value(together), "together": together}


def _end(value: float | None, missing: float) -> float:
    return missing if value is None else float(value)

"""The forest plot of paired differences: where its marks stand, for the template that draws them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from foresolve._base.drawing.legends import WORDS
from foresolve._base.drawing.palette import ROLES
from foresolve._base.numbers import signed
from foresolve.report.pages.document import Block, Role


@dataclass(frozen=True)
class Difference:
    """A method less its reference, better above zero.

    Attributes
    ----------
    low, high: the ends of its interval; `None` where there is none, infinite where it is not bounded.
    context: what tells it from others of the same name: a domain, a budget.
    note: beside the number, such as the same in another unit.
    tested: whether a test, beside the interval, tells it from zero; `None` where there is no other test.
    """

    method: str
    reference: str
    mean: float
    low: float | None
    high: float | None
    role: Role | None = "decision-focused"
    context: str = ""
    note: str = ""
    tested: bool | None = None

    @property
    def verdict(self) -> str:
        """On which side of zero the interval lies."""
        if self.low is None or self.high is None:
            return "no interval"
        if self.tested is False:
            return "no significant difference"
        return "better" if self.low > 0 else "worse" if self.high < 0 else "no significant difference"


@dataclass(frozen=True)
class Mark:
    """A difference and its places, in percent of the width of the plot."""

    difference: Difference
    at: float
    start: float | None
    end: float | None
    number: str
    interval: str


@dataclass(frozen=True)
class Forest(Block):
    """Differences under each other, the best first, on one scale with a zero line.

    Attributes
    ----------
    unit: of the numbers.
    places: behind the point of a number; by default it has three significant digits.
    better, worse: what is to the right of zero and to its left.
    caption: what an interval is, how many instances or splits there are.
    """

    kind: ClassVar[str] = "forest"
    title: str
    differences: tuple[Difference, ...]
    unit: str = ""
    places: int | None = None
    better: str = "better"
    worse: str = "worse"
    caption: str = ""
    level: str = "95 %"

    @property
    def roles(self) -> list[Role]:
        """Those in the plot, in the one order of roles, for the legend."""
        present = {difference.role for difference in self.differences}
        return [role for role in ROLES if role in present]

    @property
    def words(self) -> Mapping[Role, str]:
        """What each role is, as the legends of figures say."""
        return WORDS

    @property
    def scale(self) -> tuple[float, float]:
        """The least and the largest number of the axis; zero is always on it."""
        ends = [0.0]
        for difference in self.differences:
            ends += [v for v in (difference.mean, difference.low, difference.high)
                     if v is not None and math.isfinite(v)]  # fmt: skip
        low, high = min(ends), max(ends)
        margin = 0.06 * (high - low) or 1.0
        return low - margin, high + margin

    def place(self, value: float) -> float:
        """In percent from the left; what is off the axis stands at its end."""
        low, high = self.scale
        return round(100 * (min(max(value, low), high) - low) / (high - low), 2)

    @property
    def marks(self) -> list[Mark]:
        """The differences by size, the best first."""
        ordered = sorted(self.differences, key=lambda difference: -difference.mean)
        return [self._mark(difference) for difference in ordered]

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Round numbers along the axis and their places."""
        low, high = self.scale
        return [
            (self.place(value), "0" if value == 0 else signed(value, 6).replace("-", "−"))
            for value in rounds(low, high)
        ]

    def _mark(self, difference: Difference) -> Mark:
        low, high = difference.low, difference.high
        interval = "" if low is None or high is None else f"[{self._number(low)}, {self._number(high)}]"
        return Mark(
            difference, self.place(difference.mean), None if low is None else self.place(low),
            None if high is None else self.place(high), self._number(difference.mean), interval,
        )  # fmt: skip

    def _number(self, value: float) -> str:
        if not math.isfinite(value):
            return "not bounded"
        places = self.places
        text = signed(value) if places is None else f"{value + 0.0:+.{places}f}"
        return text.replace("-", "−")


def percent(share: float) -> str:
    """A share as text.

    >>> percent(0.95)
    '95 %'
    """
    return f"{100 * share:g} %"


def rounds(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers between two ends.

    >>> rounds(-0.2, 1.0)
    [0.0, 0.5, 1.0]
    """
    rough = (high - low) / most
    size = 10.0 ** math.floor(math.log10(rough))
    step = next((factor * size for factor in (1, 2, 5) if factor * size >= rough), 10 * size)
    first = math.ceil(low / step - 1e-9)
    return [round(count * step, 12) + 0.0 for count in range(first, math.floor(high / step + 1e-9) + 1)]


def shared(differences: Sequence[Difference], scale: float) -> tuple[Difference, ...]:
    """The differences in another unit, `scale` of which are one of theirs."""
    return tuple(
        replace(
            d, mean=scale * d.mean, low=None if d.low is None else scale * d.low,
            high=None if d.high is None else scale * d.high,
        )
        for d in differences
    )  # fmt: skip

"""Learning curves: small panels of lines over epochs, for the template that draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from foresolve._base.numbers import significant
from foresolve.learning.pictures.curves import far_apart
from foresolve.report.pages.document import Block, Role
from foresolve.report.pages.forest import rounds

DASHES, TINTS = 8, 5  # as many as the style sheet has
TICKS = 6


@dataclass(frozen=True)
class Curve:
    """A line: a number for each epoch from the first on; what is not known is `None`, as is the role."""

    name: str
    values: tuple[float | None, ...]
    first: int = 1
    role: Role | None = None


@dataclass(frozen=True)
class Panel:
    """Lines of one unit over epochs.

    Attributes
    ----------
    best: the epoch whose weights were taken; `None` where none was chosen.
    """

    title: str
    curves: tuple[Curve, ...]
    best: int | None = None

    @property
    def styles(self) -> list[str]:
        """Classes of the lines: each has a color and dashes that no other has; without a role a color of its own."""
        styles = []
        for i, curve in enumerate(self.curves):
            dashes, color = divmod(i, TINTS)
            if curve.role is not None:
                dashes, color = sum(other.role == curve.role for other in self.curves[:i]), 0
            lone = " lone" if sum(map(_known, curve.values)) == 1 else ""
            styles.append(f"line-{dashes % DASHES} {curve.role or f'tint-{color}'}{lone}")
        return styles

    @property
    def epochs(self) -> tuple[int, int]:
        """The first and the last."""
        return (
            min(curve.first for curve in self.curves),
            max(curve.first + len(curve.values) - 1 for curve in self.curves),
        )

    @property
    def log(self) -> bool:
        """Whether the scale is one of logarithms."""
        return far_apart(value for curve in self.curves for value in curve.values)

    @property
    def heading(self) -> str:
        """The title, and the scale where it is an unusual one."""
        return f"{self.title}, log scale" if self.log else self.title

    @property
    def scale(self) -> tuple[float, float]:
        """Of the numbers, or of their logarithms, from bottom to top."""
        known = [self._scaled(value) for curve in self.curves for value in curve.values
                 if value is not None and _known(value)]  # fmt: skip
        low, high = min(known), max(known)
        margin = 0.06 * (high - low) or max(abs(high), 1.0) * 0.1
        return low - margin, high + margin

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Round numbers and their heights, in percent from the top."""
        numbers = _powers(*self.scale) if self.log else rounds(*self.scale, most=TICKS)
        return [(self.height(value), significant(value, 6).replace("-", "−")) for value in numbers]

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self.log else value

    def across(self, epoch: float) -> float:
        """The place of an epoch, in percent from the left."""
        first, last = self.epochs
        return round(100 * (epoch - first) / (last - first), 2) if last > first else 50.0

    def height(self, value: float) -> float:
        """In percent from the top."""
        low, high = self.scale
        return round(100 * (high - self._scaled(value)) / (high - low), 2)

    def points(self, curve: Curve) -> str:
        """As an SVG polyline has them; what is not known is left out, and a lone one is there twice: a dot."""
        points = [
            f"{self.across(curve.first + i)},{self.height(value)}"
            for i, value in enumerate(curve.values) if value is not None and _known(value)
        ]  # fmt: skip
        return " ".join(points if len(points) > 1 else 2 * points)

    @property
    def words(self) -> str:
        """What the lines do, for those who cannot see them."""
        told = []
        for curve in self.curves:
            known = [value for value in curve.values if value is not None and _known(value)]
            first, last, least = (significant(number, 3) for number in (known[0], known[-1], min(known)))
            told.append(f"{curve.name} from {first} to {last}, least {least}")
        return f"{self.heading}: {'; '.join(told)}."


@dataclass(frozen=True)
class Curves(Block):
    """Panels beside each other."""

    kind: ClassVar[str] = "curves"
    title: str
    panels: tuple[Panel, ...]
    caption: str = ""


def panel(title: str, curves: Sequence[Curve], best: int | None = None) -> Panel | None:
    """A panel of the lines that have a number; `None` where none has."""
    drawn = tuple(curve for curve in curves if any(_known(value) for value in curve.values))
    return Panel(title, drawn, best) if drawn else None


def _powers(low: float, high: float) -> list[float]:
    """Numbers such as 1, 2 and 5 between powers of ten; where there are many, the powers alone, or some of them.

    >>> _powers(-0.1, 1.2), _powers(-1.1, 4.0)
    ([1.0, 2.0, 5.0, 10.0], [0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0])
    """
    powers = range(math.floor(low), math.floor(high) + 1)
    fine = [float(f"{factor}e{power}") for power in powers for factor in (1, 2, 5)]
    inside = [value for value in fine if low <= math.log10(value) <= high]
    if len(inside) <= TICKS:
        return inside
    coarse = [float(f"1e{power}") for power in powers if low <= power <= high]
    return coarse[:: math.ceil(len(coarse) / TICKS)]


def _known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)

"""The verdict of a study: a rule, and a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from statistics import NormalDist
from typing import Any, Literal

from foresolve._base.bootstrap import Interval
from foresolve._base.numbers import significant
from foresolve.learning.paired import LEAST_UNITS, Standing, finite_ends
from foresolve.learning.study.contrast import Contrast, MethodRow

Answer = Literal["pays", "does not pay", "too little data"]
NEGLIGIBLE = 0.01  # of the best value, below which the reference's regret leaves little to gain
POWER = 0.8  # with which a study is to find what is worthwhile


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The verdict of a study; `str(verdict)` is the sentence.

    Attributes
    ----------
    answer: "pays", "does not pay" or "too little data".
    sentence: in the user's units.
    method: the decision-focused method that the sentence is about.
    reference: the best two-stage model.
    gained: by the method over the reference, per instance; below zero where it is worse.
    interval: of the gain, for all decision-focused methods at once; `None` where instances are too few.
    share: the gain as a share of the reference's regret; NaN where that is 0.
    worthwhile: the smallest gain that counts, in the user's units.
    """

    answer: Answer
    sentence: str
    method: str
    reference: str
    gained: float
    interval: Interval | None
    share: float
    worthwhile: float

    def __str__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON; what is not bounded, or not known, is `None`."""
        share = self.share if math.isfinite(self.share) else None
        return vars(self) | {"interval": finite_ends(self.interval), "share": share}


def judge(
    comparison: Contrast,
    validated: Mapping[str, float],
    *,
    worthwhile: float,
    units: str,
    hurried: str = "",
    reach: float = math.inf,
) -> Verdict:
    r"""The verdict of a comparison.

    With intervals of the gains of all decision-focused methods that hold at once:

    - "pays" where an interval lies above 0, which is where its p-value is below `1 - confidence`;
    - "does not pay" where no method pays and every interval ends below `worthwhile` times the reference's regret;
    - "too little data" otherwise, and with fewer than 20 independent units.

    Parameters
    ----------
    validated: regret on validation data by method: of several that pay, and of several that do not, the sentence is
        about the best there, so that test data chooses nothing.
    units: of the objective, for the sentence.
    hurried: what the time budget allowed, where methods were still improving: a claim then says so.
    reach: the most that the reference loses, as `contrast.reach` says it: where it is below 1 % and there is too little
        data, the sentence says so, and not how much more data would find a share of it.
    """
    reference, enough = comparison[comparison.reference], comparison.units >= LEAST_UNITS
    rows = sorted(comparison.focused, key=lambda row: validated[row.name])
    least = worthwhile * max(0.0, reference.regret)
    paying = [row for row in rows if enough and row.standing is Standing.AHEAD]
    row = (paying or rows)[0]
    left = [r for r in rows if r.interval is None or r.interval[1] > least]
    answer: Answer = "pays" if paying else "does not pay" if enough and not left else "too little data"
    words = _Words(row, reference, comparison, units)
    sentence = {
        "pays": words.pays,
        "does not pay": lambda: words.does_not_pay(worthwhile, least),
        "too little data": lambda: words.too_little(least, left, reach),
    }[answer]()
    if hurried and answer != "too little data":
        sentence += f" The time budget allowed {hurried}: more time may change this."
    return Verdict(
        answer=answer, sentence=sentence, method=row.name, reference=reference.name, gained=row.gained,
        interval=row.interval, share=row.gained / reference.regret if reference.regret > 0 else math.nan,
        worthwhile=least,
    )  # fmt: skip


@dataclass(frozen=True)
class _Words:
    """Sentences about one method."""

    row: MethodRow
    reference: MethodRow
    comparison: Contrast
    units: str

    def amount(self, number: float) -> str:
        return f"{significant(number, 3)} {self.units}".strip()

    @property
    def change(self) -> str:
        """The gain: "spo+ costs 1.31 minutes less per instance than ridge (95% interval: 0.84 less to 1.8 less)"."""
        interval, gained = self.row.interval, self.row.gained
        if gained == 0 and interval == (0.0, 0.0):
            return f"{self.row.name} decides exactly as well as {self.reference.name}"
        verb = "costs" if self.comparison.costs else "gains"
        level = f"{self.comparison.confidence:.0%} interval"
        ends = "" if interval is None else f" ({level}: {' to '.join(self._side(end, '') for end in interval)})"
        return f"{self.row.name} {verb} {self._side(gained, self.units)} per instance than {self.reference.name}{ends}"

    def _side(self, gained: float, units: str) -> str:
        """A gain without its sign: "1.31 minutes less"."""
        if not math.isfinite(gained):
            return "unbounded"
        more = (gained < 0) is self.comparison.costs
        return " ".join(filter(None, [significant(abs(gained), 3), units, "more" if more else "less"]))

    def pays(self) -> str:
        text = f"Training on decisions pays: {self.change}"
        if self.row.gained > self.reference.regret:  # better than the decisions of a heuristic under the truth
            return text + "."
        return f"{text}, {self.row.gained / self.reference.regret:.0%} of the regret of {self.reference.name}."

    def does_not_pay(self, worthwhile: float, least: float) -> str:
        if self.reference.regret == 0:
            return f"Training on decisions does not pay: {self.reference.name} makes the best decisions already."
        count = len(self.comparison.focused)
        each = f" for each of the {count} methods" if count > 1 else ""
        size = f" of more than {worthwhile:.0%} of the regret of {self.reference.name} ({self.amount(least)})"
        if self.reference.regret < 0:  # against the decisions of a heuristic under the truth
            size = ""
        return f"Training on decisions does not pay: {self.change}. A gain{size} is ruled out{each}."

    def _hope(self, row: MethodRow) -> str:
        """The gain that another method may have, where the one that the sentence is about is out of the question."""
        end = math.inf if row.interval is None else row.interval[1]
        limit = f" of up to {self.amount(end)}" if math.isfinite(end) else ""
        return f" A gain{limit} by {row.name} is not ruled out."

    def too_little(self, least: float, left: list[MethodRow], reach: float) -> str:
        comparison = self.comparison
        text = f"Too little data to say whether training on decisions pays: on {comparison.counted}, {self.change}."
        if left and self.row not in left:
            text += self._hope(left[0])
        if comparison.units >= LEAST_UNITS and self.reference.regret > 0 and reach < NEGLIGIBLE:
            near = f"{self.reference.name} already decides within {_percent(reach)} of the best"
            return f"{text} But {near}: little is left to gain."
        pair = self.row.interval
        if pair is None or not all(map(math.isfinite, pair)) or least <= 0:
            return text
        count = len(comparison.focused)
        times = ((pair[1] - pair[0]) / 2 / least * _to_find(comparison.confidence, count)) ** 2
        if times <= 1:
            return text
        needed = f"with a power of {POWER:.0%} would take about {_about(times)} times as many instances"
        return f"{text} Detecting a gain of {self.amount(least)} {needed}."


def _to_find(confidence: float, methods: int) -> float:
    """The half-widths of an interval that a gain must have, for the interval to lie above 0 with a probability of 0.8.

    >>> round(_to_find(0.95, 1), 2)
    1.43
    """
    normal = NormalDist()
    quantile = normal.inv_cdf(1 - (1 - confidence) / 2 / methods)
    return (quantile + normal.inv_cdf(POWER)) / quantile


def _percent(share: float) -> str:
    """Rounded up to a digit that counts.

    >>> _percent(0.00123), _percent(0.0098), _percent(0.0000004)
    ('0.2%', '1%', '0.00004%')
    """
    percent = Decimal(100 * share)
    digit = Decimal(1).scaleb(percent.adjusted())
    return f"{percent.quantize(digit, ROUND_UP).normalize():f}%"


def _about(times: float) -> str:
    """Two digits of a number, and no powers of ten.

    >>> _about(1.234), _about(432.1), _about(12345.0)
    ('1.2', '430', '12,000')
    """
    rounded = float(f"{times:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"

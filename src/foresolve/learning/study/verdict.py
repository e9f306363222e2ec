"""Does it pay? A rule, and a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from statistics import NormalDist
from typing import Any, Literal

from foresolve._base.bootstrap import Interval
from foresolve._base.numbers import significant
from foresolve.learning.study.contrast import Contrast, ContrastRow

Answer = Literal["pays", "does not pay", "too little data"]
NEGLIGIBLE = 0.01  # of the best value, below which the reference's regret leaves little to gain
LEAST_UNITS = 20  # below which skewed differences make intervals too short: nothing is claimed
POWER = 0.8  # with which a study is to find what is worthwhile


@dataclass(frozen=True)
class Verdict:
    """The verdict of a study; `str(verdict)` is the sentence.

    Attributes
    ----------
    answer: "pays", "does not pay" or "too little data".
    sentence: in the user's units.
    method: the decision-focused method that the sentence is about.
    reference: the best two-stage model.
    improvement: of the method over the reference, an instance; below zero where it is worse.
    interval: of the improvement, for all decision-focused methods at once; `None` where instances are too few.
    share: the improvement as a share of the reference's regret; NaN where that is 0.
    worthwhile: the smallest improvement that counts, in the user's units.
    """

    answer: Answer
    sentence: str
    method: str
    reference: str
    improvement: float
    interval: Interval | None
    share: float
    worthwhile: float

    def __str__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON; what is not bounded, or not known, is `None`."""
        ends = None if self.interval is None else [end if math.isfinite(end) else None for end in self.interval]
        share = self.share if math.isfinite(self.share) else None
        return {**vars(self), "interval": ends, "share": share}


def judge(
    comparison: Contrast,
    validated: Mapping[str, float],
    *,
    worthwhile: float,
    units: str,
    sense: str,
    hurried: str = "",
    reach: float = math.inf,
) -> Verdict:
    r"""The verdict of a comparison.

    With :math:`\Delta_m` the mean improvement of decision-focused method `m` over the reference, and intervals that
    hold for all `m` at once:

    - "pays" where Holm's p-value of an improvement is below `1 - confidence`, which for the smallest one is the same as
      an interval above 0;
    - "does not pay" where no method pays and every interval ends below `worthwhile` times the reference's regret;
    - "too little data" otherwise, and with fewer than 20 independent units.

    Parameters
    ----------
    validated: regret on validation data by method: of several that pay, and of several that do not, the sentence is
        about the best there, so that test data chooses nothing.
    hurried: what the time budget allowed, where methods were still improving: a claim then says so.
    reach: the most that the reference loses, as `contrast.reach` says it: where it is below 1 % and there is too little
        data, the sentence says so, and not how much more data would find a share of it.
    """
    reference, enough = comparison[comparison.reference], comparison.units >= LEAST_UNITS
    rows = sorted(comparison.focused, key=lambda row: validated[row.name])
    alpha, least = 1 - comparison.confidence, worthwhile * max(0.0, reference.regret)
    paying = [row for row in rows if enough and row.improvement > 0 and row.holm is not None and row.holm < alpha]
    row = (paying or rows)[0]
    left = [r for r in rows if r.improvement_interval is None or r.improvement_interval[1] > least]
    answer: Answer = "pays" if paying else "does not pay" if enough and not left else "too little data"
    words = _Words(row, reference, units, sense, len(rows))
    sentence = {
        "pays": words.pays,
        "does not pay": lambda: words.does_not_pay(worthwhile, least),
        "too little data": lambda: words.too_little(comparison, least, left, reach),
    }[answer]()
    if hurried and answer != "too little data":
        sentence += f" The time budget allowed {hurried}: more time may change this."
    share = row.improvement / reference.regret if reference.regret > 0 else math.nan
    return Verdict(answer, sentence, row.name, reference.name, row.improvement, row.improvement_interval, share, least)


@dataclass(frozen=True)
class _Words:
    """Sentences about one method."""

    row: ContrastRow
    reference: ContrastRow
    units: str
    sense: str
    methods: int

    def amount(self, number: float) -> str:
        return f"{significant(number, 3)} {self.units}".strip()

    @property
    def change(self) -> str:
        """What is saved, or costs more: "spo+ saves 1.31 minutes [0.84, 1.8] an instance against ridge"."""
        better, worse, more = ("saves", "costs", " more") if self.sense == "min" else ("gains", "loses", "")
        pair, improvement = self.row.improvement_interval, self.row.improvement
        if improvement == 0 and pair == (0.0, 0.0):
            return f"{self.row.name} decides exactly as well as {self.reference.name}"
        sign = 1 if improvement >= 0 else -1
        verb = f"{better} {self.amount(improvement)}" if sign > 0 else f"{worse} {self.amount(-improvement)}{more}"
        interval = ""
        if pair is not None:
            low, high = sorted((sign * pair[0], sign * pair[1]))
            interval = f" [{significant(low, 3)}, {significant(high, 3)}]"
        return f"{self.row.name} {verb}{interval} an instance against {self.reference.name}"

    def pays(self) -> str:
        text = f"Training on decisions pays: {self.change}"
        if self.row.improvement > self.reference.regret:  # better than the decisions of a heuristic under the truth
            return text + "."
        return f"{text}, {self.row.improvement / self.reference.regret:.0%} of its regret."

    def does_not_pay(self, worthwhile: float, least: float) -> str:
        if self.reference.regret == 0:
            return f"Training on decisions does not pay: {self.reference.name} makes the best decisions already."
        which = f" by any of {self.methods} methods" if self.methods > 1 else ""
        if self.reference.regret < 0:  # against the decisions of a heuristic under the truth
            return f"Training on decisions does not pay: {self.change}; an improvement{which} is ruled out."
        return (
            f"Training on decisions does not pay: {self.change}; an improvement{which} of more than {worthwhile:.0%} "
            f"of its regret ({self.amount(least)}) is ruled out."
        )

    def _hope(self, row: ContrastRow) -> str:
        """What another method may be worth, where the one that the sentence is about is out of the question."""
        end = math.inf if row.improvement_interval is None else row.improvement_interval[1]
        limit = f" of up to {self.amount(end)}" if math.isfinite(end) else ""
        return f"; an improvement{limit} by {row.name} is not ruled out"

    def too_little(self, comparison: Contrast, least: float, left: list[ContrastRow], reach: float) -> str:
        counted = comparison.counted
        text = f"Too little data to say whether training on decisions pays: on {counted}, {self.change}"
        if left and self.row not in left:
            text += self._hope(left[0])
        if comparison.units >= LEAST_UNITS and self.reference.regret > 0 and reach < NEGLIGIBLE:
            near = f"{self.reference.name} already decides within {_percent(reach)} of the best"
            return f"{text}. But {near}: little is left to gain."
        pair = self.row.improvement_interval
        if pair is None or not all(map(math.isfinite, pair)) or least <= 0:
            return text + "."
        times = ((pair[1] - pair[0]) / 2 / least * _to_find(comparison.confidence, self.methods)) ** 2
        if times <= 1:
            return text + "."
        needed = f"with a power of {POWER:.0%} would take about {_about(times)} times as many instances"
        return f"{text}. Detecting {self.amount(least)} {needed}."


def _to_find(confidence: float, methods: int) -> float:
    """How many half-widths of an interval an improvement must be, for it to end above 0 with a probability of 0.8.

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

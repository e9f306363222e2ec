"""Tables 1 and 2 of the paper as data, so that they can stand beside ours.

Source: Bryan Wilder, Bistra Dilkina and Milind Tambe, "Melding the Data-Decisions Pipeline: Decision-Focused Learning
for Combinatorial Optimization", AAAI 2019. A figure there is a mean over 30 random splits with the half width of a
bootstrapped 95 % interval. The paper has no heuristics, no best decisions and no Table 2 row for random decisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from foresolve.report.records import Measure

CITATION = (
    "B. Wilder, B. Dilkina, M. Tambe: Melding the Data-Decisions Pipeline: Decision-Focused Learning for "
    "Combinatorial Optimization. AAAI 2019, Tables 1 and 2."
)
Verdict = Literal["reproduced", "above", "better", "not reproduced", "unknown"]


@dataclass(frozen=True)
class Published:
    """A figure of the paper: the mean and the half width of its 95 % interval."""

    mean: float
    half: float


def quality(domain: str, method: str, k: int | None) -> Published | None:
    """The entry of Table 1, `None` where the paper has none.

    >>> quality("matching", "NN2-Decision", None)
    Published(mean=6.15, half=0.38)
    """
    return TABLE1.get((domain, method, k))


def accuracy(domain: str, method: str, measure: Measure) -> Published | None:
    """The entry of Table 2 (k = 10 where there is a budget), `None` where the paper has none.

    >>> accuracy("budget", "RF-2Stage", "mse")
    Published(mean=0.000354, half=4.17e-06)
    """
    return TABLE2.get((domain, method, measure))


_COLUMNS1 = (*(("budget", k) for k in (5, 10, 20)), ("matching", None), *(("recommendation", k) for k in (5, 10, 20)))
_ROWS1 = """
NN1-Decision  49.18 0.24  72.62 0.33  98.95 0.46  2.50 0.56  15.81 0.50  29.81 0.85  52.43 1.23
NN2-Decision  44.35 0.56  67.64 0.62  93.59 0.77  6.15 0.38  13.34 0.77  26.32 1.38  47.79 1.96
NN1-2Stage    32.13 2.47  45.63 3.76  61.88 4.10  2.99 0.76   4.08 0.16   8.42 0.29  19.16 0.57
NN2-2Stage     9.69 0.05  18.93 0.10  36.16 0.18  3.49 0.32  11.63 0.43  22.79 0.66  42.37 1.02
RF-2Stage     48.81 0.32  72.40 0.43  98.82 0.63  3.66 0.26   7.71 0.18  15.73 0.34  31.25 0.64
Random         9.69 0.04  18.92 0.09  36.13 0.14  2.45 0.64   8.19 0.19  16.15 0.35  31.68 0.71
"""

_COLUMNS2: tuple[tuple[str, Measure], ...] = (
    ("budget", "mse"),
    ("matching", "cross_entropy"),
    ("matching", "auc"),
    ("recommendation", "cross_entropy"),
    ("recommendation", "auc"),
)
_ROWS2 = """
NN1-Decision  0.8673e-02 1.83e-04  0.994 0.002  0.501 0.011  1.053 0.005  0.593 0.003
NN2-Decision  1.7118e-02 2.65e-04  0.689 0.004  0.560 0.006  1.004 0.022  0.577 0.008
NN1-2Stage    0.0501e-02 2.67e-06  0.696 0.001  0.499 0.013  0.703 0.001  0.389 0.003
NN2-2Stage    0.0530e-02 2.27e-06  0.223 0.005  0.498 0.007  0.690 0.000  0.674 0.004
RF-2Stage     0.0354e-02 4.17e-06  0.693 0.000  0.500 0.000  0.689 0.000  0.500 0.000
"""


def _read(rows: str) -> dict[str, list[Published]]:
    """Each method's figures, from left to right."""
    figures: dict[str, list[Published]] = {}
    for line in rows.strip().splitlines():
        method, *numbers = line.split()
        values = [float(number) for number in numbers]
        figures[method] = [Published(mean, half) for mean, half in zip(values[::2], values[1::2], strict=True)]
    return figures


TABLE1: dict[tuple[str, str, int | None], Published] = {
    (domain, method, k): figure
    for method, figures in _read(_ROWS1).items()
    for (domain, k), figure in zip(_COLUMNS1, figures, strict=True)
}
TABLE2: dict[tuple[str, str, Measure], Published] = {
    (domain, method, measure): figure
    for method, figures in _read(_ROWS2).items()
    for (domain, measure), figure in zip(_COLUMNS2, figures, strict=True)
}
DOMAINS = frozenset(domain for domain, _ in _COLUMNS1)

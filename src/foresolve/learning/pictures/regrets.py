"""Histograms of a score over instances."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from foresolve._base import checks
from foresolve._base.drawing import legends
from foresolve._base.drawing.canvas import as_axes, tidy, whole
from foresolve._base.drawing.palette import CHOSEN, GRAY, INK
from foresolve._base.numbers import significant

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from foresolve.learning.report import Report

BINS = 30


def draw_report(report: Report, measure: str | None, ax: Any) -> Axes:
    """A histogram of one number over instances, with its mean and interval."""
    known = [name for name in report.instances if name != "weight"]
    if measure is None:
        measure = "regret" if "regret" in known else "hamming"
    checks.one_of("measure", measure, known)
    ax = as_axes(ax, (6.4, 3.8))
    values = report.instances[measure].astype(float)
    there = ~np.isnan(values)
    weight = report.instances.get("weight")
    bins = min(BINS, max(5, math.ceil(2 * there.sum() ** 0.5)))
    ax.hist(values[there], bins=bins, weights=None if weight is None else weight[there], color=CHOSEN, alpha=0.55)
    entries = [legends.patch("instances" + ("" if weight is None else ", weighted"), CHOSEN)]
    mean = report.metrics.get(measure, getattr(report, measure, None))
    if mean is not None:
        ax.axvline(mean, color=INK, linewidth=1.8)
        entries.append(legends.mark(f"mean {significant(mean, 3)}", INK, "", line="-"))
    if measure in report.intervals:
        low, high = report.intervals[measure]
        ax.axvspan(low, high, color=GRAY, alpha=0.35, linewidth=0)
        entries.append(legends.patch(f"{report.confidence:.0%} interval of the mean", GRAY))
    if measure == "regret" and report.mean_regret is not None:
        ax.axvline(report.mean_regret, color=INK, linestyle="--", linewidth=1.2)
        entries.append(legends.mark(f"the mean's decision {significant(report.mean_regret, 3)}", INK, "", line="--"))
    ax.set_xlabel(measure.replace("_", " ") + " of an instance", fontsize=9)
    ax.set_ylabel("instances" if weight is None else "weight", fontsize=9)
    if weight is None:
        whole(ax.yaxis)
    tidy(ax, "y")
    legends.under(ax, entries)
    return ax

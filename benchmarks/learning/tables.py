"""The measurements as lines and as Markdown. Standard library only."""

from __future__ import annotations

import math
import statistics
from typing import Any

from benchmarks._harness.tables import Row, as_markdown
from benchmarks.learning.catalogue import BATCH, EPOCHS, RATE

T95 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26}
HEADER = ("method", "normalized test regret", "seeds", "ms an epoch", "PyEPO regret", "PyEPO ms an epoch", "ratio")


def summary(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Of the seeds of one method: mean regret in percent with half its 95 % interval, median time of an epoch."""
    regrets = [100 * record["regret"] for record in records if "regret" in record]
    seconds = [record["epoch_s"] for record in records if "epoch_s" in record]
    half = math.nan
    if len(regrets) > 1:
        half = T95.get(len(regrets) - 1, 1.96) * statistics.stdev(regrets) / math.sqrt(len(regrets))
    return {
        "package": records[0]["package"],
        "method": records[0]["method"],
        "seeds": len(regrets),
        "regret": statistics.mean(regrets) if regrets else math.nan,
        "half": half,
        "epoch_s": statistics.median(seconds) if seconds else math.nan,
        "error": next((record["error"] for record in records if "error" in record), ""),
    }


def line(records: list[dict[str, Any]]) -> str:
    s = summary(records)
    text = f"{s['package']:<10}{s['method']:<32}{s['regret']:6.2f} % +- {s['half']:4.2f}  {s['seeds']:2d} seeds"
    return text + f"  {1e3 * s['epoch_s']:9.1f} ms an epoch  {s['error']}"


def row(ours: dict[str, Any], peer: dict[str, Any] | None) -> Row:
    milliseconds = "" if math.isnan(ours["epoch_s"]) else f"{1e3 * ours['epoch_s']:.0f}"
    cells = (ours["method"], f"{ours['regret']:.2f} % ± {ours['half']:.2f}", str(ours["seeds"]), milliseconds)
    if peer is None:
        return (*cells, "", "", ours["error"])
    ratio = f"{peer['epoch_s'] / ours['epoch_s']:.1f}x"
    return (*cells, f"{peer['regret']:.2f} % ± {peer['half']:.2f}", f"{1e3 * peer['epoch_s']:.0f}", ratio)


def rows(groups: list[list[dict[str, Any]]]) -> list[Row]:
    """Methods of foresolve by their regret, PyEPO's beside those that it has too."""
    summaries = [summary(records) for records in groups]
    peers = {entry["method"]: entry for entry in summaries if entry["package"] == "pyepo"}
    ours = sorted((entry for entry in summaries if entry["package"] == "foresolve"), key=lambda entry: entry["regret"])
    return [HEADER, *(row(entry, peers.get(entry["method"])) for entry in ours)]


def page(groups: list[list[dict[str, Any]]], facts: dict[str, Any]) -> str:
    where = f"{facts['date']}, {facts['machine']}, Python {facts['python']}"
    title = f"{where}; {EPOCHS} epochs, batch {BATCH}, Adam {RATE}."
    return "\n".join([title, "", *as_markdown(rows(groups), "lrrrrrr")])

"""Draw how many times longer other layers take than foresolve: `python tools/speed_figure.py OUT`.

From the results of benchmarks; each ratio is of one run on one machine: `make bench-linear`, `make bench-quadratic`,
and the run of linear programs with Moreau.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
BATCH = 8
CASES = {
    "matching-10x10": "matching 10 x 10",
    "matching-50x50": "matching 50 x 50",
    "grid-5x5": "shortest path 5 x 5",
    "grid-30x30": "shortest path 30 x 30",
    "sparse-400": "sparse LP, 400 variables",
    "portfolio-50": "portfolio, 50 assets",
    "portfolio-500": "portfolio, 500 assets",
    "portfolio-500-factor": "portfolio, 500, 20 factors",
    "dense-100x50": "dense QP, 100 x 50",
    "sparse-1000": "sparse QP, 1000 variables",
}
PACKAGES = {"moreau": ("Moreau", "D"), "proxsuite": ("ProxSuite", "s"), "osqp-layer": ("OSQP's layer", "^"),
            "cvxpylayers": ("cvxpylayers", "v"), "qpth": ("qpth", "o")}  # fmt: skip
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def ratios() -> dict[tuple[str, str], float]:
    """Time over foresolve's by case and package: the fastest of a package's settings."""
    seconds: dict[tuple[str, str, str], float] = {}
    for run in ("linear", "quadratic"):
        for record in json.loads((RESULTS / run / "results.json").read_text())["records"]:
            if record["batch"] == BATCH and record["status"] == "ok" and record["fresh"]:
                seconds[run, record["case"], record["peer"]] = record["fresh"]["total"]
    case = ""
    for line in (RESULTS / "linear" / "moreau.md").read_text().splitlines():
        if head := re.match(r"## (\S+), batch (\d+)", line):
            case = head[1] if int(head[2]) == BATCH else ""
        elif case and (row := re.match(r"\| (\S+) \|[^|]*\|[^|]*\| ([\d.]+) (us|ms|s) \|", line)):
            seconds["moreau", case, row[1]] = float(row[2]) * UNITS[row[3]]
    fastest: dict[tuple[str, str], float] = defaultdict(lambda: float("inf"))
    for (run, name, peer), time in seconds.items():
        package = next((prefix for prefix in PACKAGES if peer.startswith(prefix)), None)
        if package is not None:
            fastest[name, package] = min(fastest[name, package], time / seconds[run, name, "foresolve"])
    return dict(fastest)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from foresolve._base.drawing.palette import color_of

    known = ratios()
    figure, ax = plt.subplots(figsize=(8, 3.9), layout="constrained")
    ax.axvline(1, color=color_of("decision-focused"), linewidth=2.5, label="foresolve")
    for place, name in enumerate(CASES):
        ax.axhline(place, color="0.92", zorder=0)
        for package, (_, marker) in PACKAGES.items():
            if (name, package) in known:
                ax.plot(known[name, package], place, marker, color="0.25", markerfacecolor="none", markersize=6)
    for title, marker in PACKAGES.values():
        ax.plot([], [], marker, color="0.25", markerfacecolor="none", label=title)
    ax.set(
        xscale="log",
        xlim=(0.5, 300),
        xticks=(1, 10, 100),
        xticklabels=("1x", "10x", "100x"),
        xlabel=f"time of a step over foresolve's in the same run, batch {BATCH}, two cores",
    )
    ax.set_yticks(range(len(CASES)), list(CASES.values()))
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    figure.savefig(parser.parse_args().out, dpi=144)


if __name__ == "__main__":
    main()

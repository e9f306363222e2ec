"""Dots per case and peer, log scale: `python -m benchmarks._harness.layers.plot results.json FOLDER` (matplotlib)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from benchmarks._harness.layers.tables import total

# Okabe-Ito colors: distinct for every kind of color vision.
STYLES = {
    "foresolve": ("#D55E00", "o"),
    "qpth": ("#000000", "s"),
    "cvxpylayers": ("#0072B2", "^"),
    "cvxpylayers-tight": ("#0072B2", "v"),
    "cvxpylayers-clarabel": ("#56B4E9", "D"),
    "proxsuite": ("#009E73", "P"),
    "proxsuite-tight": ("#009E73", "d"),
    "osqp-layer": ("#E69F00", "X"),
    "osqp": ("#CC79A7", "<"),
    "osqp-tight": ("#CC79A7", ">"),
    "moreau": ("#F0E442", "h"),
    "moreau-ipm": ("#999999", "p"),
    "moreau-ipm-tight": ("#999999", "*"),
}
PANELS = (
    ("forward + backward, fresh theta (s)", total),
    ("gradient error, worst instance", lambda record: record.get("gradient_error_worst")),
)


def draw(records: list[dict[str, Any]], folder: Path) -> None:
    cases = list(dict.fromkeys((record["case"], record["batch"]) for record in records))
    peers = list(dict.fromkeys(record["peer"] for record in records))
    position = {case: len(cases) - 1 - k for k, case in enumerate(cases)}
    plt.rcParams["svg.hashsalt"] = "foresolve"
    figure, axes = plt.subplots(1, 2, figsize=(12.0, 2.2 + 0.36 * len(cases)), sharey=True, layout="constrained")
    for axis, (label, value_of) in zip(axes, PANELS, strict=True):
        for peer in peers:
            color, marker = STYLES[peer]
            points = [
                (max(value, 1e-16), position[record["case"], record["batch"]])
                for record in records
                if record["peer"] == peer and (value := value_of(record)) is not None
            ]
            front = 3 if peer == "foresolve" else 2
            size = 70 if peer == "foresolve" else 42
            horizontal, vertical = zip(*points, strict=True) if points else ((), ())
            axis.scatter(
                horizontal,
                vertical,
                s=size,
                c=color,
                marker=marker,
                label=peer,
                zorder=front,
                alpha=0.85,
                linewidths=0,
            )
        axis.set_xscale("log")
        axis.set_xlabel(label)
        axis.grid(True, which="major", axis="both", color="#dddddd", linewidth=0.7)
        axis.set_axisbelow(True)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    axes[0].set_yticks(list(position.values()), [f"{case}, batch {batch}" for case, batch in position])
    axes[0].set_ylim(-0.6, len(cases) - 0.4)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(folder / "results.png", dpi=150)
    figure.savefig(folder / "results.svg", metadata={"Date": None})


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text())["records"], Path(sys.argv[2]))

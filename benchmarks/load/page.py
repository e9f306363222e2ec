"""Curves and shares as tables in a page: `python -m benchmarks.load.page docs/benchmarks.md`."""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks._harness.places import results

BEGIN, END = "<!-- figures of load -->\n", "<!-- end of the figures of load -->"
SIZES = {"matching": "n x n, size n", "dense": "n variables, n / 2 dense rows", "path": "grid of n x n nodes",
         "top-k": "n variables, one row", "portfolio": "n assets, dense Q",
         "coverage": "n items, 5 n targets"}  # fmt: skip

Row = dict[str, Any]


def curves(rows: list[Row]) -> str:
    """A table for each case: milliseconds by size, a line for each batch, default threads over one thread below it."""
    parts = []
    for case, group in groupby(rows, key=lambda row: row["case"]):
        lines = defaultdict(list)
        for row in group:
            lines[row["batch"]].append(row)
        sizes = [row["size"] for row in next(iter(lines.values()))]
        table = [f"| {case}: {SIZES.get(case, 'size n')} | {' | '.join(map(str, sizes))} |",
                 "|---|" + "---:|" * len(sizes)]  # fmt: skip
        for batch, line in lines.items():
            times, ratios = [f"{1e3 * row['seconds']:.3g}" for row in line], [f"{row['ratio']:.2f}" for row in line]
            table.append(f"| batch {batch}, ms | {' | '.join(times)} |")
            table.append(f"| default threads / one | {' | '.join(ratios)} |")
        parts.append("\n".join(table))
    return "\n\n".join(parts)


def shares(rows: list[Row]) -> str:
    """How many times as long a step takes beside busy processes."""
    table = [f"| case | batch | size | alone, ms | beside 1 busy process | beside {rows[0]['cores']} |",
             "|---|---:|---:|---:|---:|---:|"]  # fmt: skip
    for row in rows:
        table.append(
            f"| {row['case']} | {row['batch']} | {row['size']} | {1e3 * row['alone']:.3g} | {row['beside 1']:.2f} | "
            f"{row['beside each']:.2f} |"
        )
    return "\n".join(table)


def figures(curve: list[Row], busy: list[Row], about: str) -> str:
    """What stands between the marks."""
    worst = max(curve, key=lambda row: row["ratio"])
    steepest = max((row for row in curve if row["growth"] is not None), key=lambda row: row["growth"])
    parts = [
        about,
        f"Default threads are at worst {worst['ratio']:.2f} times as slow as one ({_named(worst)}); from one size to "
        f"the next, time grows by at most {steepest['growth']:.2f} times what the work does ({_named(steepest)}).",
        curves(curve),
    ]
    return "\n\n".join([*parts, shares(busy)] if busy else parts)


def _named(row: Row) -> str:
    return f"{row['case']} {row['size']}, batch {row['batch']}"


def written(page: str, text: str) -> str:
    """The page with these figures."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{text}\n\n{END}{rest.split(END)[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--machine", default="", help="in words, for the line above the tables")
    args = parser.parse_args()
    curve, busy = (
        json.loads(path.read_text()) if (path := results("load") / name).exists() else []
        for name in ("curve.json", "busy.json")
    )
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "scipy"))
    cores = curve[0]["cores"]
    where = ("all cores" if cores is None else f"{cores} cores") + (f" of {args.machine}" if args.machine else "")
    about = f"On {where}; {versions}."
    args.page.write_text(written(args.page.read_text(encoding="utf-8"), figures(curve, busy, about)), encoding="utf-8")


if __name__ == "__main__":
    main()

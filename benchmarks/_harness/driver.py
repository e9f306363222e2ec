"""What every driver does: its options, the machine it runs on, the files it writes. Standard library only."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks._harness.places import results, runs
from benchmarks._harness.tables import Row, as_csv


def options(description: str | None, benchmark: str, timeout: float) -> argparse.ArgumentParser:
    """A parser with the options that all benchmarks have; read by `parsed`."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the smallest cases only")
    parser.add_argument(
        "--ours", action="store_true", help="foresolve alone, no environment of a peer; written to benchmarks/.runs"
    )
    parser.add_argument("--out", type=Path, help=f"default: {results(benchmark)}")
    parser.add_argument("--timeout", type=float, default=timeout, help="seconds for a worker (default %(default)g)")
    parser.add_argument("--threads", type=int, help="threads for every worker (default: their own choice)")
    parser.add_argument("--foresolve-python", type=Path, help="use this Python for foresolve, build none")
    parser.add_argument("--refresh", action="store_true", help="rebuild the environments and the cases")
    parser.set_defaults(benchmark=benchmark)
    return parser


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    args = parser.parse_args()
    args.out = args.out or (runs if args.ours else results)(args.benchmark)
    args.out.mkdir(parents=True, exist_ok=True)
    return args


def machine() -> dict[str, Any]:
    cpu = platform.processor()
    if (info := Path("/proc/cpuinfo")).exists():
        models = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line]
        cpu = models[0] if models else cpu
    return {"cpu": cpu, "cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}


def progress(task: str) -> None:
    if sys.stdout.isatty():
        print(f"  {task} ...".ljust(70), end="\r", flush=True)


def write_results(folder: Path, report: dict[str, Any], markdown: str, rows: Sequence[Row]) -> None:
    """`results.json` (everything), `results.md` (for readers) and `results.csv` (for spreadsheets)."""
    (folder / "results.json").write_text(json.dumps(report, indent=1) + "\n")
    (folder / "results.md").write_text(markdown)
    (folder / "results.csv").write_text(as_csv(rows))

"""Every training method of foresolve, and PyEPO's, on the same saved instances: `python -m benchmarks.learning.run`.

Shortest paths on a 5 x 5 grid, generated as in Elmachtoub and Grigas; a linear model, one set of defaults for all
methods. Each (method, seed) runs alone, in a process of its own.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import tempfile
from pathlib import Path
from typing import Any

from benchmarks._harness.driver import options, parsed, write_results
from benchmarks._harness.environments import Pythons
from benchmarks._harness.processes import Limits, record_of, run_module
from benchmarks.learning.catalogue import CASES_DIR, ENVIRONMENTS, EPOCHS, FIRST_SEED, FORESOLVE, PYEPO, QUICK
from benchmarks.learning.tables import line, page, rows


def parse() -> argparse.Namespace:
    parser = options(__doc__, "learning", timeout=600.0)
    parser.add_argument("--seeds", type=int, help="default: 10, 2 with --quick")
    parser.add_argument("--slow-seeds", type=int, default=3, help="for methods that take more than a minute a seed")
    parser.add_argument("--methods", nargs="*")
    parser.add_argument("--pyepo", nargs="*", default=list(PYEPO), help="which of PyEPO's; none: `--pyepo`")
    args = parsed(parser)
    args.seeds = args.seeds or (2 if args.quick else 10)
    args.methods = list(QUICK if args.quick else FORESOLVE) if args.methods is None else args.methods
    if args.ours:
        args.pyepo = []
    return args


def measure(package: str, method: str, seed: int, case: Path, python: Path, args: argparse.Namespace) -> dict[str, Any]:
    arguments = ["--package", package, "--method", method, "--seed", str(seed), "--case", str(case)]
    with tempfile.TemporaryDirectory() as folder:
        limits = Limits(args.timeout, args.threads)
        record = record_of(python, "benchmarks.learning.worker", arguments, limits, Path(folder))
    measured = {key: value for key, value in record.items() if key not in ("status", "versions", "timings")}
    return {"package": package, "method": method, "seed": seed, **measured}


def run(package: str, method: str, cases: list[Path], python: Path, args: argparse.Namespace) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for seed, case in enumerate(cases):
        if seed >= args.slow_seeds and records[0].get("epoch_s", 0.0) * EPOCHS > 60:
            break
        records.append(measure(package, method, seed, case, python, args))
        if "error" in records[-1]:
            break
    print(line(records), flush=True)
    return records


def ensure_cases(pythons: Pythons, args: argparse.Namespace) -> list[Path]:
    CASES_DIR.mkdir(parents=True, exist_ok=True)
    paths = {seed: CASES_DIR / f"shortest-path-{seed}.npz" for seed in range(FIRST_SEED, FIRST_SEED + args.seeds)}
    for seed, path in paths.items():
        if args.refresh or not path.exists():
            run_module(pythons["foresolve"], "benchmarks.learning.cases", seed, path)
    return list(paths.values())


def main() -> None:
    args = parse()
    pythons = Pythons(ENVIRONMENTS, args.foresolve_python, args.refresh)
    cases = ensure_cases(pythons, args)
    facts = {
        "date": datetime.date.today().isoformat(),
        "machine": platform.machine(),
        "python": platform.python_version(),
    }
    groups: list[list[dict[str, Any]]] = []
    for method in args.methods:  # a method's two implementations one after the other
        groups.append(run("foresolve", method, cases, pythons["foresolve"], args))
        if method in args.pyepo:
            groups.append(run("pyepo", method, cases, pythons["pyepo"], args))
        write_results(args.out, {"facts": facts, "records": groups}, page(groups, facts), rows(groups))
    print(f"written to {args.out}")


if __name__ == "__main__":
    main()

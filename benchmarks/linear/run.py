"""foresolve and its peers on the same saved inputs, in one go: `python -m benchmarks.linear.run`.

Needs nothing but Python: it builds one environment per peer, generates the cases and their references, then
runs every (case, peer) alone, in a process of its own, the peers of a case one after another.
"""

from __future__ import annotations

import argparse
import datetime
import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks._harness.driver import machine, options, parsed, progress, write_results
from benchmarks._harness.environments import Pythons
from benchmarks._harness.processes import Limits, record_of, run_module
from benchmarks._harness.tables import as_text
from benchmarks._harness.timing import medians
from benchmarks.linear.catalogue import (
    BATCHES,
    CASES_DIR,
    ENVIRONMENTS,
    PEERS,
    PROBLEMS,
    QUICK_BATCHES,
    QUICK_PROBLEMS,
)
from benchmarks.linear.tables import all_rows, page, rows


def parse() -> argparse.Namespace:
    parser = options(__doc__, "linear", timeout=120.0)
    parser.add_argument("--cases", nargs="+", metavar="NAME[:BATCH]", help=f"among {', '.join(PROBLEMS)}")
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--memory-limit", type=float, default=14.0, help="GB per peer and case")
    args = parsed(parser)
    if args.ours:
        args.peers = ["foresolve"]
    return args


def chosen_cases(args: argparse.Namespace) -> list[tuple[str, int]]:
    batches = QUICK_BATCHES if args.quick else BATCHES
    names = args.cases or (QUICK_PROBLEMS if args.quick else PROBLEMS)
    chosen = []
    for name in names:
        problem, _, batch = name.partition(":")
        if problem not in PROBLEMS:
            raise SystemExit(f"unknown case {problem!r}; there are {', '.join(PROBLEMS)}")
        chosen += [(problem, size) for size in ([int(batch)] if batch else batches)]
    if any(not 1 <= size <= max(BATCHES) for _, size in chosen):
        raise SystemExit(f"the batch size must be between 1 and {max(BATCHES)}")
    return chosen


def reference(name: str) -> Path:
    return CASES_DIR / f"{name}.reference.npz"


def ensure_inputs(names: list[str], pythons: Pythons, args: argparse.Namespace) -> None:
    for name in names:
        if args.ours and (args.refresh or not (CASES_DIR / f"{name}.npz").exists()):
            run_module(pythons["foresolve"], "benchmarks.linear.cases", name)
        elif not args.ours and (args.refresh or not reference(name).exists()):
            print(f"generating {name} and its reference ...", flush=True)
            # The reference solves small systems one at a time: more threads only get in each other's way.
            for module in ("cases", "reference"):
                run_module(pythons["reference"], f"benchmarks.linear.{module}", name, threads=1)


def measure(case: str, batch: int, peer: str, pythons: Pythons, args: argparse.Namespace) -> dict[str, Any]:
    entry = PEERS[peer]
    arguments = ["--module", entry.module, "--options", json.dumps(entry.options), "--case", case]
    arguments += ["--batch", str(batch), "--memory-limit", str(args.memory_limit)]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        limits = Limits(args.timeout, args.threads)
        record = record_of(pythons[entry.environment], "benchmarks.linear.worker", arguments, limits, folder)
        saved = folder / "record.npz"
        if record["timings"] and saved.exists() and reference(case).exists():
            python = pythons["foresolve" if args.ours else "reference"]
            record.update(json.loads(run_module(python, "benchmarks.linear.accuracy", case, batch, saved)))
    if timings := record["timings"]:
        record["cold"] = {"forward": timings[0][0], "backward": timings[0][1], "total": sum(timings[0])}
    if fresh := timings[1:]:
        record["fresh"] = medians(fresh)
    return {"case": case, "batch": batch, "peer": peer, "settings": entry.settings, **record}


def main() -> None:
    args = parse()
    cases = chosen_cases(args)
    names = list(dict.fromkeys(name for name, _ in cases))
    pythons = Pythons(ENVIRONMENTS, args.foresolve_python, args.refresh)
    ensure_inputs(names, pythons, args)
    summaries = [CASES_DIR / f"{name}.reference.json" for name in names]
    report: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "timeout": args.timeout,
        "threads": args.threads,
        "references": [json.loads(summary.read_text()) for summary in summaries if summary.exists()],
        "records": [],
    }
    for case, batch in cases:
        records = []
        for peer in args.peers:
            progress(f"{case}, batch {batch}: {peer}")
            records.append(measure(case, batch, peer, pythons, args))
        report["records"] += records
        print(as_text(f"{case}, batch {batch}", rows(records)), flush=True)
        write_results(args.out, report, page(report), all_rows(report["records"]))
    if not args.ours:
        run_module(pythons["reference"], "benchmarks.linear.plot", args.out / "results.json", args.out)
    print(f"written to {args.out}")


if __name__ == "__main__":
    main()

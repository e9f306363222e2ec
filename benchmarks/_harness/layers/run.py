"""The driver of a benchmark of layers: environments, inputs, one process for every case and peer, tables.

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
from benchmarks._harness.layers.suite import ENVIRONMENTS, Suite
from benchmarks._harness.layers.tables import all_rows, page, rows, total
from benchmarks._harness.processes import Limits, record_of, run_module
from benchmarks._harness.tables import as_text
from benchmarks._harness.timing import medians

HERE = "benchmarks._harness.layers"


def parse(suite: Suite, description: str | None) -> argparse.Namespace:
    parser = options(description, suite.name, timeout=suite.timeout)
    parser.add_argument("--cases", nargs="+", metavar="NAME[:BATCH]", help=f"among {', '.join(suite.problems)}")
    parser.add_argument("--peers", nargs="+", choices=list(suite.peers), default=list(suite.peers))
    parser.add_argument("--memory-limit", type=float, default=14.0, help="GB per peer and case")
    args = parsed(parser)
    if args.ours:
        args.peers = ["foresolve"]
    return args


def chosen_cases(suite: Suite, args: argparse.Namespace) -> list[tuple[str, int]]:
    batches = suite.quick_batches if args.quick else suite.batches
    names = args.cases or (suite.quick_problems if args.quick else suite.problems)
    chosen = []
    for name in names:
        problem, _, batch = name.partition(":")
        if problem not in suite.problems:
            raise SystemExit(f"unknown case {problem!r}; there are {', '.join(suite.problems)}")
        chosen += [(problem, size) for size in ([int(batch)] if batch else batches)]
    if any(not 1 <= size <= max(suite.batches) for _, size in chosen):
        raise SystemExit(f"the batch size must be between 1 and {max(suite.batches)}")
    return chosen


def ensure_inputs(suite: Suite, names: list[str], pythons: Pythons, args: argparse.Namespace) -> None:
    for name in names:
        if args.ours and (args.refresh or not suite.inputs(name).exists()):
            run_module(pythons["foresolve"], suite.module("cases"), name)
        elif not args.ours and (args.refresh or not suite.reference(name).exists()):
            print(f"generating {name} and its reference ...", flush=True)
            # The reference solves small systems one at a time: more threads only get in each other's way.
            for module in ("cases", "reference"):
                run_module(pythons["reference"], suite.module(module), name, threads=1)


def measure(
    suite: Suite, case: str, batch: int, peer: str, pythons: Pythons, args: argparse.Namespace
) -> dict[str, Any]:
    entry = suite.peers[peer]
    arguments = ["--module", suite.peer_module(entry), "--options", json.dumps(entry.options)]
    arguments += ["--inputs", suite.module("inputs"), "--case", case, "--batch", str(batch)]
    arguments += ["--most", str(suite.pace.most), "--enough", str(suite.pace.enough)]
    arguments += ["--patience", str(suite.pace.patience or args.timeout), "--memory-limit", str(args.memory_limit)]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        limits = Limits(args.timeout, args.threads)
        record = record_of(pythons[entry.environment], f"{HERE}.worker", arguments, limits, folder)
        saved = folder / "record.npz"
        if record["timings"] and saved.exists() and suite.reference(case).exists():
            python = pythons["foresolve" if args.ours else "reference"]
            answer = run_module(python, f"{HERE}.accuracy", suite.reference(case), batch, saved)
            record.update(json.loads(answer))
    if timings := record["timings"]:
        record["cold"] = {"forward": timings[0][0], "backward": timings[0][1], "total": sum(timings[0])}
    if fresh := timings[1:]:
        record["fresh"] = medians(fresh)
    return record


def out_of_reach(record: dict[str, Any], batch: int, limit: float) -> dict[str, Any] | None:
    """What stands in the table for `batch` where `record`, of a smaller one, says that it would take too long."""
    smaller, seconds = record["batch"], total(record)
    if record["status"] in ("timeout", "skipped"):
        return {"status": "skipped", "timings": [], "error": f"> {limit:g} s, as batch {smaller}"}
    if record["status"] == "ok" and seconds and seconds * batch / smaller > limit:
        expected = seconds * batch / smaller
        reason = f"> {limit:g} s: about {expected:.0f} s by {seconds:.1f} s for batch {smaller}"
        return {"status": "skipped", "timings": [], "error": reason}
    return None


def records_of(
    suite: Suite, case: str, batch: int, before: list[dict[str, Any]], pythons: Pythons, args: argparse.Namespace
) -> list[dict[str, Any]]:
    """One record for each peer."""
    records = []
    for peer in args.peers:
        progress(f"{case}, batch {batch}: {peer}")
        same = [old for old in before if (old["case"], old["peer"]) == (case, peer) and old["batch"] < batch]
        record = out_of_reach(same[-1], batch, args.timeout) if same and suite.extrapolate else None
        record = record or measure(suite, case, batch, peer, pythons, args)
        entry = suite.peers[peer]
        records.append({"case": case, "batch": batch, "peer": peer, "settings": entry.settings, **record})
    return records


def main(suite: Suite, description: str | None) -> None:
    args = parse(suite, description)
    cases = chosen_cases(suite, args)
    names = list(dict.fromkeys(name for name, _ in cases))
    pythons = Pythons(ENVIRONMENTS, args.foresolve_python, args.refresh)
    ensure_inputs(suite, names, pythons, args)
    summaries = [suite.summary(name) for name in names]
    report: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "timeout": args.timeout,
        "threads": args.threads,
        "references": [json.loads(summary.read_text()) for summary in summaries if summary.exists()],
        "records": [],
    }
    for case, batch in cases:
        records = records_of(suite, case, batch, report["records"], pythons, args)
        report["records"] += records
        print(as_text(f"{case}, batch {batch}", rows(records)), flush=True)
        write_results(args.out, report, page(suite.title, report), all_rows(report["records"]))
    if not args.ours:
        run_module(pythons["reference"], f"{HERE}.plot", args.out / "results.json", args.out)
    print(f"written to {args.out}")

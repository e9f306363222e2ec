"""foresolve and others on the same saved inputs, in one go: `python -m benchmarks.submodular.run`.

Every (batch, contender) runs alone, in a process of its own, the contenders of a batch one after another. Only
apricot-select needs an environment of its own; the rest run where foresolve is installed.
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
from benchmarks._harness.tables import as_csv, as_text
from benchmarks._harness.timing import medians
from benchmarks.submodular import catalogue
from benchmarks.submodular.tables import all_rows, greedy_rows, layer_rows, page


def parse() -> argparse.Namespace:
    parser = options(__doc__, "submodular", timeout=120.0)
    parser.add_argument("--batches", type=int, nargs="+", metavar="B", help=f"at most {max(catalogue.BATCHES)}")
    parser.add_argument("--peers", nargs="*", choices=list(catalogue.PEERS), default=list(catalogue.PEERS))
    parser.add_argument(
        "--greedy", nargs="*", choices=list(catalogue.GREEDY_CASES), help="which greedy cases; none: `--greedy`"
    )
    args = parsed(parser)
    args.batches = args.batches or (catalogue.QUICK_BATCHES if args.quick else catalogue.BATCHES)
    if not all(1 <= batch <= max(catalogue.BATCHES) for batch in args.batches):
        raise SystemExit(f"the batch size must be between 1 and {max(catalogue.BATCHES)}")
    if args.greedy is None:
        args.greedy = list(catalogue.QUICK_GREEDY if args.quick else catalogue.GREEDY_CASES)
    if args.ours:
        args.peers = ["foresolve"]
    return args


def measured(python: Path, module: str, arguments: list[str], args: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        limits = Limits(args.timeout, args.threads)
        return record_of(python, f"benchmarks.submodular.{module}", arguments, limits, Path(folder))


def measure_layer(batch: int, peer: str, pythons: Pythons, args: argparse.Namespace) -> dict[str, Any]:
    record = measured(pythons["foresolve"], "worker", ["--peer", peer, "--batch", str(batch)], args)
    if timings := record["timings"]:
        # The first call also warms the machine up (threads, pages): it counts only where there is no other.
        record["each"] = medians(timings[1:] or timings, record["instances"])
        record["first"] = [part / record["instances"] for part in timings[0]]
    return {"batch": batch, "peer": peer, **record}


def measure_greedy(case: str, peer: str, pythons: Pythons, args: argparse.Namespace) -> dict[str, Any]:
    record = measured(pythons[peer], "greedy", ["--peer", peer, "--case", case], args)
    del record["timings"]
    return {"case": case, "peer": peer, **record}


def numpy_agreement(records: list[dict[str, Any]]) -> float | None:
    """Relative difference between the gradients of the two NumPy recipes, of the first instance."""
    first = [record for record in records if record["batch"] == records[0]["batch"]]
    sums = {record["peer"]: record.get("checksum_0") for record in first}
    published, adjoint = sums.get("published"), sums.get("numpy-adjoint")
    return None if not published or not adjoint else abs(published - adjoint) / abs(published)


def save(args: argparse.Namespace, report: dict[str, Any]) -> None:
    report["numpy_agreement"] = numpy_agreement(report["layer"])
    write_results(args.out, report, page(report), all_rows(report))
    if report["greedy"]:
        (args.out / "greedy.csv").write_text(as_csv(greedy_rows(report["greedy"])))


def main() -> None:
    args = parse()
    pythons = Pythons(catalogue.ENVIRONMENTS, args.foresolve_python, args.refresh)
    if args.refresh or not (catalogue.CASES_DIR / "complete").exists():
        print("generating the inputs and the references ...", flush=True)
        run_module(pythons["foresolve"], "benchmarks.submodular.cases")
    report: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "timeout": args.timeout,
        "threads": args.threads,
        "items": catalogue.CHANNELS,
        "targets": catalogue.CUSTOMERS,
        "k": catalogue.K,
        "gamma": catalogue.GAMMA,
        "reference": json.loads((catalogue.CASES_DIR / "reference.json").read_text()),
        "settings": {name: peer.settings for name, peer in catalogue.PEERS.items() if name in args.peers},
        "layer": [],
        "greedy": [],
    }
    for batch in args.batches if args.peers else ():
        records = []
        for peer in args.peers:
            progress(f"batch {batch}: {peer}")
            records.append(measure_layer(batch, peer, pythons, args))
        report["layer"] += records
        print(as_text(f"forward and backward, per instance, batch {batch}", layer_rows(records)), flush=True)
        save(args, report)
    for case in args.greedy:
        for peer in ("foresolve",) if args.ours else catalogue.GREEDY_PEERS:
            progress(f"greedy, {case}: {peer}")
            report["greedy"].append(measure_greedy(case, peer, pythons, args))
        save(args, report)
    if args.greedy:
        print(as_text("greedy", greedy_rows(report["greedy"])), flush=True)
    print(f"written to {args.out}")


if __name__ == "__main__":
    main()

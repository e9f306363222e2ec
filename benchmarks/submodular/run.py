"""foresolve and others on the same saved inputs, in one go: `python benchmarks/submodular/run.py`.

Every (batch, contender) runs alone, in a process of its own, the contenders of a batch one after another. Only
apricot-select needs an environment of its own; the rest run where foresolve is installed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from catalogue import (
    BATCHES,
    BENCHMARKS,
    CASES_DIR,
    CHANNELS,
    CUSTOMERS,
    GAMMA,
    GREEDY_CASES,
    GREEDY_PEERS,
    PEERS,
    QUICK_BATCHES,
    QUICK_GREEDY,
    SUBMODULAR,
    K,
)
from environments import ensure
from tables import as_markdown, as_text, greedy_rows, layer_rows

IMPORT_SECONDS = 30.0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, nargs="+", metavar="B", help=f"at most {max(BATCHES)}")
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--greedy", nargs="*", choices=list(GREEDY_CASES), help="which greedy cases; none: `--greedy`")
    parser.add_argument("--quick", action="store_true", help="batch 1 and 32, the smallest greedy case")
    parser.add_argument("--out", type=Path, default=BENCHMARKS / "results" / "submodular")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds per contender and case")
    parser.add_argument("--threads", type=int, help="threads for every contender (default: their own choice)")
    parser.add_argument("--foresolve-python", type=Path, help="use this Python for foresolve, build none")
    parser.add_argument("--refresh", action="store_true", help="rebuild the environments and the cases")
    return parser.parse_args()


def child(command: list[str], args: argparse.Namespace) -> dict[str, Any]:
    """The record that a worker writes, whatever becomes of the worker."""
    environ = dict(os.environ)
    if args.threads:
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
        environ.update({name: str(args.threads) for name in names})
    limit = args.timeout + IMPORT_SECONDS
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "record.json"
        try:
            done = subprocess.run(
                [*command, "--budget", str(args.timeout), "--out", str(out)],
                capture_output=True,
                text=True,
                timeout=limit,
                env=environ,
            )
            ended = {"status": "failed", "error": f"exit status {done.returncode}: {done.stderr.strip()[-300:]}"}
        except subprocess.TimeoutExpired:
            ended = {"status": "timeout", "error": f"stopped after {limit:g} s, imports included"}
        record = json.loads(out.read_text()) if out.exists() else dict(ended)
        if record["status"] == "started":
            record.update(ended)
    return record


def measure(batch: int, peer: str, python: Path, args: argparse.Namespace) -> dict[str, Any]:
    command = [str(python), str(SUBMODULAR / "worker.py"), "--peer", peer, "--batch", str(batch)]
    record = child(command, args)
    if timings := record.get("timings"):
        # The first call also warms the machine up (threads, pages): it counts only where there is no other.
        fresh, count = timings[1:] or timings, record["instances"]
        record["each"] = {
            "forward": statistics.median(forward for forward, _ in fresh) / count,
            "backward": statistics.median(backward for _, backward in fresh) / count,
            "total": statistics.median(map(sum, fresh)) / count,
            "calls": len(fresh),
        }
        record["first"] = [part / count for part in timings[0]]
    return {"batch": batch, "peer": peer, **record}


def numpy_agreement(records: list[dict[str, Any]]) -> float | None:
    """Relative difference between the gradients of the two NumPy recipes, of the first instance."""
    sums = {record["peer"]: record.get("checksum_0") for record in records if record["batch"] == records[0]["batch"]}
    one, other = sums.get("published"), sums.get("numpy-adjoint")
    return None if not one or not other else abs(one - other) / abs(one)


def machine() -> dict[str, Any]:
    cpu = platform.processor()
    if (info := Path("/proc/cpuinfo")).exists():
        models = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line]
        cpu = models[0] if models else cpu
    return {"cpu": cpu, "cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}


def main() -> None:
    args = parse()
    batches = args.batches or (QUICK_BATCHES if args.quick else BATCHES)
    if not all(1 <= batch <= max(BATCHES) for batch in batches):
        raise SystemExit(f"the batch size must be between 1 and {max(BATCHES)}")
    cases = args.greedy if args.greedy is not None else list(QUICK_GREEDY if args.quick else GREEDY_CASES)
    pythons = {"foresolve": args.foresolve_python or ensure("foresolve", args.refresh)}
    if cases:
        pythons["apricot"] = ensure("apricot", args.refresh)
    if args.refresh or not (CASES_DIR / "complete").exists():
        print("generating the inputs and the references ...", flush=True)
        subprocess.run([pythons["foresolve"], SUBMODULAR / "cases.py"], check=True)
    report: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "timeout": args.timeout,
        "threads": args.threads,
        "items": CHANNELS,
        "targets": CUSTOMERS,
        "k": K,
        "gamma": GAMMA,
        "reference": json.loads((CASES_DIR / "reference.json").read_text()),
        "settings": {name: peer.settings for name, peer in PEERS.items() if name in args.peers},
        "layer": [],
        "greedy": [],
    }
    args.out.mkdir(parents=True, exist_ok=True)

    def save() -> None:
        report["numpy_agreement"] = numpy_agreement(report["layer"]) if report["layer"] else None
        (args.out / "results.json").write_text(json.dumps(report, indent=1) + "\n")
        (args.out / "results.md").write_text(as_markdown(report))

    def progress(what: str) -> None:
        if sys.stdout.isatty():
            print(f"  {what} ...".ljust(70), end="\r", flush=True)

    for batch in batches if args.peers else ():
        records = []
        for peer in args.peers:
            progress(f"batch {batch}: {peer}")
            records.append(measure(batch, peer, pythons["foresolve"], args))
        report["layer"] += records
        print(as_text(f"forward and backward, per instance, batch {batch}", layer_rows(records)), flush=True)
        save()
    for case in cases:
        for peer in GREEDY_PEERS:
            progress(f"greedy, {case}: {peer}")
            command = [str(pythons[peer]), str(SUBMODULAR / "greedy.py"), "--peer", peer, "--case", case]
            report["greedy"].append({"case": case, "peer": peer, **child(command, args)})
        save()
    if cases:
        print(as_text("greedy", greedy_rows(report["greedy"])), flush=True)
    print(f"written to {args.out}")


if __name__ == "__main__":
    main()

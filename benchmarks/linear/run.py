"""foresolve and its peers on the same saved inputs, in one go: `python benchmarks/linear/run.py`.

Needs nothing but Python: it builds one environment per peer, generates the cases and their references, then
runs every (case, peer) alone, in a process of its own, the peers of a case one after another.
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
    ENVIRONMENTS,
    LINEAR,
    PEERS,
    PROBLEMS,
    QUICK_BATCHES,
    QUICK_PROBLEMS,
)
from environments import ensure
from tables import as_markdown, as_text

IMPORT_SECONDS = 30.0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", metavar="NAME[:BATCH]", help=f"among {', '.join(PROBLEMS)}")
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--quick", action="store_true", help="the two smallest problems, batch 1 and 8")
    parser.add_argument("--out", type=Path, default=BENCHMARKS / "results" / "linear")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds per peer and case")
    parser.add_argument("--memory-limit", type=float, default=14.0, help="GB per peer and case")
    parser.add_argument("--threads", type=int, help="threads for every peer (default: their own choice)")
    parser.add_argument("--foresolve-python", type=Path, help="use this Python for foresolve, build none")
    parser.add_argument("--refresh", action="store_true", help="rebuild the environments and the cases")
    return parser.parse_args()


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


def ensure_inputs(names: list[str], python: Path, refresh: bool) -> None:
    for name in names:
        if refresh or not (CASES_DIR / f"{name}.reference.npz").exists():
            print(f"generating {name} and its reference ...", flush=True)
            # The reference solves small systems one at a time: more threads only get in each other's way.
            single = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            for script in ("cases.py", "reference.py"):
                subprocess.run([python, LINEAR / script, name], check=True, env=single)


def measure(case: str, batch: int, peer: str, pythons: dict[str, Path], args: argparse.Namespace) -> dict[str, Any]:
    entry = PEERS[peer]
    environ = dict(os.environ)
    if args.threads:
        environ.update({key: str(args.threads) for key in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")})
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "record.json"
        command = [str(pythons[entry.environment]), str(LINEAR / "worker.py")]
        command += ["--module", entry.module, "--options", json.dumps(entry.options), "--case", case]
        command += ["--batch", str(batch), "--budget", str(args.timeout), "--out", str(out)]
        command += ["--memory-limit", str(args.memory_limit)]
        timed_out = False
        limit = args.timeout + IMPORT_SECONDS
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=environ)
            code, stderr = done.returncode, done.stderr
        except subprocess.TimeoutExpired:
            code, stderr, timed_out = -1, "", True
        record = json.loads(out.read_text()) if out.exists() else {"status": "failed", "timings": []}
        if timed_out:
            record.update(status="timeout", error=f"stopped after {limit:g} s, imports included")
        elif record["status"] != "ok" and "error" not in record:
            record.update(
                status="failed",
                error=f"exit status {code} (limit {args.memory_limit:g} GB): {stderr.strip()[-300:]}",
            )
        saved = out.with_suffix(".npz")
        if record["timings"] and saved.exists():
            check = [str(pythons["reference"]), str(LINEAR / "accuracy.py"), case, str(batch), str(saved)]
            record.update(json.loads(subprocess.run(check, check=True, capture_output=True, text=True).stdout))
    timings = record["timings"]
    if timings:
        record["cold"] = {"forward": timings[0][0], "backward": timings[0][1], "total": sum(timings[0])}
    if fresh := timings[1:]:
        record["fresh"] = {
            "forward": statistics.median(forward for forward, _ in fresh),
            "backward": statistics.median(backward for _, backward in fresh),
            "total": statistics.median(map(sum, fresh)),
            "calls": len(fresh),
        }
    return {"case": case, "batch": batch, "peer": peer, "settings": entry.settings, **record}


def machine() -> dict[str, Any]:
    cpu = platform.processor()
    if (info := Path("/proc/cpuinfo")).exists():
        models = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line]
        cpu = models[0] if models else cpu
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.system(),
    }


def main() -> None:
    args = parse()
    cases = chosen_cases(args)
    needed = {"reference", *(PEERS[peer].environment for peer in args.peers)}
    pythons = {
        name: args.foresolve_python if name == "foresolve" and args.foresolve_python else ensure(name, args.refresh)
        for name in ENVIRONMENTS
        if name in needed
    }
    ensure_inputs(list(dict.fromkeys(name for name, _ in cases)), pythons["reference"], args.refresh)
    args.out.mkdir(parents=True, exist_ok=True)
    report: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "timeout": args.timeout,
        "threads": args.threads,
        "references": [
            json.loads((CASES_DIR / f"{name}.reference.json").read_text())
            for name in dict.fromkeys(name for name, _ in cases)
        ],
        "records": [],
    }
    for case, batch in cases:
        records = []
        for peer in args.peers:
            if sys.stdout.isatty():
                print(f"  {case}, batch {batch}: {peer} ...".ljust(70), end="\r", flush=True)
            records.append(measure(case, batch, peer, pythons, args))
        report["records"] += records
        print(as_text(records), flush=True)
        (args.out / "results.json").write_text(json.dumps(report, indent=1) + "\n")
        (args.out / "results.md").write_text(as_markdown(report))
    plot = [str(pythons["reference"]), str(LINEAR / "plot.py"), str(args.out / "results.json"), str(args.out)]
    subprocess.run(plot, check=True)
    print(f"written to {args.out}")


if __name__ == "__main__":
    main()

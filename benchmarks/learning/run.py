"""Every training method of foresolve, and PyEPO's, on the same saved instances: `python benchmarks/learning/run.py`.

Shortest paths on a 5 x 5 grid, generated as in Elmachtoub and Grigas; a linear model, one set of defaults for all
methods. Each (method, seed) runs alone, in a process of its own.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import platform
import statistics
import subprocess
from pathlib import Path
from typing import Any

from catalogue import BATCH, BENCHMARKS, CASES_DIR, EPOCHS, FIRST_SEED, FORESOLVE, LEARNING, PYEPO, RATE
from environments import ensure

T95 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--slow-seeds", type=int, default=3, help="for methods that take more than a minute a seed")
    parser.add_argument("--methods", nargs="*", default=list(FORESOLVE))
    parser.add_argument("--pyepo", nargs="*", default=list(PYEPO), help="which of PyEPO's; none: `--pyepo`")
    parser.add_argument("--out", type=Path, default=BENCHMARKS / "results" / "learning")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one method and seed")
    parser.add_argument("--foresolve-python", type=Path, help="use this Python for foresolve, build none")
    return parser.parse_args()


def worker(python: Path, script: str, *arguments: str, timeout: float) -> dict[str, Any]:
    command = [str(python), str(LEARNING / script), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=LEARNING)
    except subprocess.TimeoutExpired:
        return {"error": f"more than {timeout:g} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return {"error": (done.stderr.strip().splitlines() or ["no output"])[-1]}
    return json.loads(lines[-1])


def run(package: str, method: str, python: Path, args: argparse.Namespace, cases: list[Path]) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for seed, case in enumerate(cases):
        if seed >= args.slow_seeds and records[0].get("epoch_s", 0.0) * EPOCHS > 60:
            break
        found = worker(python, f"{package}_worker.py", method, str(seed), str(case), timeout=args.timeout)
        records.append({"package": package, "method": method, "seed": seed} | found)
        if "error" in found:
            break
    print(line(records), flush=True)
    return records


def summary(records: list[dict[str, Any]]) -> dict[str, Any]:
    regrets = [100 * record["regret"] for record in records if "regret" in record]
    seconds = [record["epoch_s"] for record in records if "epoch_s" in record]
    half = math.nan
    if len(regrets) > 1:
        half = T95.get(len(regrets) - 1, 1.96) * statistics.stdev(regrets) / math.sqrt(len(regrets))
    return {
        "package": records[0]["package"], "method": records[0]["method"], "seeds": len(regrets),
        "regret": statistics.mean(regrets) if regrets else math.nan, "half": half,
        "epoch_s": statistics.median(seconds) if seconds else math.nan,
        "error": next((record["error"] for record in records if "error" in record), ""),
    }  # fmt: skip


def line(records: list[dict[str, Any]]) -> str:
    s = summary(records)
    text = f"{s['package']:<10}{s['method']:<32}{s['regret']:6.2f} % +- {s['half']:4.2f}  {s['seeds']:2d} seeds"
    return text + f"  {1e3 * s['epoch_s']:9.1f} ms an epoch  {s['error']}"


def markdown(groups: list[list[dict[str, Any]]], facts: dict[str, Any]) -> str:
    rows = [summary(records) for records in groups]
    peers = {row["method"]: row for row in rows if row["package"] == "pyepo"}
    lines = [
        f"{facts['date']}, {facts['machine']}, Python {facts['python']}; {EPOCHS} epochs, batch {BATCH}, Adam {RATE}.",
        "",
        "| method | normalised test regret | seeds | ms an epoch | PyEPO regret | PyEPO ms an epoch | ratio |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in sorted((row for row in rows if row["package"] == "foresolve"), key=lambda row: row["regret"]):
        peer = peers.get(row["method"])
        cells = [row["method"], f"{row['regret']:.2f} % ± {row['half']:.2f}", str(row["seeds"])]
        cells.append("" if math.isnan(row["epoch_s"]) else f"{1e3 * row['epoch_s']:.0f}")
        if peer:
            cells += [f"{peer['regret']:.2f} % ± {peer['half']:.2f}", f"{1e3 * peer['epoch_s']:.0f}"]
            cells.append(f"{peer['epoch_s'] / row['epoch_s']:.1f}x")
        else:
            cells += ["", "", row["error"]]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    args = parse()
    ours = args.foresolve_python.absolute() if args.foresolve_python else ensure("foresolve")
    theirs = ensure("pyepo") if args.pyepo else None
    CASES_DIR.mkdir(parents=True, exist_ok=True)
    cases = []
    for seed in range(FIRST_SEED, FIRST_SEED + args.seeds):
        path = CASES_DIR / f"shortest-path-{seed}.npz"
        if not path.exists():
            subprocess.run([str(ours), str(LEARNING / "cases.py"), str(seed), str(path)], check=True, cwd=LEARNING)
        cases.append(path)
    facts = {
        "date": datetime.date.today().isoformat(),
        "machine": platform.machine(),
        "python": platform.python_version(),
    }
    args.out.mkdir(parents=True, exist_ok=True)
    groups = []
    for method in args.methods:  # a method's two implementations one after the other
        groups.append(run("foresolve", method, ours, args, cases))
        if theirs is not None and method in args.pyepo:
            groups.append(run("pyepo", method, theirs, args, cases))
        (args.out / "results.json").write_text(json.dumps({"facts": facts, "records": groups}, indent=1) + "\n")
        (args.out / "results.md").write_text(markdown(groups, facts))
    print(args.out / "results.md")


if __name__ == "__main__":
    main()

"""Did this change make anything slower? `python benchmarks/compare.py OLD_SRC NEW_SRC`.

Runs the same saved inputs against two source trees of foresolve (folders that hold the package, such as a worktree's
`src`), each in a process of its own that stays alive, in turns: old, new, new, old, ... Prints the median time of both,
the ratio new / old (of the medians, of the best calls, lowest and highest of the rounds), and the largest difference
between their answers (0: to the bit).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks._harness.places import REPOSITORY
from benchmarks._harness.processes import environment
from benchmarks._harness.tables import Row, as_markdown, as_text, error, seconds
from benchmarks.comparison.cases import CASES

HEADER = ("case", "old", "new", "new / old", "of the best", "lowest round", "highest round", "difference", "note")
# Slower or faster only where every round says so.
NOTICEABLE = 1.05


class Tree:
    """A worker on one source tree."""

    def __init__(self, source: Path, python: Path, threads: int) -> None:
        if not (source / "foresolve" / "__init__.py").exists():
            raise SystemExit(f"{source} must be a folder that holds the package foresolve")
        environ = environment(threads) | {"PYTHONPATH": os.pathsep.join([str(source.resolve()), str(REPOSITORY)])}
        self._process = subprocess.Popen(
            [str(python), "-m", "benchmarks.comparison.worker"],
            cwd=REPOSITORY,
            env=environ,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps(request), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else {"error": f"the worker ended with status {self._process.wait()}"}

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


def difference(paths: list[Path]) -> float:
    """Largest absolute difference; infinite where the shapes differ."""
    with np.load(paths[0]) as old, np.load(paths[1]) as new:
        if {key: old[key].shape for key in old} != {key: new[key].shape for key in new}:
            return float("inf")
        return max(float(np.abs(old[key].astype(float) - new[key]).max(initial=0.0)) for key in old)


def measure(case: str, trees: list[Tree], folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    """The times of every round in both trees, or what went wrong."""
    paths = [folder / f"{side}.npz" for side in ("old", "new")]
    for side, tree, path in zip(("old", "new"), trees, paths, strict=True):
        if "error" in (answer := tree.ask(case=case, answers=str(path))):
            return {"case": case, "error": f"{side}: {answer['error']}"}
    rounds: list[list[list[float]]] = [[], []]
    for number in range(args.rounds):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            rounds[side].append(trees[side].ask(seconds=args.seconds, cpu=args.cpu)["times"])
    return {"case": case, "old": rounds[0], "new": rounds[1], "difference": difference(paths)}


def row(record: dict[str, Any]) -> Row:
    if "error" in record:
        return (record["case"], *["-"] * (len(HEADER) - 2), " ".join(record["error"].split())[:110])
    old, new = ([time for times in record[side] for time in times] for side in ("old", "new"))
    medians = statistics.median(old), statistics.median(new)
    each = [statistics.median(b) / statistics.median(a) for a, b in zip(record["old"], record["new"], strict=True)]
    note = "slower" if min(each) > NOTICEABLE else "faster" if max(each) < 1 / NOTICEABLE else ""
    ratios = (f"{value:.2f}" for value in (medians[1] / medians[0], min(new) / min(old), min(each), max(each)))
    gap = record["difference"]
    return (record["case"], *map(seconds, medians), *ratios, "0" if gap == 0 else error(gap), note)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="folder that holds the package, before")
    parser.add_argument("new", type=Path, help="the same, after")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="the cases whose names contain one of these")
    parser.add_argument("--rounds", type=int, default=5, help="of both trees (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0, help="a tree and round (default %(default)g)")
    parser.add_argument("--threads", type=int, default=1, help="of each process (default %(default)s: steadier)")
    parser.add_argument("--cpu", action="store_true", help="time of the processor, for a machine that is not quiet")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="runs both trees")
    parser.add_argument("--out", type=Path, help="write all times as JSON")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    return parser.parse_args()


def main() -> None:
    args = parse()
    cases = [name for name in CASES if not args.only or any(text in name for text in args.only)]
    if args.list or not cases:
        raise SystemExit("\n".join(["the cases are:", *CASES]))
    trees = [Tree(source, args.python, args.threads) for source in (args.old, args.new)]
    records = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            records.append(measure(case, trees, Path(folder), args))
            print(f"{case}: {' '.join(row(records[-1])[3:])}", file=sys.stderr, flush=True)
    for tree in trees:
        tree.close()
    rows = [HEADER, *map(row, records)]
    print("\n".join(as_markdown(rows)) if args.markdown else as_text(f"{args.old} and {args.new}", rows))
    if args.out:
        args.out.write_text(json.dumps(records, indent=1) + "\n")


if __name__ == "__main__":
    main()

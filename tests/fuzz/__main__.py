"""`python -m tests.fuzz`: see `--help`; exit status 1 where an input was not refused or read as it should be."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz import report
from tests.fuzz.kinds import KINDS
from tests.fuzz.runner import run
from tests.fuzz.worker import SECONDS, Bench

OUT = Path("stress-runs/fuzz.json")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Damaged files, by the thousand.")
    parser.add_argument("--only", nargs="*", default=[], help="kinds by a part of their name")
    parser.add_argument("--count", type=int, default=1000, help="inputs of each kind")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--limit", type=float, default=SECONDS, help="seconds after which an input is a hang")
    parser.add_argument("--out", type=Path, default=OUT, help="JSON with counts and failures with their seeds")
    parser.add_argument("--page", type=Path, help="put the table of `--out` into this page, and run nothing")
    parser.add_argument("--replay", nargs=2, metavar=("KIND", "SEED"), help="one input again, in words")
    options = parser.parse_args()
    if options.page:
        report.write_page(json.loads(options.out.read_text(encoding="utf-8")), options.page)
        return 0
    if options.replay:
        with tempfile.TemporaryDirectory() as folder:
            print(Bench(KINDS[options.replay[0]], Path(folder)).run(int(options.replay[1]), options.limit))
        return 0
    kinds = [kind for kind in KINDS if not options.only or any(part in kind for part in options.only)]
    began, results = time.monotonic(), []
    for result in run(kinds, options.count, options.first_seed, options.jobs, options.limit):
        results.append(result)
        if result[1]["verdict"] not in report.FINE:
            print(f"\n{result[0]}: {result[1]}", file=sys.stderr)
        if len(results) % 250 == 0:
            print(f"\r{len(results):,} of {len(kinds) * options.count:,} inputs ", end="", file=sys.stderr)
    print(file=sys.stderr)
    minutes = round((time.monotonic() - began) / 60, 2)
    record = report.counted(results, {"first seed": options.first_seed, "count": options.count, "minutes": minutes})
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(record, indent=1), encoding="utf-8")
    print(report.table(record))
    print(report.listed(record))
    return 1 if record["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())

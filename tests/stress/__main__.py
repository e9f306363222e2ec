"""`python -m tests.stress`: see `--help`; exit status 1 where an instance failed."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.stress import report
from tests.stress.kinds import KINDS
from tests.stress.runner import LIMIT, Job, run, run_one

OUT = Path("stress-runs/last.json")


def jobs(kinds: list[str], draws: int, first: int) -> Iterator[Job]:
    """`draws` of each kind with share 1, in turns, so that a run that is stopped has seen all kinds."""
    for step in range(draws):
        for kind in kinds:
            share = KINDS[kind].share
            for seed in range(int(step * share), int((step + 1) * share)):
                yield kind, first + seed


def replay(kind: str, seed: int) -> int:
    """One draw in this process, in words."""
    rng = KINDS[kind].generator(seed)
    print(KINDS[kind].build(rng))
    result = run_one(kind, seed)
    for verdict in result.verdicts:
        print(f"instance {verdict.instance}, {verdict.part}: {verdict.outcome}, {verdict.error:.3g} {verdict.note}")
    print(result.broken or f"{result.seconds:.2f} s")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.stress", description="Random instances against references.")
    parser.add_argument("--only", nargs="*", default=[], help="kinds by a part of their name")
    parser.add_argument("--draws", type=int, default=300, help="draws of each kind (of two to three instances each)")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds after which a draw is a hang")
    parser.add_argument("--minutes", type=float, default=None, help="stop after so many")
    parser.add_argument("--out", type=Path, default=OUT, help="JSON with counts, failures, seeds and versions")
    parser.add_argument("--page", type=Path, help="put the table of `--out` into this page, and run nothing")
    parser.add_argument("--kind", help="with --replay: one draw, in words")
    parser.add_argument("--replay", type=int, metavar="SEED")
    parser.add_argument("--list", action="store_true", help="the kinds")
    options = parser.parse_args()
    if options.list:
        print("\n".join(KINDS))
        return 0
    if options.page:
        report.write_page(json.loads(options.out.read_text(encoding="utf-8")), options.page)
        return 0
    if options.replay is not None:
        return replay(options.kind, options.replay)
    record = stress(options)
    report.save(record, options.out)
    print(report.as_text(record))
    print(report.listed(record))
    return 1 if record["failures"] else 0


def stress(options: argparse.Namespace) -> dict:
    """All draws; progress goes to stderr."""
    kinds, started = report.chosen(options.only), time.monotonic()
    todo = list(jobs(kinds, options.draws, options.first_seed))
    tally = report.Tally({"first seed": options.first_seed, "draws": options.draws, "kinds": options.only or "all"})
    for done, result in enumerate(run(todo, options.jobs, options.limit), 1):
        tally.add(result)
        minutes = (time.monotonic() - started) / 60
        if done % 100 == 0:
            failures = f"{len(tally.failures)} failures"
            print(f"\r{done:,} of {len(todo):,} draws, {minutes:.1f} min, {failures} ", end="", file=sys.stderr)
        if options.minutes is not None and minutes > options.minutes:
            break
    print(file=sys.stderr)
    tally.settings["minutes"] = round((time.monotonic() - started) / 60, 2)
    return tally.record()


if __name__ == "__main__":
    sys.exit(main())

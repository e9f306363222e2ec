"""`python -m tests.kill`: see `--help`; exit status 1 where something was lost."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from tests.kill import report, shell
from tests.kill.campaign import Arena, Outcome
from tests.kill.victims import GROUPS, VICTIMS

OUT = Path("kill-runs/last.json")
EACH, OF_CREWS = 4, 13  # kills of a folder before it may end; where workers are killed too


def chosen(parts: list[str]) -> list[str]:
    """Victims by a part of their names."""
    return [name for name in VICTIMS if not parts or any(part in name for part in parts)]


def shares(names: list[str], kills: int) -> dict[str, int]:
    """How many kills each victim is due, so that its group has `kills`."""
    counts = {group: sum(VICTIMS[name].group == group for name in names) for group in GROUPS}
    return {name: -(-kills // counts[VICTIMS[name].group]) for name in names}


def campaign(arena: Arena, name: str, kills: int, first: int) -> Iterator[Outcome]:
    """Folders of a victim until it was killed so often; no more after a failure."""
    seed = first
    while kills > 0:
        outcome = arena.attack(name, seed, min(OF_CREWS if VICTIMS[name].crew else EACH, kills))
        yield outcome
        if outcome.failures:
            return
        kills, seed = kills - outcome.kills - outcome.workers, seed + 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kill", description="Kills at random moments.")
    parser.add_argument("--only", nargs="*", default=[], help="victims by a part of their name")
    parser.add_argument("--kills", type=int, default=52, help="of each group")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="victims at a time")
    parser.add_argument("--out", type=Path, default=OUT, help="JSON with counts, failures, seeds and versions")
    parser.add_argument("--page", type=Path, help="put the table of `--out` into this page, and kill nothing")
    parser.add_argument("--list", action="store_true", help="the victims")
    options = parser.parse_args()
    if options.list:
        print("\n".join(VICTIMS))
        return 0
    if options.page:
        report.write_page(json.loads(options.out.read_text(encoding="utf-8")), options.page)
        return 0
    folder = Path(tempfile.mkdtemp(prefix="foresolve-kill-"))
    record = attack(options, folder)
    report.save(record, options.out)
    print(report.as_text(record))
    if record["failures"]:
        print(f"what is left of them is in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


def attack(options: argparse.Namespace, folder: Path) -> dict:
    """All victims; progress goes to stderr."""
    names, began = chosen(options.only), time.monotonic()
    shell.prepare(folder / "shared")
    arena = Arena(folder)
    if any(VICTIMS[name].group == "decide" for name in names):
        arena.once(shell.prepare_run)
    outcomes: list[Outcome] = []
    due = shares(names, options.kills)
    with ThreadPoolExecutor(options.jobs) as pool:
        tasks = [pool.submit(lambda name: list(campaign(arena, name, due[name], options.first_seed)), name)
                 for name in names]  # fmt: skip
        for task in as_completed(tasks):
            outcomes += task.result()
            last = outcomes[-1]
            print(f"{last.victim}: {'; '.join(last.failures) or 'done'}", file=sys.stderr)
    return report.record(names, outcomes, options.first_seed, time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main())

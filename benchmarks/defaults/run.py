"""`python -m benchmarks.defaults.run`: every setting with every seed; what is there already is not run again."""

from __future__ import annotations

import argparse
import json
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from benchmarks._harness import places
from benchmarks.defaults.methods import study, units
from benchmarks.defaults.settings import SETTINGS, Setting
from benchmarks.defaults.tables import write

RECORDS = "records.jsonl"
FIRST_SEED = 10  # the defaults were chosen on the first four seeds of these settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--settings", nargs="+", help="parts of their names; all by default")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=places.runs("defaults"))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after which no job is begun")
    parser.add_argument("--page", type=Path, help="a page to put the tables into, such as docs/defaults.md")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / RECORDS
    known = {(r["setting"], r["seed"], r["unit"]) for r in read(path)}
    chosen = [setting for setting in SETTINGS if any(part in setting.name for part in given.settings or [""])]
    every = [
        (setting.name, seed, unit)
        for seed in range(FIRST_SEED, FIRST_SEED + given.seeds)
        for setting in chosen
        for unit in units(setting)
    ]
    jobs = [job for job in every if job not in known]
    deadline = time.time() + given.seconds
    with ProcessPoolExecutor(given.jobs, initializer=single_thread) as pool:
        futures = {pool.submit(work, *job, deadline): job for job in jobs}
        for done, future in enumerate(as_completed(futures), 1):
            records = future.result()
            with path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(record) + "\n" for record in records)
            print(f"{done} of {len(jobs)}: {', '.join(map(str, futures[future]))}{'' if records else ': left out'}")
    if records := read(path):
        write(records, given.out, given.page)


def single_thread() -> None:
    os.environ["OMP_NUM_THREADS"] = "1"


def work(name: str, seed: int, unit: str, deadline: float) -> list[dict]:
    return [] if time.time() > deadline else study(find(name), seed, unit)


def find(name: str) -> Setting:
    return next(setting for setting in SETTINGS if setting.name == name)


def read(path: Path) -> list[dict]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()

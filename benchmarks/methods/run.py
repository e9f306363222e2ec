"""`python -m benchmarks.methods.run`: every method on every setting with every seed, regret and time, into a page."""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
import scipy.stats
import torch

import foresolve
from benchmarks._harness import places
from benchmarks.defaults.run import read, single_thread
from benchmarks.defaults.tables import filled
from benchmarks.methods.settings import METHODS, SETTINGS, TWO_STAGE
from foresolve._base.table import Table
from foresolve.errors import ForesolveWarning, InvalidInputError
from foresolve.losses import MSE, why_not

FIRST_SEED = 40  # of no other study of ours
EPOCHS = 100  # of either stage; with 20, two-stage networks are not trained to their end and any method beats them


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--settings", nargs="+", help="parts of their names; all by default")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=places.runs("methods"))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after which no job is begun")
    parser.add_argument("--page", type=Path, help="a page to put the tables into, such as docs/choosing.md")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "records.jsonl"
    known = {(r["setting"], r["seed"], r["method"]) for r in read(path)}
    chosen = [place for place, s in enumerate(SETTINGS) if any(part in s.name for part in given.settings or [""])]
    seeds = range(FIRST_SEED, FIRST_SEED + given.seeds)
    jobs = [(place, seed, name) for seed in seeds for place in chosen for name in (TWO_STAGE, *METHODS)]
    jobs = [job for job in jobs if (SETTINGS[job[0]].name, *job[1:]) not in known]
    deadline = time.time() + given.seconds
    with ProcessPoolExecutor(given.jobs, initializer=single_thread) as pool:
        futures = [pool.submit(work, *job, deadline) for job in jobs]
        try:
            for count, future in enumerate(as_completed(futures), 1):
                if (record := future.result()) is not None:
                    with path.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(record) + "\n")
                    print(f"{count} of {len(jobs)}: {record}", flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    write(read(path), given.page)


def work(place: int, seed: int, name: str, deadline: float) -> dict[str, Any] | None:
    """A record: normalized regret on test data, processor seconds of training; or why the method does not apply."""
    if time.time() > deadline:
        return None
    torch.set_num_threads(1)
    setting = SETTINGS[place]
    record: dict[str, Any] = {"setting": setting.name, "seed": seed, "method": name}
    train, valid, test = setting.split(seed)
    try:
        loss = MSE() if name == TWO_STAGE else METHODS[name](train)
        if reason := why_not(loss, train.problem):
            return record | {"reason": reason}
    except InvalidInputError as error:  # the layer has no such loss
        return record | {"reason": str(error)}
    model, seconds = setting.model(train, seed), 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ForesolveWarning)  # "no epoch was better" is one of the results
        train.solve()
        for stage in [MSE()] if name == TWO_STAGE else [MSE(), loss]:
            began = time.process_time()
            foresolve.fit(model, stage, train, valid, epochs=EPOCHS, seed=seed, progress=False)
            seconds = time.process_time() - began
        report = foresolve.evaluate(model, test, metrics=False, bootstrap=0)
    return record | {"regret": report.normalized_regret, "seconds": seconds}


def write(records: list[dict[str, Any]], page: Path | None) -> None:
    """Means over seeds: the tables of regrets and of seconds."""
    cells: dict[tuple[str, str, str], dict[int, float]] = defaultdict(dict)
    for record in records:
        for column in ("regret", "seconds"):
            if column in record:
                cells[column, record["method"], record["setting"]][record["seed"]] = record[column]
    names = [s.name for s in SETTINGS if ("regret", TWO_STAGE, s.name) in cells]
    methods = (TWO_STAGE, *METHODS)
    least = {
        name: min((cells["regret", method, name] for method in methods if ("regret", method, name) in cells), key=mean)
        for name in names
    }

    def shown(column: str, method: str, name: str) -> str:
        values = cells.get((column, method, name))
        if not values:
            return "-"
        if column == "seconds":
            return f"{mean(values):.1f}"
        return f"**{mean(values):.1%}**" if alike(values, least[name]) else f"{mean(values):.1%}"

    text = "" if page is None else page.read_text(encoding="utf-8")
    for column in ("regret", "seconds"):
        lines = [[method, *(shown(column, method, name) for name in names)] for method in methods]
        table = Table(("", *names), lines, "").markdown()
        print(f"\n{table}")
        text = filled(text, column, table) if page is not None else text
    if page is not None:
        page.write_text(text, encoding="utf-8")


def mean(values: dict[int, float]) -> float:
    return float(np.mean(list(values.values())))


def alike(values: dict[int, float], least: dict[int, float]) -> bool:
    """Whether the seeds do not show that the mean is larger: a paired t test at 95 %."""
    differences = np.array([values[seed] - least[seed] for seed in values.keys() & least.keys()])
    if not differences.any():
        return True
    if len(differences) < 2:
        return False
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    return bool(differences.mean() <= scipy.stats.t.ppf(0.95, len(differences) - 1) * error)


if __name__ == "__main__":
    main()

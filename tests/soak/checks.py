"""All there is to soak, by name; a check takes how many calls to make, and says what it saw or fails."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from tests.soak import endings, processes, steps, threads
from tests.soak.cases import cases


class Check(NamedTuple):
    """What it does, and with how many calls it does it in a whole run."""

    run: Callable[[int], str]
    calls: int


METHODS = ("fork", "spawn")


def checks() -> dict[str, Check]:
    built, listed = cases(), {}
    for name, case in built.items():
        listed[f"decide in {threads.THREADS} threads: {name}"] = Check(partial(threads.decisions, case), case.calls)
    for name in ("matching", "sparse path", "coverage"):
        case = built[name]
        listed[f"step in {threads.THREADS} threads: {name}"] = Check(partial(threads.gradients, case), 2_000)
    for name, case in built.items():
        listed[f"steps of one layer: {name}"] = Check(partial(steps.training, case), case.calls)
    for method in METHODS:
        for name in ("program (HiGHS)", "coverage"):
            pool, loader = processes.pool, processes.loader
            listed[f"pool of processes, {method}: {name}"] = Check(partial(pool, built[name], method=method), 10_000)
            listed[f"DataLoader, {method}: {name}"] = Check(partial(loader, built[name], method=method), 1_000)
    for kind in endings.ENDS:
        listed[f"end of a process: {kind}"] = Check(partial(endings.ending, kind), 5)
    return listed

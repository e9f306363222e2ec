"""Commands of `foresolve`, given again where they were stopped, as users do."""

from __future__ import annotations

import functools
import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from foresolve.cli import main
from foresolve.report.records import Config, Job, JobResult
from tests.kill.bits import Bits

SETTINGS = """
[problem]
kind = "top-k"
file = "{items}"
name = "area"
k = 3
[data]
features = "{features}"
parameters = "{parameters}"
key = "date"
[methods]
references = ["mean", "ridge", "network"]
decision = ["spo+", "boosted spo+"]
[training]
trials = 3
epochs = 12
budget = "1 h"
"""
SHARED = "FORESOLVE_KILL_SHARED"  # a folder made once: a sample, a run, a long file to decide
UNDISTURBED = "undisturbed"  # the name of folders where nothing is killed
LONG = 40  # times the features of the sample


def command(*words: object) -> None:
    """What is typed; an exit status other than 0 is passed on."""
    sys.argv = ["foresolve", *map(str, words)]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise


def shared() -> Path:
    return Path(os.environ[SHARED])


def prepare(folder: Path) -> None:
    """A project, a finished run of it and a long file, for all victims; `SHARED` names the folder."""
    import pandas

    from foresolve.projects.samples.registry import init

    os.environ[SHARED] = str(folder)
    init("top-k", folder / "sample")
    project = folder / "project"
    project.mkdir(parents=True)
    names = {"items": "areas.csv", "features": "features.csv", "parameters": "calls.csv"}
    paths = {key: (folder / "sample" / name).as_posix() for key, name in names.items()}
    (project / "foresolve.toml").write_text(SETTINGS.format(**paths), encoding="utf-8")
    frame = pandas.read_csv(folder / "sample" / "features.csv")
    rows = pandas.concat([frame] * LONG, ignore_index=True)
    rows["date"] = pandas.date_range("1900-01-01", periods=len(rows)).strftime("%Y-%m-%d")
    rows.to_csv(folder / "long.csv", index=False)


def prepare_run(_: Path) -> None:
    """The run that decides."""
    command("train", shared() / "project", "--out", shared() / "run")


def train(folder: Path, *more: object) -> None:
    """`--resume` also where nothing was begun."""
    command("train", shared() / "project", "--out", folder / "run", "--resume", *more)


def train_in_a_hurry(folder: Path) -> None:
    """With a budget that leaves less than was asked for; the undisturbed run is given the plan, and time."""
    from foresolve.learning.study import running

    with pytest.MonkeyPatch.context() as patch:
        if folder.name == UNDISTURBED:  # by the same command, for a run keeps its budget
            patch.setattr(running, "TRAINING", math.inf)
        train(folder, "--budget", "6 s")


@dataclass(frozen=True)
class Decide:
    """`foresolve decide` to a file."""

    name: str

    def __call__(self, folder: Path) -> None:
        command(
            "decide", shared() / "run", "--data", shared() / "long.csv", "--out", folder / self.name, "--chunk", 2000
        )


def whole_or_absent(folder: Path, expected: Bits) -> str:
    """Whether the decisions are all there, or none."""
    from tests.kill.bits import bits_of

    there = {name: digest for name, digest in bits_of(folder).items() if not name.endswith(".part")}
    return "" if there in ({}, expected) else f"a file that is not whole: {', '.join(there)}"


# -- reproduce ---------------------------------------------------------------------------------------------------------


def small_work(config: Config, job: Job, *cache: Any) -> JobResult:
    """A job of a tiny instance; workers are processes of their own, where everything is small too."""
    from foresolve.reproduce.runs.jobs import work

    with pytest.MonkeyPatch.context() as patch:
        from tests.reproduce.tiny import shrink

        shrink(patch, epochs=1)
        return work(config, job, *cache)


def reproduce(folder: Path) -> None:
    """All domains of the paper, so small that it takes seconds; everything else is as it is."""
    from foresolve.reproduce.runs import run
    from tests.reproduce.tiny import shrink

    whole = run.run_all
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch, epochs=1)
        patch.setattr(run, "run_all", functools.partial(whole, work=small_work))
        command("reproduce", "all", "--quick", "--splits", 1, "--k", 2, "--workers", 2, "--out", folder / "runs")

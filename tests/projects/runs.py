"""Runs of seconds, for the tests of this room and of the shell."""

from __future__ import annotations

import re
from pathlib import Path

from foresolve.projects import Project, init

TOML = {"references": '["mean", "ridge"]', "decision": '["spo+"]', "trials": "1", "epochs": "2"}


def quick_project(folder: Path, kind: str = "shortest-path") -> Path:
    """A sample with settings that take no time; the folder."""
    init(kind, folder)
    change(folder, TOML)
    return folder


def change(folder: Path, settings: dict[str, str]) -> None:
    """Other values in a foresolve.toml, also of keys that are comments there."""
    path = folder / "foresolve.toml"
    text = path.read_text(encoding="utf-8")
    for key, value in settings.items():
        text, count = re.subn(rf"^(# )?{key} = .*$", f"{key} = {value}", text, count=1, flags=re.MULTILINE)
        assert count == 1, key
    path.write_text(text, encoding="utf-8")


def quick_run(folder: Path, kind: str = "shortest-path") -> Path:
    """A sample and its run; the folder of the run."""
    quick_project(folder, kind)
    return Project.load(folder).study(folder / "run", progress=False).folder

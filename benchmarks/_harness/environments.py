"""One virtual environment per peer under benchmarks/.envs: they cannot share one. Standard library only."""

from __future__ import annotations

import json
import shutil
import subprocess
import venv
from collections.abc import Mapping
from pathlib import Path

from benchmarks._harness.places import BENCHMARKS, ENVIRONMENTS, REPOSITORY

CONSTRAINTS = BENCHMARKS / "constraints.txt"
FORESOLVE = ("-e", f"{REPOSITORY}[learn]")


def ensure(name: str, requirements: tuple[str, ...], refresh: bool = False) -> Path:
    """The environment's Python, built where it is missing, half-built or out of date."""
    folder = ENVIRONMENTS / name
    python = folder / "bin" / "python"
    stamp = folder / "requirements.json"
    wanted = json.dumps({"requirements": requirements, "constraints": CONSTRAINTS.read_text()})
    if not refresh and stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"building the environment {name} ...", flush=True)
    if folder.exists():
        shutil.rmtree(folder)
    venv.create(folder, with_pip=True)
    command = [str(python), "-m", "pip", "install", "-q", "-c", str(CONSTRAINTS), *requirements]
    pip = subprocess.run(command, capture_output=True, text=True)
    if pip.returncode:
        raise RuntimeError(f"pip could not build the environment {name}:\n{pip.stderr[-2000:]}")
    stamp.write_text(wanted)
    return python


class Pythons:
    """The interpreter of each environment, built when it is first asked for; foresolve's may be given."""

    def __init__(
        self, requirements: Mapping[str, tuple[str, ...]], foresolve: Path | None = None, refresh: bool = False
    ) -> None:
        self._requirements = {"foresolve": FORESOLVE, **requirements}
        self._refresh = refresh
        # Not resolved: the link in an environment's `bin` is what tells Python where its packages are.
        self._built = {} if foresolve is None else {"foresolve": foresolve.absolute()}

    def __getitem__(self, name: str) -> Path:
        if name not in self._built:
            self._built[name] = ensure(name, self._requirements[name], self._refresh)
        return self._built[name]

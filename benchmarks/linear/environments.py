"""One virtual environment per peer under benchmarks/.envs: they cannot share one. Standard library only."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from catalogue import BENCHMARKS, ENVIRONMENTS, ENVS_DIR

CONSTRAINTS = BENCHMARKS / "constraints.txt"


def ensure(name: str, refresh: bool = False) -> Path:
    """The environment's Python, built where it is missing, half-built or out of date."""
    folder = ENVS_DIR / name
    python = folder / "bin" / "python"
    stamp = folder / "requirements.json"
    wanted = json.dumps({"requirements": ENVIRONMENTS[name], "constraints": CONSTRAINTS.read_text()})
    if not refresh and stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"building the environment {name} ...", flush=True)
    if folder.exists():
        shutil.rmtree(folder)
    venv.create(folder, with_pip=True)
    command = [str(python), "-m", "pip", "install", "-q", "-c", str(CONSTRAINTS), *ENVIRONMENTS[name]]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"pip could not build the environment {name}:\n{done.stderr[-2000:]}")
    stamp.write_text(wanted)
    return python


if __name__ == "__main__":
    for environment in sys.argv[1:] or ENVIRONMENTS:
        print(ensure(environment))

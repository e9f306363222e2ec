"""Every example runs as it is; `make test-slow`."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted(path for path in (Path(__file__).parents[1] / "examples").glob("*.py") if path.name != "tuning.py")
# Python reads the option -W before it finds installed packages, and ignores one of a category of theirs.
STRICT = """
import runpy, sys, warnings
import foresolve
warnings.simplefilter("error", foresolve.ForesolveWarning)
sys.path.insert(0, sys.argv[1])
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(path: Path, tmp_path: Path) -> None:
    if path.stem == "cp_sat" and importlib.util.find_spec("ortools") is None:
        pytest.skip("needs ortools, which cannot share an environment's process with highspy")
    environ = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", STRICT, str(path.parent), str(path)]
    process = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=600)
    assert process.returncode == 0, process.stderr[-2000:]
    assert "regret" in process.stdout

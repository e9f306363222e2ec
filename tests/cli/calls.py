"""The shell, called from tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from foresolve.cli import build


def invoke(*words: str | Path) -> Result:
    """A command in this process."""
    return CliRunner().invoke(build(), list(map(str, words)))


def done(*words: str | Path) -> Result:
    """A command that must end well."""
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    return result


def document(*words: str | Path) -> Any:
    """What a command prints with `--json`: one document and nothing else."""
    return json.loads(done(*words, "--json").stdout)


def refused(status: int, *words: str | Path) -> str:
    """The error of a command that must fail: one line, and a second where it says how to call it."""
    result = invoke(*words)
    assert result.exit_code == status, result.output
    assert result.stdout == ""
    first, *rest = result.stderr.rstrip().splitlines()
    assert first.startswith("foresolve: ")
    assert all(line.startswith("Try: foresolve ") for line in rest)
    assert len(rest) <= (status == 2)
    return first.removeprefix("foresolve: ")


def process(*words: str | Path, **options: Any) -> subprocess.Popen[str]:
    """A command in a process of its own."""
    program = [sys.executable, "-m", "foresolve.cli", *map(str, words)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(program, **(pipes | {"env": environment} | options))

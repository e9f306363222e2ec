"""Run the commands in the ```console blocks of pages and refresh what they print: `python tools/transcripts.py PAGE`.

A line that begins with `$ ` is a command; what lies between it and the next one is replaced. All commands of a page run
one after the other in one new folder. Output is that of a pipe: without bars and colors, and without stderr.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", type=Path, nargs="+")
    for page in parser.parse_args().pages:
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            page.write_text(refreshed(text, lambda command: output(command, Path(folder))), encoding="utf-8")


def commands(block: str) -> list[str]:
    """The commands of a block, without what they print."""
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]


def blocks(page: str) -> Iterator[str]:
    """The contents of the ```console blocks of a page."""
    for match in BLOCK.finditer(page):
        yield match[1]


def refreshed(page: str, run: Callable[[str], str]) -> str:
    """The page with what `run` gives under each command."""

    def block(match: re.Match[str]) -> str:
        parts = [f"$ {command}\n{run(command)}" for command in commands(match[1])]
        return "```console\n" + "".join(parts) + "```"

    return BLOCK.sub(block, page)


def output(command: str, folder: Path) -> str:
    """What a command prints on stdout; an error where it fails."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    result = subprocess.run(
        ["bash", "-c", command], cwd=folder, env={**os.environ, "PATH": beside, "COLUMNS": "100"}, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    if result.returncode:
        raise SystemExit(f"{command} ended with {result.returncode}: {result.stderr.strip()}")
    return result.stdout


if __name__ == "__main__":
    main()

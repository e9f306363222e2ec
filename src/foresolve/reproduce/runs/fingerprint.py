"""Which version of the code made a record: records of two versions are not means over the same thing."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

# What shows, checks and keeps numbers, and makes none.
KEEPING = ("fingerprint", "folder", "folder_files", "publish", "run")
ASIDE = ("report/", "cli/", "testing/", "reproduce/__init__.py", *(f"reproduce/runs/{name}.py" for name in KEEPING))
DIGITS = 12


@functools.cache
def code_fingerprint() -> str:
    """That of this package, as it was when first asked for."""
    return fingerprint_of(Path(__file__).parents[2])


def fingerprint_of(root: Path) -> str:
    """The first digits of the sha256 of all source files of a package that numbers can depend on."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.suffix in (".py", ".cu") and not name.startswith(ASIDE):
            content = path.read_bytes().replace(b"\r\n", b"\n")
            digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:DIGITS]

from __future__ import annotations

import shutil
from pathlib import Path

import foresolve
from foresolve.reproduce.runs.fingerprint import DIGITS, code_fingerprint, fingerprint_of


def test_it_changes_with_what_makes_numbers_and_with_nothing_else(tmp_path: Path) -> None:
    package = tmp_path / "foresolve"
    shutil.copytree(Path(foresolve.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    assert fingerprint_of(package) == code_fingerprint()
    assert len(code_fingerprint()) == DIGITS
    with open(package / "report" / "findings.py", "a") as page:
        page.write("# another look\n")
    assert fingerprint_of(package) == code_fingerprint()
    with open(package / "reproduce" / "runs" / "folder.py", "a") as folder:
        folder.write("# another way to keep them\n")
    assert fingerprint_of(package) == code_fingerprint()
    with open(package / "schedules.py", "a") as source:
        source.write("# another number\n")
    assert fingerprint_of(package) != code_fingerprint()

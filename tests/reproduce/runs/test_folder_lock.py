from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from foresolve.errors import ForesolveError
from foresolve.reproduce.runs.folder_lock import FolderLock

HOLD = """
import sys, time
from pathlib import Path
from foresolve.reproduce.runs.folder_lock import FolderLock
lock = FolderLock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    with pytest.raises(ForesolveError, match="another process is writing to"):
        FolderLock(tmp_path)
    lock.release()
    FolderLock(tmp_path).release()


def test_a_lock_ends_with_its_process_even_if_that_is_killed(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(ForesolveError, match="another process"):
            FolderLock(tmp_path)
        holder.kill()
        holder.wait()
    FolderLock(tmp_path).release()


def test_folders_do_not_share_a_lock(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first, second = FolderLock(tmp_path / "a"), FolderLock(tmp_path / "b")
    first.release()
    with pytest.raises(ForesolveError, match="another process is writing"):  # releasing one leaves the other held
        FolderLock(tmp_path / "b")
    second.release()

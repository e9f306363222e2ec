from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from foresolve._base import locks
from foresolve._base.locks import WriterLock, folder_lock, writing_to
from foresolve.errors import StorageError
from mistakes import file_mistake

HOLD = """
import sys, time
from pathlib import Path
from foresolve._base.locks import folder_lock
lock = folder_lock(Path(sys.argv[1]), "go")
print("held", flush=True)
time.sleep(60)
"""


def test_one_writer_at_a_time_and_no_file_is_left(tmp_path: Path) -> None:
    lock = folder_lock(tmp_path, "choose another folder")
    with file_mistake(tmp_path, "choose another folder"):
        folder_lock(tmp_path, "choose another folder")
    lock.release()
    folder_lock(tmp_path, "").release()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_ends_with_its_process_even_if_that_is_killed(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with file_mistake(tmp_path):
            folder_lock(tmp_path, "")
        holder.kill()
        holder.wait()
    assert [path.name for path in tmp_path.iterdir()] == [locks.NAME]  # taken over, and removed
    folder_lock(tmp_path, "").release()
    assert list(tmp_path.iterdir()) == []


def test_folders_do_not_share_a_lock(tmp_path: Path) -> None:
    first, second = folder_lock(tmp_path / "a", ""), folder_lock(tmp_path / "b", "")
    first.release()
    with file_mistake(tmp_path / "b"):  # releasing one leaves the other held
        folder_lock(tmp_path / "b", "")
    second.release()


@pytest.mark.skipif(sys.platform == "win32", reason="what is open cannot be removed there")
def test_nobody_holds_a_lock_that_was_removed_while_it_was_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opened, then the holder removes the file and lets go: what was opened has no name any more."""
    first, taken = folder_lock(tmp_path, ""), locks.taken

    def late(file: int) -> bool:
        monkeypatch.setattr(locks, "taken", taken)
        first.release()
        return taken(file)

    monkeypatch.setattr(locks, "taken", late)
    second = folder_lock(tmp_path, "")
    assert (tmp_path / locks.NAME).exists()
    with file_mistake(tmp_path):
        folder_lock(tmp_path, "")
    second.release()


def test_the_block_lets_go_whatever_ends_it(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), writing_to(tmp_path, ""):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
    with writing_to(None, ""):
        pass


@pytest.mark.parametrize(
    ("code", "remedy"), [(errno.EROFS, "may be written to"), (errno.EACCES, "permissions"), (errno.ENOLCK, "no locks")]
)
def test_a_folder_that_cannot_be_locked_is_named(
    code: int, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(code, os.strerror(code), "somewhere inside")

    target = (locks, "taken") if code == errno.ENOLCK else (os, "open")
    monkeypatch.setattr(*target, refuse)
    with pytest.raises(StorageError) as caught:
        WriterLock(tmp_path / "x.lock", tmp_path / "x", "")
    assert remedy in str(caught.value)
    assert caught.value.filename == str(tmp_path / "x")
    assert caught.value.errno == code

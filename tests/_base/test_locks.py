from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from foresolve._base import locks
from foresolve._base.locks import WriterLock, folder_lock, writing_to
from foresolve.errors import ForesolveError, StorageError
from mistakes import mistake

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
    with mistake("", str(tmp_path), "choose another folder", kind=ForesolveError):
        folder_lock(tmp_path, "choose another folder")
    lock.release()
    folder_lock(tmp_path, "").release()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_ends_with_its_process_even_if_that_is_killed(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with mistake("", str(tmp_path), kind=ForesolveError):
            folder_lock(tmp_path, "")
        holder.kill()
        holder.wait()
    assert [path.name for path in tmp_path.iterdir()] == [locks.NAME]  # taken over, and removed
    folder_lock(tmp_path, "").release()
    assert list(tmp_path.iterdir()) == []


def test_folders_do_not_share_a_lock(tmp_path: Path) -> None:
    first, second = folder_lock(tmp_path / "a", ""), folder_lock(tmp_path / "b", "")
    first.release()
    with mistake("", str(tmp_path / "b"), kind=ForesolveError):  # releasing one leaves the other held
        folder_lock(tmp_path / "b", "")
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
    def refuse(*_: object, **__: object) -> int:
        raise OSError(code, os.strerror(code), "somewhere inside")

    monkeypatch.setattr(locks.FileLock, "acquire", refuse)
    with pytest.raises(StorageError, match=remedy) as caught:
        WriterLock(tmp_path / "x.lock", tmp_path / "x", "")
    assert remedy in str(caught.value)
    assert caught.value.filename == str(tmp_path / "x")
    assert caught.value.errno == code

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from foresolve._base import files, leftovers

WRITE = """
import sys, time
from pathlib import Path
from foresolve._base.files import replacing
with replacing(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


def parts(folder: Path) -> list[Path]:
    return list(folder.glob(".*.part"))


def test_the_next_writer_removes_what_a_killed_one_left_and_only_that(tmp_path: Path) -> None:
    path = tmp_path / "file[1].json"
    writer = subprocess.Popen([sys.executable, "-c", WRITE, str(path)], stdout=subprocess.PIPE, text=True)
    with writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "writing\n"
        files.write_text(path, "first")
        assert len(parts(tmp_path)) == 1  # of a writer that is at work
        writer.kill()
        writer.wait()
    other = tmp_path / f".other.json.{'0' * 16}.part"
    mine = tmp_path / f".{path.name}.notes.part"
    other.touch()
    mine.touch()
    files.write_text(path, "second")
    assert sorted(parts(tmp_path)) == sorted([other, mine])
    assert path.read_text() == "second"


def test_two_writers_in_one_process_both_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with files.replacing(path) as first:
        first.write(b"first")
        files.write_text(path, "second")
    assert path.read_text() == "first"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(sys.platform == "win32", reason="what is open cannot be removed there")
def test_a_file_that_is_swept_before_it_is_locked_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, swept = leftovers._taken, []

    def late(file: int) -> bool:
        if not swept:
            swept.extend(parts(tmp_path))
            swept[0].unlink()
        return taken(file)

    monkeypatch.setattr(leftovers, "_taken", late)
    files.write_text(tmp_path / "file", "whole")
    assert (tmp_path / "file").read_text() == "whole"
    assert parts(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="what is open cannot be removed there")
def test_where_there_are_no_locks_nothing_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> bool:
        raise OSError(38, "no locks")

    left = tmp_path / f".file.{'0' * 16}.part"
    left.touch()
    monkeypatch.setattr(leftovers, "_taken", refuse)
    files.write_text(tmp_path / "file", "whole")
    assert parts(tmp_path) == [left]
    assert (tmp_path / "file").read_text() == "whole"

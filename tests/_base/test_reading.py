from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from foresolve._base import reading
from foresolve.errors import ForesolveError, MissingExtraError
from mistakes import file_mistake, mistake

posix = pytest.mark.skipif(os.name == "nt", reason="pipes and devices are POSIX's")


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**33)


@posix
@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (lambda path: path.symlink_to("/dev/zero"), "device"),
        (lambda path: os.mkfifo(path), "pipe"),
        (Path.mkdir, "folder"),
        (lambda path: path.symlink_to(path.name), os.strerror(errno.ELOOP)),
        (sparse, "8,589,934,592 bytes"),
        (lambda path: None, ""),
        (lambda path: path.write_bytes(bytes(101)), "101 bytes"),
    ],
)
def test_only_regular_files_of_a_plausible_size_are_opened(
    make: Callable[[Path], object], fact: str, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    make(path)
    most = 100 if path.is_file() and path.stat().st_size == 101 else reading.MOST_TENSORS
    for read in (lambda: reading.read_bytes(path, most), lambda: reading.check_file(path, most)):
        with file_mistake(path, fact):
            read()


@posix
def test_what_takes_the_place_of_a_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    real = os.open

    def swapped(*arguments: object) -> int:
        path.unlink()
        os.mkfifo(path)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(reading.os, "open", swapped)
    with file_mistake(path, "pipe"):
        reading.read_bytes(path)


def test_texts_say_what_they_are_not(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes("ä".encode("latin-1"))
    assert reading.read_text(path, encoding="latin-1") == "ä"
    with file_mistake(path, "UTF-8"):
        reading.read_text(path)


def test_decompression_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "UNPACKED", 1000)
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(bytes(10**6)))
    with (
        file_mistake(path, f"{1000 + reading.GROWTH * path.stat().st_size:,} bytes"),
        reading.opened(path) as file,
        reading.unpacked(file, path) as content,
    ):
        content.read()
    path.write_bytes(gzip.compress(b"a\nb\n"))
    with reading.opened(path) as file, reading.unpacked(file, path) as content:
        assert list(content) == [b"a\n", b"b\n"]


def test_wrong_entries_are_damage_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def told(error: Exception) -> str:
        with pytest.raises(ForesolveError) as caught, reading.understood(path):
            raise error
        return str(caught.value)

    assert told(KeyError("a")) == f"{path} is damaged: KeyError: 'a'"
    assert told(RuntimeError("a\n  b")) == f"{path} is damaged: RuntimeError: a b"
    assert told(ForesolveError("a")) == f"{path}: a"
    assert told(ForesolveError(f"{path} a")) == f"{path} a"
    long = told(ForesolveError("a" * 10**6 + "z"))
    assert len(long) < 3_000
    assert long.startswith(f"{path}: aaa")
    assert long.endswith("az")
    assert "more memory" in told(MemoryError())
    assert "nested" in told(RecursionError())
    with mistake("", kind=MissingExtraError) as own, reading.understood(path):
        raise MissingExtraError("x")
    assert str(own.value) == "x"

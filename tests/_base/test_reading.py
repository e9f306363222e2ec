from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from foresolve._base import reading
from foresolve.errors import FileError, ForesolveError, InvalidInputError, MissingExtraError
from mistakes import mistake

posix = pytest.mark.skipif(os.name == "nt", reason="pipes and devices are POSIX's")


@posix
@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (lambda path: path.symlink_to("/dev/zero"), "a device"),
        (os.mkfifo, "a pipe"),
        (Path.mkdir, "a folder"),
        (lambda path: path.symlink_to(path.name), "Too many levels"),
        (lambda path: None, "is not there"),
        (lambda path: path.write_bytes(bytes(101)), "101 bytes"),
    ],
)
def test_only_regular_files_of_a_bounded_size_are_opened(
    make: Callable[[Path], object], fact: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    make(path)
    with mistake("", str(path), fact, kind=FileError):
        reading.check_file(path, 100)
    if fact != "101 bytes":
        with mistake("", str(path), fact, kind=FileError):
            reading.read_bytes(path)


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
    with mistake("", "a pipe", kind=FileError):
        reading.read_bytes(path)


def test_texts_say_what_they_are_not(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes("ä".encode("latin-1"))
    assert reading.read_text(path, encoding="latin-1") == "ä"
    with mistake("", str(path), "UTF-8", kind=FileError):
        reading.read_text(path)


def test_tables_are_decompressed_by_their_name(tmp_path: Path) -> None:
    path = tmp_path / "file.csv.gz"
    path.write_bytes(gzip.compress(b"a\nb\n"))
    with reading.opened_table(path) as content:
        assert list(content) == [b"a\n", b"b\n"]
    path.write_bytes(path.read_bytes()[:-3])
    with mistake("", str(path), kind=FileError), reading.opened_table(path) as content:
        content.read()


def test_wrong_entries_are_damage_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def told(error: Exception) -> str:
        with pytest.raises(FileError) as caught, reading.understood(path):
            raise error
        assert caught.value.path == path
        return str(caught.value)

    assert told(KeyError("a")) == f"{path} is damaged: KeyError: 'a'"
    assert told(RuntimeError("a\n  b")) == f"{path} is damaged: RuntimeError: a b"
    assert told(ForesolveError("a")) == f"{path} is damaged: a"
    assert told(FileError(path, "is of another kind")) == f"{path} is of another kind"
    assert len(told(ForesolveError("a" * 10**6))) < 3_000
    assert "more memory" in told(MemoryError())
    assert "nested" in told(RecursionError())
    with pytest.raises(MissingExtraError), reading.understood(path):
        raise MissingExtraError("x")


def test_errors_about_arguments_of_the_caller_stay(tmp_path: Path) -> None:
    with mistake("problem"), reading.understood(tmp_path, given=("problem",)):
        raise InvalidInputError(argument="problem", expected="another", got="this one")
    with mistake("", kind=FileError), reading.understood(tmp_path, given=("problem",)):
        raise InvalidInputError(argument="theta", expected="another", got="this one")

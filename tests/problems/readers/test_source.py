from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from foresolve.problems.readers.source import Source, read_source
from mistakes import mistake


def test_lines_are_those_that_an_editor_shows(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes("one\r\ntwo\rthree\n\x0bfour\u2028 still\n".encode())
    assert read_source(path).lines == ("one", "two", "three", "\x0bfour\u2028 still", "")


@pytest.mark.parametrize(
    ("text", "value"), [("4", 4.0), ("+4.", 4.0), ("-.5", -0.5), ("1.5D+03", 1500.0), ("2e-3", 0.002), ("1E2", 100.0)]
)
def test_numbers(text: str, value: float) -> None:
    assert Source("m", ("",)).number(1, text, "it") == value


@pytest.mark.parametrize(
    "text", ["4x.0", "4,0", "1.2.3", "--4", "", "1e", "0x10", "nan", "1_000", "e5", "\u0664", "1e999", "inf"]
)
def test_what_is_no_number_is_refused_with_its_line(text: str) -> None:
    with mistake("path", "'m', line 2: ", repr(text), "(RHS)", "'second line'"):
        Source("m", ("first", " second  line")).number(2, text, "RHS")


def test_bounds_may_be_infinite() -> None:
    assert [Source("m", ()).number(1, text, "it", infinite=True) for text in ("inf", "-Infinity", "+INF")] == [
        float("inf"), float("-inf"), float("inf")
    ]  # fmt: skip


def test_missing_file(tmp_path: Path) -> None:
    with mistake("path", "MPS or LP", "nowhere.mps"):
        read_source(tmp_path / "nowhere.mps")
    with mistake("path", "MPS or LP", str(tmp_path)):
        read_source(tmp_path)


def test_names_in_another_encoding_are_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "model.mps"
    path.write_bytes("größe".encode("latin1"))
    with mistake("path", "UTF-8", str(path), "iconv"):
        read_source(path)


WHOLE = gzip.compress(b"NAME", mtime=0)


@pytest.mark.parametrize("content", [WHOLE[:-4], WHOLE[:10] + b"\xff" * 20], ids=["cut short", "overwritten"])
def test_a_damaged_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.gz"
    path.write_bytes(content)
    with mistake("path", str(path)):
        read_source(path)


def test_long_words_are_shortened() -> None:
    message = str(Source("a.lp", ("x" * 10_000,)).broken(1, f"{'y' * 10_000!r} is no name"))
    assert len(message) < 700
    assert message.startswith("`path` must be a sound model file; got 'a.lp', line 1: 'yyy")
    assert "yyy' is no name, in 'xxx" in message

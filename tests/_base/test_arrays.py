from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from foresolve._base import reading
from foresolve._base.arrays import read_arrays
from mistakes import file_mistake


def archive(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in members.items():
            target.writestr(name, content)
    return path


def array(content: np.ndarray, allow_pickle: bool = False) -> bytes:
    target = io.BytesIO()
    np.save(target, content, allow_pickle=allow_pickle)
    return target.getvalue()


def sides(shape: tuple[int, ...], dtype: str = "<f8") -> bytes:
    """The header of an array, and no content."""
    target = io.BytesIO()
    np.lib.format.write_array_header_1_0(target, {"descr": dtype, "fortran_order": False, "shape": shape})
    return target.getvalue()


def test_arrays_come_back(tmp_path: Path) -> None:
    arrays = {
        "a": np.arange(6.0).reshape(2, 3), "b": np.array("word"), "c": np.zeros((0, 3), dtype=bool),
        "d": np.asfortranarray(np.arange(6).reshape(2, 3)), "e": np.array(["2026-01-01"], dtype="datetime64[D]"),
    }  # fmt: skip
    np.savez_compressed(tmp_path / "a.npz", **arrays)  # pyright: ignore[reportArgumentType]
    stored = read_arrays(tmp_path / "a.npz")
    assert list(stored) == list(arrays)
    assert all(np.array_equal(stored[name], arrays[name]) for name in arrays)


def test_claims_are_checked_before_anything_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = array(np.zeros((2, 3)))
    for name, content, fact in (
        ("huge", sound.replace(b"(2, 3)", b"(9**9)"), ""),
        ("large", sound.replace(b"(2, 3), }", b"(2, 9)"), ""),
        ("longer", sound.replace(b"(2, 3)", b"(9, 9)"), "(9, 9)"),
        ("wide", sides((0, 10**9)), "(0, 1000000000)"),
        ("bytes of none", sides((10**15,), "|S0"), "(1000000000000000,)"),
        ("no bytes at all", sides((10**9, 0), "<U3"), "(1000000000, 0)"),
        ("pickled", array(np.array([{}]), allow_pickle=True), "object"),
        ("nothing", b"", ""),
        ("magic", b"\x93NUMPY\x09\x00" + sound[8:], "(9, 0)"),
    ):
        path = archive(tmp_path / f"{name}.npz", {"a.npy": content})
        with file_mistake(path, fact):
            read_arrays(path)
    monkeypatch.setattr(reading, "UNPACKED", 1000)
    bomb = archive(tmp_path / "bomb.npz", {"a.npy": array(np.zeros(10**6))})
    with file_mistake(bomb, "8,000,128 bytes"):
        read_arrays(bomb)


def test_what_is_no_archive_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04 and nothing")
    with file_mistake(tmp_path / "a.npz", "zip"):
        read_arrays(tmp_path / "a.npz")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_python_unpacks_without_a_limit_is_refused(tmp_path: Path, method: int) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", method) as target:
        target.writestr("a.npy", array(np.zeros(10)))
    with file_mistake(path, "deflate"):
        read_arrays(path)


def test_what_numpy_says_is_one_line(tmp_path: Path) -> None:
    header = b"{'descr': '<f8'}".ljust(20_000)
    path = archive(tmp_path / "a.npz", {"a.npy": b"\x93NUMPY\x02\x00" + len(header).to_bytes(4, "little") + header})
    with file_mistake(path, "20000") as caught:
        read_arrays(path)
    assert "\n" not in str(caught.value)

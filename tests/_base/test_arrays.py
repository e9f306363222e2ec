from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from foresolve._base.arrays import read_arrays
from foresolve.errors import FileError
from mistakes import mistake


def array(content: np.ndarray, allow_pickle: bool = False) -> bytes:
    target = io.BytesIO()
    np.save(target, content, allow_pickle=allow_pickle)
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


@pytest.mark.parametrize(
    "content",
    [
        array(np.zeros((2, 3))).replace(b"(2, 3)", b"(9**9)"),
        array(np.zeros((2, 3))).replace(b"(2, 3)", b"(9, 9)"),
        array(np.array([{}]), allow_pickle=True),
        b"",
        b"\x93NUMPY\x09\x00" + array(np.zeros(2))[8:],
    ],
    ids=["shape", "longer", "pickled", "nothing", "version"],
)
def test_damaged_arrays_and_pickles_are_errors(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("a.npy", content)
    with mistake("", str(path), kind=FileError) as caught:
        read_arrays(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"PK\x03\x04 and nothing", b"", array(np.zeros(3)), b"text"])
def test_other_files_are_errors(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    with mistake("", str(path), kind=FileError):
        read_arrays(path)

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from foresolve import Policy, TopK
from foresolve._base import files
from foresolve.data import DecisionDataset
from foresolve.errors import FileError, ForesolveError, StorageError
from foresolve.models import MLP
from foresolve.report.pages.reproduction import write_report
from mistakes import mistake


@pytest.fixture(params=[0o022, 0o077, 0o002], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def save_policy(folder: Path) -> None:
    Policy(MLP(2, 3), TopK(3, 1)).save(folder)


def save_cache(folder: Path) -> None:
    theta = torch.rand(4, 3, generator=torch.Generator().manual_seed(0))
    DecisionDataset(theta, theta, TopK(3, 1), cache=folder / "best.npz").solve()


def save_report(folder: Path) -> None:
    write_report([], folder / "report.html")


@pytest.mark.parametrize("save", [save_policy, save_cache, save_report])
def test_whoever_may_read_other_files_may_read_these(save: Callable[[Path], None], tmp_path: Path, umask: int) -> None:
    save(tmp_path)
    paths = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert paths
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o666 & ~umask}


def test_a_file_that_replaces_another_keeps_its_permissions(tmp_path: Path) -> None:
    path = files.write_text(tmp_path / "file", "old")
    path.chmod(0o640)
    assert files.write_bytes(path, b"new") == path
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_files_are_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = files.write_text(tmp_path / "new" / "folder" / "file", "ä\n")
    assert path.read_bytes() == "ä\n".encode()
    with contextlib.suppress(KeyboardInterrupt), files.replacing(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert path.read_bytes() == "ä\n".encode()

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        files.write_bytes(path, b"half")
    assert path.read_bytes() == "ä\n".encode()
    assert [p.name for p in path.parent.iterdir()] == ["file"]


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = files.write_text(tmp_path / "file", "old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageError) as caught:
        files.write_bytes(path, b"new")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))
    assert path.read_text() == "old"
    # An error about another file keeps its own name.
    with pytest.raises(FileNotFoundError) as other, files.replacing(path):
        (tmp_path / "other").read_bytes()
    assert other.value.filename == str(tmp_path / "other")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_may_not_be_written_to_is_told_with_the_name_of_the_file(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError) as caught:
        files.write_text(tmp_path / "file", "text")
    assert caught.value.filename == str(tmp_path / "file")


def test_the_checksum_of_a_file(tmp_path: Path) -> None:
    path = files.write_bytes(tmp_path / "file", b"\x00bytes\n")
    assert files.sha256(path) == hashlib.sha256(b"\x00bytes\n").hexdigest()


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 0.1, "text", [1, [2]], (1, (2, "b")), {"a": {"b": 1}}, {1: "a", (2, 3): "b"}, Counter("hello")],
)
def test_what_is_packed_comes_back(value: Any, tmp_path: Path) -> None:
    tensors: dict[str, torch.Tensor] = {"unused": torch.zeros(1)}
    packed = files.pack({"value": value}, tensors, "root")
    files.write_bytes(tmp_path / "file", files.tensor_bytes(tensors, packed))
    stored, document = files.read_tensors(tmp_path / "file")
    back = files.unpack(document, stored, tmp_path)["value"]
    assert back == value
    assert type(back) is type(value)


def test_tensors_in_what_is_packed_come_back(tmp_path: Path) -> None:
    tensors: dict[str, torch.Tensor] = {}
    packed = files.pack([torch.arange(3), {"a": np.float64(0.5)}], tensors, "root")
    assert list(tensors) == ["root.0"]
    assert torch.equal(files.unpack(packed, tensors, tmp_path)[0], torch.arange(3))
    with mistake("", "root", "set", kind=ForesolveError):
        files.pack({1, 2}, {}, "root")
    with mistake("", "root", "sparse", kind=ForesolveError):
        files.pack(torch.eye(2).to_sparse(), {}, "root")


def test_damaged_documents_are_named(tmp_path: Path) -> None:
    path = files.write_text(tmp_path / "file.json", "{")
    with mistake("", str(path), "JSON", kind=FileError):
        files.read_json(path)
    with mistake("", "is not there", kind=FileError):
        files.read_json(tmp_path / "nothing.json")
    with mistake("", str(path), "`a`", "float", kind=FileError):
        files.field({"a": 0.5}, "a", (int, str), path)
    with mistake("", str(path), "'b'", kind=FileError):
        files.unpack({"__tensor__": "b"}, {}, path)
    with mistake("", str(path), "'b'", kind=FileError):
        files.unpack([{"__tensor__": "b"}] * 2, {"b": torch.ones(1)}, path)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int64, torch.bool, torch.uint8])
def test_tensors_come_back(dtype: torch.dtype, tmp_path: Path) -> None:
    tensors = {"a": torch.tensor([[0, 1, 1], [1, 0, 1]]).to(dtype), "empty": torch.zeros(0, 4), "one": torch.tensor(3)}
    path = files.write_bytes(tmp_path / "file", files.tensor_bytes(tensors, [1]))
    stored, document = files.read_tensors(path)
    files.write_bytes(path, files.tensor_bytes({}))  # what was read does not look at the file any more
    path.write_bytes(bytes(300))
    assert document == [1]
    assert set(stored) == set(tensors)
    assert all(
        stored[name].dtype == tensor.dtype and torch.equal(stored[name], tensor) for name, tensor in tensors.items()
    )


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:-1],
        lambda content: content[:9],
        lambda content: b"\xff" * 8 + content[8:],
        lambda content: content.replace(b"F32", b"F7x"),
        lambda content: content.replace(b"[2]", b"[9]"),
    ],
)
def test_damaged_tensors_are_errors(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    sound = files.tensor_bytes({"a": torch.zeros(2)})
    assert damage(sound) != sound
    path = files.write_bytes(tmp_path / "file", damage(sound))
    with mistake("", str(path), kind=FileError):
        files.read_tensors(path)


@pytest.mark.parametrize("kind", ["pipe", "link to a device", "folder"])
def test_nothing_but_a_file_is_replaced_by_one(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file"
    if kind == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("there are no pipes here")
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(os.devnull)
    before = (path.lstat().st_mode, path.lstat().st_ino, path.lstat().st_mtime_ns)
    with mistake("", str(path), kind.split()[-1], kind=FileError):
        files.write_text(path, "x")
    after = path.lstat()  # looking at a link changes when it was looked at
    assert (after.st_mode, after.st_ino, after.st_mtime_ns) == before
    assert os.listdir(tmp_path) == ["file"]


def test_links_to_nothing_and_to_themselves_are_replaced(tmp_path: Path) -> None:
    for name, target in (("lost", "nowhere"), ("loop", "loop")):
        (tmp_path / name).symlink_to(target)
        files.write_text(tmp_path / name, name)
        assert (tmp_path / name).read_text() == name


def test_names_that_no_text_can_hold_are_escaped(tmp_path: Path) -> None:
    name = os.fsdecode(b"run\xff")
    assert files.write_text(tmp_path / "page", f"<h1>{name}</h1>").read_text() == r"<h1>run\udcff</h1>"

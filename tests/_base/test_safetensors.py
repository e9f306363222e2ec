from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from foresolve._base import files, safetensors
from mistakes import file_mistake

TENSORS = {
    str(dtype).partition(".")[2]: torch.tensor([[0, 1, 1], [1, 0, 1]]).to(dtype)
    for dtype in safetensors.DTYPES.values()
} | {"number": torch.tensor(3.5), "empty": torch.zeros(0, 4)}


def test_all_types_come_back_as_the_library_reads_them(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.torch")
    (tmp_path / "file").write_bytes(library.save(TENSORS, metadata={"json": "[1]"}))
    tensors, text = safetensors.read(tmp_path / "file")
    expected = library.load_file(tmp_path / "file")
    assert text == "[1]"
    assert set(tensors) == set(expected) == set(TENSORS)
    for name, tensor in expected.items():
        assert tensors[name].dtype == tensor.dtype
        assert tensors[name].shape == tensor.shape
        assert torch.equal(*(part.reshape(-1).view(torch.uint8) for part in (tensors[name], tensor)))


def written(path: Path, header: Any, content: bytes, length: int | None = None) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + content)
    return path


def entry(shape: Any = (2,), begin: Any = 0, end: Any = 8, dtype: Any = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


@pytest.mark.parametrize(
    ("header", "fact"),
    [
        (b"x", "JSON"),
        (b"[" * 100_000, "JSON"),
        ([], ""),
        ({"a": 3}, "'a'"),
        ({"a": entry(dtype="F7")}, "'a'"),
        ({"a": entry(dtype=[])}, "'a'"),
        ({"a": entry() | {"more": 1}}, "'a'"),
        ({"a": entry((-2,))}, "'a'"),
        ({"a": entry((2.0,))}, "'a'"),
        ({"a": entry((True, 2))}, "'a'"),
        ({"a": entry((10**10,))}, "'a'"),
        ({"a": entry((0, 10**12), 0, 0)}, "[0, 1000000000000]"),
        ({"a": entry((10**10,), 0, 4 * 10**10)}, "40,000,000,000 bytes"),
        ({"a": entry((1,), 0, 4)}, "4 bytes"),
        ({"a": entry((1,), 0, 4), "b": entry((1,), 2, 6)}, "'b'"),
        ({"a": entry((1,), 4, 8)}, "'a'"),
        ({"a": entry((8,), dtype="BOOL")}, "'a'"),
    ],
)
def test_what_a_header_claims_is_checked_before_anything_is_made(header: Any, fact: str, tmp_path: Path) -> None:
    path = written(tmp_path / "file", header, b"\x02" * 8)
    with file_mistake(path, fact):
        files.read_tensors(path)


@pytest.mark.parametrize("length", [2**63, 10**6, 7])
def test_the_length_of_the_header_is_checked(length: int, tmp_path: Path) -> None:
    with file_mistake(tmp_path / "file", "safetensors"):
        files.read_tensors(written(tmp_path / "file", {"a": entry()}, bytes(8), length))

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from foresolve._base.container import Container, checksum, entry_of, line_of, shown, version
from foresolve.errors import FileError
from mistakes import mistake

THING = Container("a thing", "foresolve thing", 3, older=(2,), remedy="Make it again")
TENSORS = {"a": torch.arange(3.0), "b": torch.tensor(True), "c": torch.zeros(0, 2, dtype=torch.bfloat16)}


def test_documents_come_back(tmp_path: Path) -> None:
    THING.write(tmp_path / "thing.json", {"x": [1, 2.5, float("inf")], "ä": None})
    document = THING.read(tmp_path / "thing.json")
    assert document["x"] == [1, 2.5, float("inf")]
    assert (document["kind"], document["schema"], document["writer"]) == ("foresolve thing", 3, version())


def test_tensors_come_back(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    THING.write_tensors(tmp_path / "thing", {"x": 1}, TENSORS)
    tensors, document = THING.read_tensors(tmp_path / "thing")
    assert document["x"] == 1
    assert all(
        torch.equal(tensors[name], TENSORS[name]) and tensors[name].dtype == TENSORS[name].dtype for name in TENSORS
    )
    content = (tmp_path / "thing").read_bytes()
    (tmp_path / "thing").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with mistake("", str(tmp_path / "thing"), "checksum", kind=FileError):
        THING.read_tensors(tmp_path / "thing")


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        ({"kind": "foresolve policy"}, ("a thing",)),
        ({"schema": 4, "writer": "9.9"}, ("schema 4", "(9.9)", "2 and 3", "Make it again")),
        ({"schema": True}, ("schema True",)),
        ({"x": 2}, ("checksum",)),
        ({"y": 1}, ("checksum",)),
        ({"sha256": None}, ("checksum",)),
        ({"writer": "0.0.1"}, ("checksum",)),
    ],
)
def test_other_kinds_and_damage_are_told(change: dict[str, object], facts: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "thing.json"
    path.write_text(json.dumps(THING.sealed({"x": 1}) | change))
    with mistake("", str(path), *facts, kind=FileError):
        THING.read(path)


def test_older_formats_have_no_checksum(tmp_path: Path) -> None:
    (tmp_path / "thing.json").write_text('{"kind": "foresolve thing", "schema": 2, "x": 1}')
    assert THING.read(tmp_path / "thing.json")["x"] == 1
    (tmp_path / "thing.json").write_text('{"kind": "foresolve thing", "schema": 1, "x": 1}')
    with mistake("", "schema 1", "(before 0.1.0)", kind=FileError):
        THING.read(tmp_path / "thing.json")


def test_the_order_of_entries_does_not_count() -> None:
    assert checksum({"a": 1, "b": 2}, {}) == checksum({"b": 2, "a": 1, "sha256": "x"}, {})
    assert checksum({}, {"a": torch.zeros(2, 3)}) != checksum({}, {"a": torch.zeros(3, 2)})
    assert checksum({}, {"a": torch.zeros(2)}) != checksum({}, {"b": torch.zeros(2)})


def test_lines_have_a_checksum_of_their_own() -> None:
    line = line_of({"value": 0.5})
    assert entry_of(line) == {"value": 0.5}
    assert entry_of('{"value": 0.5}') == {"value": 0.5}
    for damaged in (line.replace("0.5", "0.6"), "[1]", "[" * 10**5, "x"):
        with pytest.raises(ValueError):  # noqa: PT011 (any)
            entry_of(damaged)


def test_long_entries_are_cut() -> None:
    assert shown("x" * 100) == "'" + "x" * 56 + "..."
    assert shown(None) == "nothing"

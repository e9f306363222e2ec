from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from foresolve._base import files
from foresolve._base.container import checksum
from foresolve.learning import Decisions
from foresolve.learning.deployment import decision_files
from foresolve.problems import TopK
from mistakes import file_mistake

pytest.importorskip("safetensors")


def rewritten(path: Path, tensors: dict[str, Any], document: dict[str, Any]) -> None:
    kept, header = files.read_tensors(path)
    changed = {name: tensor for name, tensor in (kept | tensors).items() if tensor is not None}
    sealed = header | document
    sealed["sha256"] = checksum(sealed, changed)
    files.write_bytes(path, files.tensor_bytes(changed, sealed))


@pytest.mark.parametrize(
    ("tensors", "document", "fact"),
    [
        ({}, {"kind": "other"}, "is not a file of decisions"),
        ({}, {"schema": 9}, "schema 9"),
        ({}, {"problem_class": 3}, "`problem_class`"),
        ({}, {"relaxed": 1}, "`relaxed`"),
        ({}, {"keys": {"names": ["a"], "columns": [["x"]]}}, "2 instances"),
        ({}, {"keys": {"names": [1], "columns": [["x", "y"]]}}, "2 instances"),
        ({"x": None}, {}, "`x`"),
        ({"objective": torch.zeros(3)}, {}, "tables"),
        ({"theta": torch.zeros(3, 3)}, {}, "tables"),
        ({"duals": torch.zeros(3, 1)}, {}, "`duals`"),
    ],
)
def test_damaged_files(tensors: dict[str, Any], document: dict[str, Any], fact: str, tmp_path: Path) -> None:
    problem, theta = TopK(3, 1), torch.rand(2, 3)
    path = tmp_path / "decisions.safetensors"
    decision_files.write(path, Decisions(problem, problem.solve(theta), theta))
    rewritten(path, tensors, document)
    with file_mistake(path, fact):
        decision_files.read(path, problem, Decisions)


def test_a_problem_with_other_names_is_refused(tmp_path: Path) -> None:
    """Amounts go by position: its words would be of other things."""
    path, theta = tmp_path / "decisions.safetensors", torch.tensor([[4.0, 3.0, 1.0]])
    problem = TopK(3, 1, names=["tent", "stove", "rope"])
    Decisions(problem, problem.solve(theta), theta).save(path)
    assert Decisions.load(path, TopK(3, 1, names=["tent", "stove", "rope"])).chosen() == [["tent"]]
    assert Decisions.load(path, TopK(3, 1)).verify()
    with file_mistake(path, "position 0", "'tent'", "'rope'"):
        Decisions.load(path, TopK(3, 1, names=["rope", "stove", "tent"]))

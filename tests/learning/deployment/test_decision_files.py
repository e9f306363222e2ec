from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from foresolve._base import files
from foresolve._base.container import checksum
from foresolve.errors import ForesolveError
from foresolve.learning.deployment import decision_files
from foresolve.learning.deployment.decisions import Decisions
from foresolve.problems.top_k import TopK

pytest.importorskip("safetensors")


def rewritten(path: Path, tensors: dict[str, Any], document: dict[str, Any]) -> None:
    kept, header = files.read_tensors(path)
    changed = {name: tensor for name, tensor in (kept | tensors).items() if tensor is not None}
    sealed = header | document
    sealed["sha256"] = checksum(sealed, changed)
    files.write_bytes(path, files.tensor_bytes(changed, sealed))


@pytest.mark.parametrize(
    ("tensors", "document", "message"),
    [
        ({}, {"kind": "other"}, "is not a file of decisions"),
        ({}, {"schema": 9}, "has the schema 9, written by .*0.1.0.*reads 1 and 2"),
        ({}, {"problem_class": 3}, "`problem_class` must be str"),
        ({}, {"relaxed": 1}, "`relaxed` must be bool"),
        ({}, {"keys": {"names": ["a"], "columns": [["x"]]}}, "its keys are not those of 2 instances"),
        ({}, {"keys": {"names": [1], "columns": [["x", "y"]]}}, "its keys are not those of 2 instances"),
        ({"x": None}, {}, "it has no table `x`"),
        ({"objective": torch.zeros(3)}, {}, "its tables are not of the same instances"),
        ({"theta": torch.zeros(3, 3)}, {}, "its tables are not of the same instances"),
        ({"duals": torch.zeros(3, 1)}, {}, "`duals` must have a row for each instance"),
    ],
)
def test_damaged_files(tensors: dict[str, Any], document: dict[str, Any], message: str, tmp_path: Path) -> None:
    problem, theta = TopK(3, 1), torch.rand(2, 3)
    path = tmp_path / "decisions.safetensors"
    decision_files.write(path, Decisions(problem, problem.solve(theta), theta))
    rewritten(path, tensors, document)
    with pytest.raises(ForesolveError, match=message):
        decision_files.read(path, problem, Decisions)


def test_a_problem_with_other_names_is_refused(tmp_path: Path) -> None:
    """Amounts go by position: its words would be of other things."""
    path, theta = tmp_path / "decisions.safetensors", torch.tensor([[4.0, 3.0, 1.0]])
    problem = TopK(3, 1, names=["tent", "stove", "rope"])
    Decisions(problem, problem.solve(theta), theta).save(path)
    assert Decisions.load(path, TopK(3, 1, names=["tent", "stove", "rope"])).chosen() == [["tent"]]
    assert Decisions.load(path, TopK(3, 1)).verify()
    with pytest.raises(ForesolveError, match="at position 0 it has 'tent', `problem` has 'rope'"):
        Decisions.load(path, TopK(3, 1, names=["rope", "stove", "tent"]))

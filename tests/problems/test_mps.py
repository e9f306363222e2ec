from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from foresolve.errors import InvalidInputError
from foresolve.problems.linear import LinearProgram
from foresolve.problems.mps import read_mps

MODEL = """NAME          SMALL
OBJSENSE
    MAX
ROWS
 N  OBJ
 L  C1
 G  C2
 E  C3
 G  C4
 N  FREE
COLUMNS
    MARKER    'MARKER'  'INTORG'
    X         OBJ       3.0   C1   1.0
    X         C2        1.0   C3   1.0
    MARKER    'MARKER'  'INTEND'
    Y         OBJ       2.0   C1   1.0
    Y         C2        -1.0  FREE 1.0
    Y         C4        1.0
    Z         OBJ       -1.0  C3   1.0
RHS
    RHS       C1        4.5   C2   -2.0
    RHS       C3        3.0   OBJ  -5.0
    RHS       C4        0.5
RANGES
    RNG       C2        4.0
BOUNDS
 UP BND       X         9
 UP BND       Y         3.0
 FR BND       Z
ENDATA
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "small.mps"
    file.write_text(MODEL)
    return file


def test_reads_every_part(path: Path) -> None:
    model = read_mps(path)
    # C1 above, C2 (a range) above and below, C4 below; the free row is dropped.
    assert model.constraints["A_ub"].toarray().tolist() == [[1, 1, 0], [1, -1, 0], [-1, 1, 0], [0, -1, 0]]
    assert model.constraints["b_ub"].tolist() == [4.5, 2.0, 2.0, -0.5]
    assert model.constraints["A_eq"].toarray().tolist() == [[1, 0, 1]]
    assert model.constraints["b_eq"].tolist() == [3.0]
    assert model.lower.tolist() == [0.0, 0.0, -np.inf]
    assert model.upper.tolist() == [9.0, 3.0, np.inf]
    assert model.integrality.tolist() == [1, 0, 0]
    assert model.coefficients.tolist() == [3.0, 2.0, -1.0]
    assert (model.offset, model.maximize, model.names) == (5.0, True, ("X", "Y", "Z"))


def test_problem_from_file(path: Path) -> None:
    problem = LinearProgram.from_mps(path)
    assert (problem.sense, problem.offset, problem.names) == ("max", 5.0, ("X", "Y", "Z"))
    assert problem.coefficients is not None
    torch.testing.assert_close(problem.solve(problem.coefficients), torch.tensor([3.0, 1.5, 0.0], dtype=torch.float64))
    assert "(X)" in str(problem.check(torch.tensor([2.5, 1.0, 0.5])))
    assert LinearProgram.from_mps(str(path), sense="min").sense == "min"


def test_without_rows(tmp_path: Path) -> None:
    file = tmp_path / "bounds.lp"
    file.write_text("min\n obj: x + 2 y\nbounds\n 1 <= x <= 2\n -1 <= y <= 1\nend\n")
    problem = LinearProgram.from_mps(file)
    assert problem.coefficients is not None
    assert problem.solve(problem.coefficients).tolist() == [1.0, -1.0]


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"`path` must be an existing MPS or LP file; got .*nowhere.mps"):
        read_mps(tmp_path / "nowhere.mps")
    with pytest.raises(InvalidInputError, match="`path` must be an existing"):
        read_mps(tmp_path)


@pytest.mark.parametrize(("name", "text"), [("a.mps", "hello"), ("a.lp", "hello"), ("a.txt", MODEL), ("a.mps", "")])
def test_unreadable_file(tmp_path: Path, name: str, text: str, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(InvalidInputError, match="`path` must be a file that HiGHS can read as a model"):
        read_mps(file)
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "min\n obj: x + y\nst\n c: x + y <= 4\nbounds\n y <= 3\nsemi-continuous\n y\nend\n",
            "'y' in .* is semi-contin",
        ),
        ("min\n obj: x + [ x ^ 2 ] / 2\nst\n c: x >= 1\nend\n", "must hold a linear objective; .* quadratic"),
    ],
)
def test_what_is_not_linear_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "a.lp"
    file.write_text(text)
    with pytest.raises(InvalidInputError, match=message):
        read_mps(file)


def test_names_in_another_encoding_are_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "model.mps"
    columns = "    größe  COST 1.0 R1 1.0\n".encode("latin1")
    path.write_bytes(b"NAME T\nROWS\n N COST\n L R1\nCOLUMNS\n" + columns + b"RHS\n    RHS R1 4.0\nENDATA\n")
    with pytest.raises(InvalidInputError, match=r"`path` must be a file with names in UTF-8; got .*model\.mps.*iconv"):
        read_mps(path)
    path.write_bytes(path.read_bytes().decode("latin1").encode())
    assert read_mps(path).names == ("größe",)

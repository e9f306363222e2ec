from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foresolve.problems.readers.model import Model
from foresolve.problems.readers.mps import read_mps
from foresolve.problems.readers.source import Source, read_source
from mistakes import mistake
from problems.readers.highs_models import WHOLE_FORMS, as_highs_reads, as_we_read, curved

FORM = [[2.0, -1.0, 0.0], [-1.0, 4.0, 0.5], [0.0, 0.5, 0.0]]
HEAD = """NAME          SMALL
ROWS
 N  COST
 L  ROW
 N  FREE
COLUMNS
    X         COST      1.0   ROW  1.0
    Y         COST      1.0   ROW  1.0
    Z         ROW       1.0   FREE 1.0
RHS
    RHS       ROW       4.5
"""
QUADOBJ = "QUADOBJ\n    X  X   2.0\n    X  Y  -1.0\n    Y  Y   4.0\n    Y  Z   0.5\n"
QMATRIX = "QMATRIX\n    X  X   2.0\n    X  Y  -1.0\n    Y  X  -1.0\n    Y  Y   4.0\n    Z  Y   0.5\n    Y  Z   0.5\n"
BOUNDS = "BOUNDS\n UP BND       X         9\n"
SPACED = """NAME          SPACED
ROWS
 N  THE COST
 L  ROW ONE
COLUMNS
    COL A     THE COST           1.5   ROW ONE            2.0
    COL B     ROW ONE            1.0
RHS
              ROW ONE            8.0
{}
    COL A     COL A              2.0   COL B             -1.0
    COL B     COL B              3.0
ENDATA
"""


def read(text: str) -> Model:
    return read_mps(Source("model.mps", tuple(text.split("\n"))))


def form(model: Model) -> list[list[float]]:
    assert model.quadratic is not None
    return model.quadratic.toarray().tolist()


VALID = {
    "a triangle": QUADOBJ,
    "the other": QUADOBJ.replace("X  Y", "Y  X").replace("Y  Z", "Z  Y"),
    "one of each": QUADOBJ.replace("X  Y", "Y  X"),
    "two pairs in a line": QUADOBJ.replace("2.0\n    X", "2.0 "),
    "of the objective": QUADOBJ.replace("QUADOBJ", "QSECTION      COST"),
    "both": QMATRIX,
    "both, two pairs": QMATRIX.replace("-1.0\n    Y  Y", "-1.0  Y"),
    "tabs": QMATRIX.replace("  ", "\t"),
    "fortran": QUADOBJ.replace("4.0", "0.4D+01"),
    "before the bounds": QUADOBJ + BOUNDS,
    "after the bounds": BOUNDS + QUADOBJ,
    "a zero": QUADOBJ + "    X  Z  0\n",
}


@pytest.mark.parametrize("name", VALID)
def test_sound_files_are_read_as_highs_reads_them(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.mps"
    path.write_text(HEAD + VALID[name] + "ENDATA\n")
    model = read_mps(read_source(path))
    assert form(model) == FORM
    if WHOLE_FORMS or name not in {"the other", "one of each"}:
        assert as_we_read(model) == as_highs_reads(path)


@pytest.mark.parametrize("text", [
    QUADOBJ.replace("QUADOBJ", "quadobj"), "\n".join(line.strip() for line in QUADOBJ.split("\n")),
    QUADOBJ.replace("QUADOBJ", "QSECTION\tCOST"),
])  # fmt: skip
def test_other_ways_to_write_it(text: str) -> None:
    assert form(read(HEAD + text + "ENDATA\n")) == FORM


@pytest.mark.parametrize("header", ["QUADOBJ", "QSECTION      THE COST"])
def test_names_with_spaces_in_fixed_columns(header: str) -> None:
    assert form(read(SPACED.format(header))) == [[2.0, -1.0], [-1.0, 3.0]]


def test_a_section_like_a_name() -> None:
    """A column may be called as the section is: lines of data have more words."""
    text = HEAD.replace(" X  ", " QUADOBJ").replace("    ", "") + "QUADOBJ\nQUADOBJ QUADOBJ 2\nQUADOBJ Y 1\nENDATA\n"
    assert form(read(text)) == [[2.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize("text", ["", "QUADOBJ\n", "QUADOBJ\n    X  Y  0.0\n", "QMATRIX\n    X  Y  0\n"])
def test_nothing_of_a_quadratic_part_is_a_linear_model(text: str) -> None:
    assert read(HEAD + text + "ENDATA\n").quadratic is None


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**20))
def test_what_highs_writes(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "model.mps"
    curved(seed).writeModel(str(path))
    assert as_we_read(read_mps(read_source(path))) == as_highs_reads(path)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**20), section=st.sampled_from(["QUADOBJ", "QMATRIX", "QSECTION COST"]))
def test_forms_that_are_drawn(seed: int, section: str, tmp_path: Path) -> None:
    """Any pairs, in any order, of either triangle or of both."""
    rng, path = np.random.default_rng(seed), tmp_path / "model.mps"
    matrix = np.triu(np.where(rng.random((3, 3)) < 0.6, rng.normal(size=(3, 3)), 0.0))
    matrix = matrix + np.triu(matrix, 1).T
    places = [(i, j) for i, j in zip(*np.nonzero(matrix)) if section == "QMATRIX" or i <= j]
    lines = []
    for i, j in rng.permutation(places).reshape(-1, 2):
        pair = (i, j) if rng.random() < 0.5 or section == "QMATRIX" else (j, i)
        lines.append("    {}  {}  {!r}\n".format(*("XYZ"[k] for k in pair), float(matrix[i, j])))
    path.write_text(HEAD + f"{section}\n" + "".join(lines) + "ENDATA\n")
    model = read_mps(read_source(path))
    if WHOLE_FORMS:
        assert as_we_read(model) == as_highs_reads(path)
    assert np.array_equal(np.zeros((3, 3)) if model.quadratic is None else model.quadratic.toarray(), matrix)


BROKEN = {
    # HiGHS adds most of these up, adds columns to the model, or takes what it read so far.
    "unknown column": (QUADOBJ, "Y  Y", "Y  W", 15, "'W' is not a column"),
    "unknown first column": (QUADOBJ, "Y  Y", "W  Y", 15, "'W' is not a column"),
    "a row": (QUADOBJ, "Y  Y", "Y  ROW", 15, "'ROW' is not a column"),
    "a number": (QUADOBJ, "4.0", "4.o", 15, "'4.o' is not a finite number (QUADOBJ, columns 'Y' and 'Y')"),
    "an infinite number": (QMATRIX, "4.0", "inf", 16, "'inf' is not a finite number"),
    "no number": (QUADOBJ, "4.0", "", 15, "a column, then one or two pairs of a column and a number are expected"),
    "no column": (QUADOBJ, "Y  Y", "Y", 15, "a column, then one or two pairs"),
    "a word too many": (QUADOBJ, "4.0", "4.0 X 1 Z 2", 15, "one or two pairs"),
    "twice": (QUADOBJ, "Y  Z", "X  X", 16, "the entry of 'X' and 'X' is in line 13 already"),
    "twice in a line": (QUADOBJ, "0.5", "0.5 Z 0.5", 16, "the entry of 'Y' and 'Z' is in line 16 already"),
    "both triangles": (QUADOBJ, "Y  Z   0.5", "Y  X  -1.0", 16, "'Y' and 'X' is in line 14 already"),
    "twice of both triangles": (QMATRIX, "Z  Y", "X  Y", 17, "the entry of 'X' and 'Y' is in line 14 already"),
    "not symmetric": (QMATRIX, "Y  X  -1.0", "Y  X  -1.1", 14, "has -1.0 for 'X' and 'Y', but -1.1 the other way"),
    "one triangle": (QMATRIX, "    Z  Y   0.5\n", "", 17, "0.5 for 'Y' and 'Z', but no entry the other way round"),
    "another row": (QUADOBJ, "QUADOBJ", "QSECTION  ROW", 12, "the row 'ROW', and the objective is 'COST'"),
    "another free row": (QUADOBJ, "QUADOBJ", "QSECTION  FREE", 12, "quadratic constraints cannot be read"),
    "no row": (QUADOBJ, "QUADOBJ", "QSECTION", 12, "QSECTION names no row"),
    "constraints": (QUADOBJ, "QUADOBJ", "QCMATRIX  ROW", 12, "quadratic constraints cannot be read: only the"),
    "again": (QUADOBJ, "    Y  Z", "QUADOBJ\n    Y  Z", 16, "the section QUADOBJ comes twice"),
    "as another section": (QUADOBJ, "    Y  Z", "QMATRIX\n    Y  Z", 16, "comes twice, in QUADOBJ and QMATRIX"),
    "a row beside the header": (QUADOBJ, "QUADOBJ", "QUADOBJ COST", 12, "'QUADOBJ' is not a row"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_refused_with_its_line(name: str) -> None:
    text, old, new, line, message = BROKEN[name]
    assert text.count(old) == 1
    with mistake("path", f"'model.mps', line {line}: ", message):
        read(HEAD + text.replace(old, new) + "ENDATA\n")


def test_columns_come_first() -> None:
    with mistake("path", "line 6: the section QUADOBJ"):
        read(HEAD.replace("COLUMNS", "QUADOBJ\nCOLUMNS") + "ENDATA\n")


@pytest.mark.parametrize(("text", "meant"), [
    (QUADOBJ.replace("Y  Y", "y  Y"), "'Y'?"),
    (QUADOBJ + "    Z  Y  0.5\n", "QMATRIX"),
    (QMATRIX + "    X  Z  0.5\n", "QUADOBJ"),
])  # fmt: skip
def test_what_may_have_been_meant(text: str, meant: str) -> None:
    with mistake("path", meant):
        read(HEAD + text + "ENDATA\n")


def test_broken_numbers_in_fixed_columns() -> None:
    with mistake("path", "'model.mps', line"):
        read(SPACED.format("QUADOBJ").replace("-1.0", "-1x0"))

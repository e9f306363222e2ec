from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from foresolve.problems.readers.model import Model
from foresolve.problems.readers.mps import read_mps
from foresolve.problems.readers.source import Source
from mistakes import mistake
from problems.readers.highs_models import as_highs_reads, as_we_read

MODEL = """NAME          SMALL
OBJSENSE
    MAX
* a comment
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
SPACED = """NAME          SPACED
ROWS
 N  THE COST
 L  ROW ONE
 E  ROW TWO
COLUMNS
    M1        'MARKER'                 'INTORG'
    COL A     THE COST           1.5   ROW ONE            2.0
    COL A     ROW TWO            1.0
    M2        'MARKER'                 'INTEND'
    COL B     ROW ONE            1.0   ROW TWO           -1.0
RHS
              ROW ONE            8.0   ROW TWO            1.0
BOUNDS
 UP BND       COL A              4.0
 MI BND       COL B
ENDATA
"""


def read(text: str) -> Model:
    return read_mps(Source("model.mps", tuple(text.split("\n"))))


def changed(old: str, new: str, text: str = MODEL) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


def test_reads_every_part() -> None:
    model = read(MODEL)
    assert model.matrix.toarray().tolist() == [[1, 1, 0], [1, -1, 0], [1, 0, 1], [0, 1, 0]]
    assert model.row_lower.tolist() == [-np.inf, -2.0, 3.0, 0.5]
    assert model.row_upper.tolist() == [4.5, 2.0, 3.0, np.inf]
    assert model.lower.tolist() == [0.0, 0.0, -np.inf]
    assert model.upper.tolist() == [9.0, 3.0, np.inf]
    assert model.integrality.tolist() == [1, 0, 0]
    assert model.coefficients.tolist() == [3.0, 2.0, -1.0]
    assert (model.offset, model.maximize, model.names) == (5.0, True, ("X", "Y", "Z"))


def test_names_with_spaces_in_fixed_columns() -> None:
    model = read(SPACED)
    assert model.names == ("COL A", "COL B")
    assert model.matrix.toarray().tolist() == [[2, 1], [1, -1]]
    assert (model.row_upper.tolist(), model.lower.tolist()) == ([8.0, 1.0], [0.0, -np.inf])
    assert (model.integrality.tolist(), model.upper.tolist()) == ([1, 0], [4.0, np.inf])
    assert (model.coefficients.tolist(), model.maximize) == ([1.5, 0.0], None)


VALID = {
    "all of it": MODEL,
    "sense beside its keyword": changed("OBJSENSE\n    MAX", "OBJSENSE MAX"),
    "sense spelled out": changed("    MAX\n", "    MINIMIZE\n"),
    "no name": changed("NAME          SMALL\n", ""),
    "no names of sets": MODEL.replace("    RHS  ", "    ").replace(" BND ", " "),
    "not indented": "\n".join(line.strip() for line in MODEL.split("\n")),
    "tabs": MODEL.replace("    ", "\t"),
    "windows": MODEL,
    "fortran": changed("4.5", "4.5D+00"),
    "infinite bounds": changed(" FR BND       Z", " MI BND       Z\n PL BND       Z"),
    "lower integer": changed("UP BND       Y", "LI BND       Y"),
    "binary, fixed": changed("UP BND       X         9", "BV BND       X").replace("UP BND       Y", "FX BND       Y"),
    "numbers where none are needed": changed(" FR BND       Z", " FR BND       Z   0.0"),
    "integers without bounds": changed(" UP BND       X         9\n", ""),
    "upper integer": changed("UP BND       X", "UI BND       X"),
    "range of an equality": changed("RNG       C2        4.0", "RNG       C3       -4.0  C1  2.0"),
    "range of an equality, up": changed("RNG       C2        4.0", "RNG       C3        4.0  C4  -2.0"),
    "no right-hand side": changed("C1        4.5", "C1        inf").replace("C4        0.5", "C4        -1e30"),
    "no bound": changed("UP BND       X         9", "UP BND       X        1e30"),
    "infinity": changed("UP BND       X         9", "UP BND       X        Inf"),
    "a zero": changed("Y         C4        1.0", "Y         C4        0"),
    "without rows": "NAME\nROWS\n N COST\nCOLUMNS\n x COST 1\nBOUNDS\n LO B x 1\nENDATA\n",
    "column names like sections": MODEL.replace(" X  ", " RHS").replace(" Y  ", " ROWS"),
}  # fmt: skip


@pytest.mark.parametrize("name", VALID)
def test_sound_files_are_read_as_highs_reads_them(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.mps"
    path.write_text(VALID[name], newline="\r\n" if name == "windows" else None)
    assert as_we_read(read(VALID[name])) == as_highs_reads(path)


@pytest.mark.parametrize("text", [
    changed("OBJSENSE\n    MAX", "OBJSENSE MAXIMIZE"), changed("    MAX\n", "    MAXIMISE\n"),
    changed("    RNG       C2", "    C2"),
])  # fmt: skip
def test_what_highs_misreads(text: str) -> None:
    assert as_we_read(read(text)) == as_we_read(read(MODEL))


BROKEN = {
    # HiGHS takes each of these for 0, skips it, adds to the model or never comes back.
    "number of RHS": ("C1        4.5", "C1        4x.0", 23, "'4x.0' is not a number (RHS, row 'C1')"),
    "number of RHS, objective": ("OBJ  -5.0", "OBJ  -5,0", 24, "'-5,0' is not a finite number"),
    "number of COLUMNS": ("OBJ       3.0", "OBJ       3.o", 14, "'3.o' is not a finite number (column 'X', row 'OBJ')"),
    "second number": ("C3   1.0\n    MARKER", "C3   .\n    MARKER", 15, "'.' is not a finite number"),
    "infinite entry": ("C4        1.0", "C4        inf", 19, "'inf' is not a finite number"),
    "number of RANGES": ("C2        4.0", "C2        four", 27, "'four' is not a number (RANGES, row 'C2')"),
    "number of BOUNDS": ("X         9", "X         9_", 29, "'9_' is not a number (bound of 'X')"),
    "not a number": ("X         9", "X         nan", 29, "'nan' is not a number"),
    "number missing in COLUMNS": ("C4        1.0", "C4", 19, "one or two pairs"),
    "number missing in RHS": ("C4        0.5", "C4", 25, "'RHS' is not a row"),
    "number missing in BOUNDS": ("UP BND       X         9", "UP BND       X", 29, "'BND' is not a column"),
    "row of COLUMNS": ("C4        1.0", "C5        1.0", 19, "'C5' is not a row"),
    "row of RHS": ("C4        0.5", "CX        0.5", 25, "'CX' is not a row"),
    "row of RANGES": ("RNG       C2", "RNG       c2", 27, "'c2' is not a row"),
    "column of BOUNDS": ("BND       Z", "BND       ZZ", 31, "'ZZ' is not a column"),
    "type of a row": (" E  C3", " Q  C3", 9, "'Q' is no type of a row"),
    "type of a bound": ("FR BND", "XX BND", 31, "'XX' is no type of a bound"),
    "row twice": (" N  FREE", " L  C1", 11, "the row 'C1' comes twice"),
    "column again": ("Z         OBJ       -1.0", "X         C4        -1.0", 20, "'X' comes again"),
    "entry twice": ("C4        1.0", "C1        1.0", 19, "row 'C1' has two entries"),
    "cost twice": ("C4        1.0", "OBJ       1.0", 19, "row 'OBJ' has two entries"),
    "free entry twice": ("C4        1.0", "FREE      1.0", 19, "row 'FREE' has two entries"),
    "RHS twice": ("C4        0.5", "C1        0.5", 25, "row 'C1' has two entries in RHS"),
    "two sets of RHS": ("RHS       C4", "RHS2      C4", 25, "a second set 'RHS2' after 'RHS'"),
    "bound twice": ("BND       Y", "BND       X", 30, "an upper bound of the variable is given twice"),
    "range of a free row": ("RNG       C2", "RNG       OBJ", 27, "'OBJ' is free"),
    "negative upper bound": ("X         9", "X        -9", 29, "an upper bound below 0 without a lower bound"),
    "marker": ("'INTEND'", "'INTORG'", 16, "the marker 'INTORG' is out of place"),
    "no marker": ("'MARKER'  'INTEND'", "'MARKER'", 16, "a marker is three words"),
    "marker and more": ("'MARKER'  'INTEND'", "'MARKER'  'INTEND' 1", 16, "a marker is three words"),
    "bound without a number": ("UP BND       X         9", "UP X", 29, "the bound UP of 'X' has no number"),
    "marker never closed": ("    MARKER    'MARKER'  'INTEND'\n", "", 31, "has no 'INTEND'"),
    "sense": ("    MAX", "    MAXIMAL", 3, "'MAXIMAL' is neither MIN nor MAX"),
    "section": ("RANGES", "RANGE", 26, "one or two pairs"),
    "quadratic rows": ("RANGES", "QCMATRIX C1", 26, "only the objective may be quadratic"),
    "special sets": ("RANGES", "SOS", 26, "SOS holds what a linear program"),
    "section twice": ("RANGES", "RHS", 26, "the section RHS comes twice"),
    "order": ("ROWS\n N  OBJ", "BOUNDS\n N  OBJ", 5, "the section BOUNDS comes before COLUMNS"),
    "cut off": ("ENDATA\n", "", 32, "the file ends without ENDATA"),
    "semi-continuous": ("UP BND       Y", "SC BND       Y", 30, "'Y' is semi-continuous"),
    "ambiguous": (" FR BND       Z", " FR Y         Z", 31, "'Y' may be the set or the column"),
    "another objective": ("RANGES", "OBJNAME", 26, "OBJNAME chooses the objective, which is the first row of type N"),
    "infinite side": ("C4        0.5", "C4        inf", 25, "row 'C4' has an infinite side, which nothing satisfies"),
    "infinite equality": ("C3        3.0", "C3       -1e30", 24, "row 'C3' has an infinite side"),
    "infinite lower bound": ("UP BND       Y", "LO BND       Y  inf\n UP BND       Y", 30, "the bound is infinite"),
    "infinite upper bound": ("X         9", "X        -inf", 29, "the bound is infinite"),
    "a word too many": ("C4        0.5", "C4  0.5  C3  1.0  2.0", 25, "one or two pairs"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_refused_with_its_line(name: str) -> None:
    old, new, line, message = BROKEN[name]
    with mistake("path", f"'model.mps', line {line}: ", message):
        read(changed(old, new))


@pytest.mark.parametrize(("old", "new", "meant"), [
    ("RNG       C2", "RNG       c2", "C2"), ("BND       Z", "BND       ZZ", "Z"), (MODEL, "ROW\n N C\n", "ROWS"),
])  # fmt: skip
def test_what_may_have_been_meant(old: str, new: str, meant: str) -> None:
    with mistake("path", f"{meant!r}?"):
        read(changed(old, new))


@pytest.mark.parametrize("place", ["THE COST           1.5", "ROW ONE            8.0", "COL A              4.0"])
def test_broken_numbers_in_fixed_columns(place: str) -> None:
    with mistake("path", "'model.mps', line"):
        read(changed(place, place.replace(".", "x"), SPACED))


def test_a_marker_in_fixed_columns_holds_nothing_else() -> None:
    marker = "M2        'MARKER'  {:13}  'INTEND'"
    assert read(changed(marker.format(""), marker.format(""), SPACED)).integrality.tolist() == [1, 0]
    with mistake("path", "'model.mps', line"):
        read(changed(marker.format(""), marker.format("["), SPACED))


@pytest.mark.parametrize("text", [
    "COLUMNS\n UP BND       X1           4.0\n\n    X1        LIM2         1.0",  # HiGHS never comes back from these
    "ROWS\n N C\nCOLUMNS\nENDATA",
    "ROWS\n N C\nCOLUMNS\n x",
])  # fmt: skip
def test_fragments_are_refused(text: str) -> None:
    with mistake("path", "'model.mps', line"):
        read(text)


def test_the_right_hand_side_of_a_free_row_is_none_of_the_objective() -> None:
    model = read(changed("C4        0.5", "FREE      0.5"))  # HiGHS makes it the objective's constant
    assert model.offset == 5.0

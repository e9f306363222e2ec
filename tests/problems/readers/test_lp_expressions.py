"""The quadratic part of an objective in an LP file; other expressions are tried with the sections."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foresolve.problems.readers.lp_format import read_lp
from foresolve.problems.readers.model import Model
from foresolve.problems.readers.source import Source, read_source
from mistakes import mistake
from problems.readers.highs_models import WHOLE_FORMS, as_highs_reads, as_we_read, curved

ROWS = "\nst\n c: x + y + z <= 4\nbounds\n x <= 3\nend\n"


def text_of(objective: str) -> str:
    return f"min\n obj: {objective}{ROWS}"


def read(objective: str) -> Model:
    return read_lp(Source("model.lp", tuple(text_of(objective).split("\n"))))


def form(model: Model) -> list[list[float]]:
    assert model.quadratic is not None
    return model.quadratic.toarray().tolist()


VALID = {
    "x + y + [ x^2 + 4 x*y + 2 y^2 ] / 2": [[1, 2, 0], [2, 2, 0], [0, 0, 0]],
    "x + [ x ^ 2 - 3 x * y + 2 y ^ 2 ]/2 + 5": [[1, -1.5, 0], [-1.5, 2, 0], [0, 0, 0]],
    "[ x^2 ] / 2 + x - 2 y": [[1, 0, 0], [0, 0, 0], [0, 0, 0]],
    "[x^2] / 2": [[1, 0, 0], [0, 0, 0], [0, 0, 0]],
    "[ x*x + 2.5e0 x * y + y * x ] / 2": [[1, 1.75, 0], [1.75, 0, 0], [0, 0, 0]],
    "x + [ 2 x^2 ] / 2 + [ y^2 + x^2 ] / 2": [[3, 0, 0], [0, 1, 0], [0, 0, 0]],
    "y + [ - x^2 + z^2\n - 2 x *\n z ]\n /\n 2\n + z": [[0, 0, 0], [0, -1, -1], [0, -1, 1]],
    "z + [ x^2 - x^2 + y^2 ] / 2": [[0, 0, 0], [0, 0, 0], [0, 0, 1]],
}  # fmt: skip
REPEATED = {
    "[ x*x + 2.5e0 x * y + y * x ] / 2", "x + [ 2 x^2 ] / 2 + [ y^2 + x^2 ] / 2", "z + [ x^2 - x^2 + y^2 ] / 2"
}  # fmt: skip


@pytest.mark.parametrize("objective", VALID)
def test_sound_files_are_read_as_highs_reads_them(objective: str, tmp_path: Path) -> None:
    path = tmp_path / "model.lp"
    path.write_text(text_of(objective))
    model = read(objective)
    assert form(model) == VALID[objective]
    if WHOLE_FORMS or objective not in REPEATED:
        assert as_we_read(model) == as_highs_reads(path)


# HiGHS refuses these.
@pytest.mark.parametrize(("objective", "expected"), [
    ("x - [ x^2 + 4 x*y ] / 2", [[-1, -2, 0], [-2, 0, 0], [0, 0, 0]]),
    ("x - [ - x^2 ] / 2.0", [[1, 0, 0], [0, 0, 0], [0, 0, 0]]),
    ("[x*y]/2 + z", [[0, 0.5, 0], [0.5, 0, 0], [0, 0, 0]]),
])  # fmt: skip
def test_other_ways_to_write_it(objective: str, expected: list[list[float]]) -> None:
    assert form(read(objective)) == expected


def test_names_with_brackets() -> None:
    source = "min\n obj: [x[1]^2 + 4 x[1]*y[2]] / 2\nst\n c: x[1] + y[2] >= 1\nend\n"
    model = read_lp(Source("model.lp", tuple(source.split("\n"))))
    assert (model.names, form(model)) == (("x[1]", "y[2]"), [[1.0, 2.0], [2.0, 0.0]])


@pytest.mark.parametrize("objective", ["x", "x + [ ] / 2", "x + [ x^2 - x * x ] / 2", "x + [ 0 x * y ] / 2"])
def test_nothing_of_a_quadratic_part_is_a_linear_model(objective: str) -> None:
    assert read(objective).quadratic is None


def test_variables_of_the_quadratic_part_alone_are_used() -> None:
    source = "max\n obj: x + [ - w^2 ] / 2\nst\n c: x <= 4\nbounds\n w <= 3\nend\n"
    model = read_lp(Source("model.lp", tuple(source.split("\n"))))  # a name that nothing uses is warned of
    assert (model.names, model.maximize) == (("x", "w"), True)
    assert form(model) == [[0.0, 0.0], [0.0, -1.0]]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**20))
def test_what_highs_writes(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "model.lp"
    curved(seed).writeModel(str(path))
    assert as_we_read(read_lp(read_source(path))) == as_highs_reads(path)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**20))
def test_forms_that_are_drawn(seed: int, tmp_path: Path) -> None:
    """Any products, in any order, some of them in parts."""
    rng, path = np.random.default_rng(seed), tmp_path / "model.lp"
    terms, matrix = [], np.zeros((3, 3))
    for _ in range(int(rng.integers(1, 8))):
        (i, j), factor = rng.integers(0, 3, 2), int(rng.integers(-8, 9)) / 4
        matrix[i, j] += factor / 2
        matrix[j, i] += factor / 2
        product = f"{'xyz'[i]} ^ 2" if i == j and rng.random() < 0.5 else f"{'xyz'[i]} * {'xyz'[j]}"
        terms.append(f"{'-' if factor < 0 else '+'} {abs(factor)} {product}")
    objective = f"x + 2 y + 3 z + [ {' '.join(terms)} ] / 2"
    path.write_text(text_of(objective))
    model = read(objective)
    if WHOLE_FORMS:
        assert as_we_read(model) == as_highs_reads(path)
    assert np.array_equal(np.zeros((3, 3)) if model.quadratic is None else model.quadratic.toarray(), matrix)


BROKEN = {
    "x + [ x^2 ]": (3, "the quadratic part of an objective ends with `] / 2`"),
    "x + [ x^2 ] / 3": (2, "ends with `] / 2`, not '3'"),
    "x + [ x^2 ] / x": (2, "ends with `] / 2`, not 'x'"),
    "x + [ x^2 ] * 2": (2, "ends with `] / 2`"),
    "x + 2 [ x^2 ] / 2": (2, "no + or - stands before '['"),
    "x [ x^2 ] / 2": (2, "no + or - stands before '['"),
    "x + [ x^3 ] / 2": (2, "a square is `x ^ 2`, not '3'"),
    "x + [ x^y ] / 2": (2, "a square is `x ^ 2`, not 'y'"),
    "x + [ x ] / 2": (2, "a term in brackets is a square, `x ^ 2`, or a product, `x * y`"),
    "x + [ x y ] / 2": (2, "a term in brackets is a square"),
    "x + [ 3 ] / 2": (2, "a variable must stand in place of ']'"),
    "x + [ 2 * x^2 ] / 2": (2, "a variable must stand in place of '*'"),
    "x + [ x * 2 ] / 2": (2, "a variable must stand in place of '2'"),
    "x + [ x * y * z ] / 2": (2, "no + or - stands before '*'"),
    "x + [ x^2 y^2 ] / 2": (2, "no + or - stands before 'y'"),
    "x + [ 2 3 x^2 ] / 2": (2, "two numbers, '2' and '3', follow each other"),
    "x + [ 1e999 x^2 ] / 2": (2, "'1e999' is not a finite number"),
    "x + [ nan * x ] / 2": (2, "'nan' is not a finite number"),
    "x + [ x^2 + ] / 2": (2, "a variable must stand in place of ']'"),
    "x + [ x^2 + [ y^2 ] ] / 2": (2, "a variable must stand in place of '['"),
    "x + x^2": (2, "'^' stands outside of the objective's quadratic part, `[ ... ] / 2`"),
    "x + x * y": (2, "'*' stands outside of the objective's quadratic part"),
    "x / 2": (2, "'/' stands outside of the objective's quadratic part"),
    "x + y ]": (2, "']' stands outside of the objective's quadratic part"),
    "x + [ x^2\n + y^2": (4, "the bracket of the quadratic part is not closed"),
}  # fmt: skip


@pytest.mark.parametrize("objective", BROKEN)
def test_what_is_broken_is_refused_with_its_line(objective: str) -> None:
    line, message = BROKEN[objective]
    with mistake("path", f"'model.lp', line {line}: ", message):
        read(objective)


@pytest.mark.parametrize("row", ["[ x^2 ] <= 4", "x + [ x^2 ] / 2 <= 4", "x - [ x * y ] >= 4", "4 >= [ x^2 ]"])
def test_quadratic_constraints_are_refused(row: str) -> None:
    text = text_of("x + [ x^2 ] / 2").replace("c: x + y + z <= 4", f"c: {row}")
    with mistake("path", "line 4: '['"):
        read_lp(Source("model.lp", tuple(text.split("\n"))))

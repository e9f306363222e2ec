from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from foresolve.errors import ForesolveWarning
from foresolve.problems.readers.lp_format import read_lp
from foresolve.problems.readers.model import Model
from foresolve.problems.readers.source import Source
from mistakes import mistake
from problems.readers.highs_models import as_highs_reads, as_we_read

MODEL = """\\ bread and cake
Maximize
 value: 3 bread + 2.5e0 cake
  - cost + 10
Subject To
 flour: bread + 2 cake <= 8
 oven: bread
  + cake
  <= 5.5
 wages: 4 bread + cake - cost + 0 spare + 0 loose + 0 open = 0
Bounds
 1 <= bread <= 4
 cost <= 100
 -inf <= spare <= 0
 loose free
General
 cake
Binary
 open
End
"""


def read(text: str) -> Model:
    return read_lp(Source("model.lp", tuple(text.split("\n"))))


def changed(old: str, new: str) -> str:
    assert MODEL.count(old) == 1
    return MODEL.replace(old, new)


def test_reads_every_part() -> None:
    model = read(MODEL)
    assert model.names == ("bread", "cake", "cost", "spare", "loose", "open")
    assert model.matrix.toarray()[:, :3].tolist() == [[1, 2, 0], [1, 1, 0], [4, 1, -1]]
    assert model.row_lower.tolist() == [-np.inf, -np.inf, 0.0]
    assert model.row_upper.tolist() == [8.0, 5.5, 0.0]
    assert model.lower.tolist() == [1.0, 0.0, 0.0, -np.inf, -np.inf, 0.0]
    assert model.upper.tolist() == [4.0, np.inf, 100.0, 0.0, np.inf, 1.0]
    assert model.integrality.tolist() == [0, 1, 0, 0, 0, 1]
    assert model.coefficients.tolist() == [3.0, 2.5, -1.0, 0.0, 0.0, 0.0]
    assert (model.offset, model.maximize) == (10.0, True)


VALID = {
    "all of it": MODEL,
    "short keywords": "min\n x + y\nst\n x + y >= 2\nbounds\n x <= 4\ngen\n y\nend\n",
    "on one line": "max obj: x + y\nsubject to c: x + y <= 2\nend\n",
    "a coefficient without a space": changed("2 cake <= 8", "2cake <= 8"),
    "signs": changed("- cost + 10", "- cost + 10 - 3 open"),
    "negative sides": changed("<= 8", ">= - 8"),
    "no objective": "min\n obj:\nst\n c: x >= 1\nend\n",
    "a bound from the right": changed("cost <= 100", "100 >= cost"),
    "fixed": changed("cost <= 100", "cost = 7"),
    "infinite bounds": changed("cost <= 100", "cost >= -infinity"),
    "lines broken within terms": changed("2.5e0 cake\n  - cost", "2.5e0\n cake -\n  2\n cost").replace("<= 8", "<=\n8"),
    "an empty section": changed("Binary\n open\n", "Binary\n"),
    "names with dots and signs": MODEL.replace("cake", "ca.ke_1!"),
}  # fmt: skip


@pytest.mark.parametrize("name", VALID)
def test_sound_files_are_read_as_highs_reads_them(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.lp"
    path.write_text(VALID[name])
    assert as_we_read(read(VALID[name])) == as_highs_reads(path)


# HiGHS refuses these or reads them wrongly.
@pytest.mark.parametrize(("text", "rows", "lower", "upper"), [
    ("1 <= x + y <= 5", [1, 1], 1, 5), ("5 >= x + y >= 1", [1, 1], 1, 5), ("5 <= x + y", [1, 1], 5, np.inf),
    ("x + y < 5", [1, 1], -np.inf, 5), ("x - y => 5", [1, -1], 5, np.inf), ("x + 3 + y >= 5", [1, 1], 2, np.inf),
    ("x + y + 2 x <= 5", [3, 1], -np.inf, 5), ("5 = x + y + 1", [1, 1], 4, 4), ("x + - 2 y <= 5", [1, -2], -np.inf, 5),
    ("1 <= x + y\n  <= 5", [1, 1], 1, 5),
])  # fmt: skip
def test_forms_of_rows(text: str, rows: list[float], lower: float, upper: float) -> None:
    model = read(f"min\n obj: x + y\nst\n c: {text}\n d: x <= 9\nend\n")
    assert model.matrix.toarray().tolist() == [rows, [1, 0]]
    assert (model.row_lower[0], model.row_upper[0]) == (lower, upper)


def test_terms_of_one_variable_are_summed() -> None:
    model = read("min\n obj: x + 2 x + infeasible\nst\n c: x >= 1\nend\n")
    assert model.coefficients.tolist() == [3.0, 1.0]
    assert model.names == ("x", "infeasible")


def test_names_with_brackets() -> None:
    assert read("min\n obj: x[1] + y(2,3)\nst\n c: x[1] >= 1\nend\n").names == ("x[1]", "y(2,3)")


def test_a_binary_keeps_its_tighter_bounds() -> None:
    model = read(changed(" loose free", " open = 1"))
    assert (model.lower[-1], model.upper[-1]) == (1.0, 1.0)


BROKEN = {
    "two numbers": ("3 bread", "3 3 bread", 3, "two numbers, '3' and '3'"),
    "a number with two points": ("2.5e0 cake", "2.5.0 cake", 3, "two numbers, '2.5' and '.0'"),
    "a broken right-hand side": ("<= 8", "<= 4x.0", 6, "'x.0' follows after the number of a row"),
    "words for numbers": ("<= 8", "<= eight", 6, "'eight' is not a number (right-hand side)"),
    "a sum on the right": ("<= 8", "<= 8 + 1", 6, "'+' follows after the number"),
    "variables on the right": ("<= 8", "<= 8 cost", 6, "'cost' follows after the number"),
    "no sign": ("3 bread + 2.5e0", "3 bread 2.5e0", 3, "no + or - stands before '2.5e0'"),
    "a broken exponent": ("2.5e0 cake", "2.5 e0 cake", 3, "no + or - stands before 'cake'"),
    "not a number": ("3 bread", "nan + bread", 3, "'nan' is not a finite number"),
    "infinite coefficient": ("3 bread", "inf + bread", 3, "'inf' is not a finite number"),
    "too large": ("3 bread", "1e999 bread", 3, "'1e999' is not a finite number"),
    "a sign alone": ("- cost + 10", "- cost +", 5, "a sign has no term"),
    "a comma": ("<= 8", "<= 8,5", 6, "',' has no meaning"),
    "a semicolon": ("<= 8", "<= 8;", 6, "';' has no meaning"),
    "a product": ("3 bread", "3 * bread", 3, "'*' stands outside of the objective's quadratic part, `[ ... ] / 2`"),
    "a square": ("3 bread", "3 bread ^ 2", 3, "'^' stands outside of the objective's quadratic part"),
    "a quadratic row": ("+ 2 cake <= 8", "+ [ cake ^ 2 ] <= 8", 6, "'[' begins a quadratic constraint: only the"),
    "a product in a row": ("2 cake <= 8", "2 cake * cost <= 8", 6, "'*' stands outside of the objective's"),
    "a product as a bound": ("cost <= 100", "cost * bread <= 100", 13, "<=, >= or = must stand in place of '*'"),
    "an indicator": ("<= 8", "<= 8\n i: open = 1 -> cake <= 3", 7, "'->' begins an indicator constraint"),
    "no comparison": ("flour: bread + 2 cake <= 8", "flour: bread + 2 cake", 7, "<=, >= or = must stand"),
    "a range of two kinds": ("bread + 2 cake <= 8", "1 <= bread >= 3", 6, "a range is"),
    "a row that may go on": ("flour: bread + 2 cake <= 8", "flour: 1 <= bread\n + cake <= 3", 7, "it may continue"),
    "a factor or a number": ("flour: bread + 2 cake <= 8", "flour: 1 <= bread + 3\n cake <= 3", 7, "it may cont"),
    "row twice": ("oven:", "flour:", 7, "the row 'flour' comes twice"),
    "bound twice": ("-inf <= spare <= 0", "cost <= 3", 14, "an upper bound of the variable is given twice"),
    "a broken bound": ("cost <= 100", "cost <= 1o0", 13, "'o0' follows after the number of a bound"),
    "a bound without a number": ("cost <= 100", "cost <= x", 13, "'x' is not a number (bound)"),
    "negative upper bound": ("cost <= 100", "cost <= -100", 13, "an upper bound below 0 without a lower bound"),
    "a number among the integers": (" cake\nBinary", " cake 3\nBinary", 17, "a variable must stand in place of '3'"),
    "semi-continuous": ("Binary", "Semi-Continuous", 19, "'open' is semi-continuous"),
    "special sets": ("Binary\n", "SOS\n s1: S1 :: cost : 1\n", 18, "sos are more than"),
    "lazy": ("Binary\n", "Lazy Constraints\n c: cost >= 1\n", 18, "lazy constraints are more than"),
    "the objective again": ("Binary\n", "Minimize\n", 18, "the objective comes twice"),
    "cut off": ("End\n", "", 20, "the file ends without `end`"),
    "more after the end": ("End\n", "End\n x\n", 21, "something follows after `end`"),
    "a bracket": ("2 cake <= 8", "2 (cake + cost) <= 8", 6, "'(cake' is no name: products with brackets"),
    "a bracket around a name": ("2 cake <= 8", "2 (cake) <= 8", 6, "'(cake)' is no name"),
    "a bracket that closes": ("2 cake <= 8", "2 cake) <= 8", 6, "'cake)' is no name"),
    "an infinite side": ("2 cake <= 8", "2 cake >= inf", 6, "the number is infinite, which nothing satisfies"),
    "an infinite equality": ("2 cake <= 8", "2 cake = -1e30", 6, "the number is infinite"),
    "an infinite lower bound": ("cost <= 100", "cost >= inf", 13, "the bound is infinite"),
    "an infinite upper bound": ("cost <= 100", "cost <= -inf", 13, "the bound is infinite"),
    "no variables": (MODEL, "min\n obj: 3\nend\n", 4, "the file has no variables"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_refused_with_its_line(name: str) -> None:
    old, new, line, message = BROKEN[name]
    with mistake("path", f"'model.lp', line {line}: ", message):
        read(changed(old, new))


@pytest.mark.parametrize(("old", "new", "facts"), [
    ("1 <= bread <= 4", "1 <= braed <= 4", r"'braed' \(line 12\).*'bread'\?"),
    ("cost <= 100", "Cost <= 100", r"'Cost' \(line 13\).*'cost'\?"),
    (" cake\nBinary", " cakes\nBinary", r"'cakes' \(line 17\).*'cake'\?"),
    (" open\nEnd", " opened\nEnd", r"'opened' \(line 19\).*'open'\?"),
    ("cost <= 100", "water <= 100", r"'water' \(line 13\).*`0 x`"),
])  # fmt: skip
def test_names_that_nothing_uses_are_warned_of(old: str, new: str, facts: str) -> None:
    """HiGHS writes columns without cost and rows so: they are read, and never in silence."""
    with pytest.warns(ForesolveWarning, match=facts):
        model = read(changed(old, new))
    assert new.split()[0 if new[0] != "1" else 2] in model.names


def test_bounds_may_come_before_the_rows() -> None:
    model = read("min\n obj: x\nbounds\n y <= 3\nst\n c: x + y >= 1\nend\n")
    assert (model.names, model.upper.tolist()) == (("x", "y"), [np.inf, 3.0])

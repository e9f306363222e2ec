"""MPS files, free and fixed, read strictly: what is not understood is refused with its line."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Sequence

import numpy as np
import scipy.sparse

from foresolve._base import checks
from foresolve.errors import InvalidInputError
from foresolve.problems.readers.model import INFINITE, Model
from foresolve.problems.readers.mps_lines import QUADRATIC, UNNUMBERED, Line, fixed_line, free_line
from foresolve.problems.readers.mps_quadratic import CONSTRAINTS, QuadraticSection
from foresolve.problems.readers.source import Source

SECTIONS = ("NAME", "OBJSENSE", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "QUADOBJ", "QMATRIX", "ENDATA")
OTHER = {"SOS", "SETS", "INDICATORS", "CSECTION", "DELAYEDROWS", "MODELCUTS", "GENCONS", "PWLOBJ", "PWLNAM", "PWLCON",
         "LAZYCONS", "USERCUTS", "SOS1", "SOS2"}  # fmt: skip
SENSES = {"MAX": True, "MAXIMIZE": True, "MAXIMISE": True, "MIN": False, "MINIMIZE": False, "MINIMISE": False}
SEMI = {"SC", "SI"}
LOWER = {"LO", "LI", "FX", "FR", "MI", "BV"}  # types that say something of the lower bound, and of the upper one
UPPER = {"UP", "UI", "FX", "FR", "PL", "BV"}
INTEGER = {"LI", "UI", "BV"}
Splitter = Callable[[str, str, Container[str]], Line]


def read_mps(source: Source) -> Model:
    """The model in an MPS file: by words, or, where names hold spaces, by the columns of the fixed format."""
    try:
        return MpsReader(source, free_line).model()
    except InvalidInputError as error:
        try:
            return MpsReader(source, fixed_line).model()
        except InvalidInputError:
            raise error from None


class MpsReader:
    """One pass over the lines; the methods named after sections take their lines."""

    def __init__(self, source: Source, split: Splitter) -> None:
        self.source, self.split = source, split
        self.at = 0  # the line under way
        self.maximize: bool | None = None
        self.objective: str | None = None
        self.kinds: dict[str, str] = {}  # of the rows, "N" for free ones
        self.places: dict[str, int] = {}  # of the rows that are no free ones, in order
        self.columns: dict[str, int] = {}
        self.integer: list[bool] = []
        self.within_marker = False
        self.entries: dict[tuple[str, int], float] = {}  # by row and column, free rows and the objective included
        self.sets: dict[str, str] = {}
        self.sides: dict[str, float] = {}
        self.ranges: dict[str, float] = {}
        self.lower: dict[int, float] = {}
        self.upper: dict[int, float] = {}
        self.upper_at: dict[int, int] = {}  # the line of an upper bound
        self.quadratic = QuadraticSection(source, self.columns)

    # -- sections ----------------------------------------------------------------------------------------------------

    def model(self) -> Model:
        """What the file holds."""
        takers = {"OBJSENSE": self._objsense, "ROWS": self._rows, "COLUMNS": self._columns, "RHS": self._rhs,
                  "RANGES": self._ranges, "BOUNDS": self._bounds,
                  **dict.fromkeys(QUADRATIC, self._quadratic)}  # fmt: skip
        for section, text in self._data():
            line = self.split(section, text, self.columns)
            if line.trouble:
                raise self._broken(line.trouble)
            takers[section](line)
        if self.within_marker:
            raise self._broken("the marker 'INTORG' has no 'INTEND'")
        if not self.columns:
            raise self._broken("the file has no columns")
        objective = self.objective or ""
        return Model(
            matrix=self._matrix(), **dict(zip(("row_lower", "row_upper"), self._row_bounds())),
            **dict(zip(("lower", "upper"), self._column_bounds())), integrality=np.array(self.integer, dtype=np.int64),
            coefficients=np.array([self.entries.get((objective, j), 0.0) for j in range(len(self.columns))]),
            offset=0.0 - self.sides.get(objective, 0.0),
            maximize=self.maximize, names=tuple(self.columns), quadratic=self.quadratic.matrix(),
            rows=self.places,
        )  # fmt: skip

    def _data(self) -> Iterator[tuple[str, str]]:
        """The lines with data, each with its section; sections come in order and once."""
        section, seen = "", []
        for number, text in enumerate(self.source.lines, 1):
            self.at = number
            words = text.split()
            if not words or text.startswith("*"):
                continue
            header = self._header(words, text)
            if header is None:
                if section in {"", "NAME"}:
                    raise self._unknown(words[0])
                yield section, text
                continue
            section = header
            if section == "ENDATA":
                return
            self._check_order(section, seen)
            seen.append(section)
            if section in QUADRATIC:
                self.quadratic.begin(number, text, self.objective)
            if section == "OBJSENSE" and len(words) > 1:
                self._objsense(Line(code=words[1]))
        raise self._broken("the file ends without ENDATA, as if it were cut off")

    def _header(self, words: Sequence[str], text: str) -> str | None:
        """The section that a line begins, or `None` for data: keywords may be names too, in lines with more words."""
        word = words[0].upper()
        indented = text[0].isspace()
        if word == "QCMATRIX" and not indented:
            raise self._broken(CONSTRAINTS)
        if word in OTHER and not indented:
            raise self._broken(f"the section {word} holds what a linear program with integers cannot")
        if word == "OBJNAME" and not indented:
            remedy = "Put the row that it names first among those of type N, and take the section out"
            raise self._broken(
                "the section OBJNAME chooses the objective, which is the first row of type N here", remedy
            )
        if word in {"NAME", "OBJSENSE", "QSECTION"} and not indented:
            return word
        return word if word in SECTIONS and len(words) == 1 and not (indented and words[0] != word) else None

    def _check_order(self, section: str, seen: list[str]) -> None:
        if section in seen:
            raise self._broken(f"the section {section} comes twice")
        needs = {"COLUMNS": "ROWS", "NAME": "", "OBJSENSE": "", "ROWS": ""}.get(section, "COLUMNS")
        if needs and needs not in seen:
            raise self._broken(f"the section {section} comes before {needs}")

    def _objsense(self, line: Line) -> None:
        sense = SENSES.get(line.code.upper())
        if sense is None:
            raise self._broken(f"the sense {line.code!r} is neither MIN nor MAX")
        self.maximize = sense

    def _rows(self, line: Line) -> None:
        if line.code not in {"N", "L", "G", "E"}:
            raise self._broken(f"{line.code!r} is no type of a row (N, L, G or E)")
        if line.name in self.kinds:
            raise self._broken(f"the row {line.name!r} comes twice")
        self.kinds[line.name] = line.code
        if line.code != "N":
            self.places[line.name] = len(self.places)
        elif self.objective is None:
            self.objective = line.name

    def _columns(self, line: Line) -> None:
        if line.marker:
            if line.marker not in {"'INTORG'", "'INTEND'"} or self.within_marker == (line.marker == "'INTORG'"):
                raise self._broken(f"the marker {line.marker} is out of place")
            self.within_marker = not self.within_marker
            return
        if line.name not in self.columns:
            self.columns[line.name] = len(self.columns)
            self.integer.append(self.within_marker)
        column = self.columns[line.name]
        if column != len(self.columns) - 1:
            raise self._broken(f"the column {line.name!r} comes again after others")
        for row, text in line.pairs:
            self._check_row(row)
            value = self.source.number(self.at, text, f"column {line.name!r}, row {row!r}")
            if (row, column) in self.entries:
                raise self._broken(f"row {row!r} has two entries in this column")
            self.entries[row, column] = value

    def _rhs(self, line: Line) -> None:
        self._take("RHS", line, self.sides)

    def _ranges(self, line: Line) -> None:
        self._take("RANGES", line, self.ranges)

    def _take(self, section: str, line: Line, into: dict[str, float]) -> None:
        for row, _ in line.pairs:
            self._check_row(row)
        self._same_set(section, line.name)
        for row, text in line.pairs:
            if row in into:
                raise self._broken(f"row {row!r} has two entries in {section}")
            if section == "RANGES" and self.kinds[row] == "N":
                raise self._broken(f"row {row!r} is free and has no range")
            value = self.source.number(self.at, text, f"{section}, row {row!r}", infinite=row != self.objective)
            empty = {"L": value <= -INFINITE, "G": value >= INFINITE, "E": abs(value) >= INFINITE}
            if section == "RHS" and empty.get(self.kinds[row]):
                raise self._broken(f"row {row!r} has an infinite side, which nothing satisfies")
            into[row] = value

    def _bounds(self, line: Line) -> None:
        code = line.code
        if code in SEMI:
            remedy = "Write it as a continuous variable with a 0/1 switch"
            raise self._broken(f"{line.column!r} is semi-continuous", remedy)
        if code not in LOWER | UPPER:
            raise self._broken(f"{code!r} is no type of a bound")
        self._same_set("BOUNDS", line.name)
        if line.column not in self.columns:
            raise self._broken(f"{line.column!r} is not a column", checks.did_you_mean(line.column, self.columns))
        column, value = self.columns[line.column], math.inf
        if line.value:
            value = self.source.number(self.at, line.value, f"bound of {line.column!r}", infinite=True)
        elif code not in UNNUMBERED:
            raise self._broken(f"the bound {code} of {line.column!r} has no number")
        if code in LOWER:
            self._bound(self.lower, column, {"FR": -math.inf, "MI": -math.inf, "BV": 0.0}.get(code, value))
        if code in UPPER:
            self._bound(self.upper, column, {"FR": math.inf, "PL": math.inf, "BV": 1.0}.get(code, value))
            self.upper_at[column] = self.at
        self.integer[column] |= code in INTEGER

    def _bound(self, into: dict[int, float], column: int, value: float) -> None:
        if value >= INFINITE if into is self.lower else value <= -INFINITE:
            raise self._broken("the bound is infinite, which nothing satisfies")
        if column in into:
            raise self._broken(f"{'a lower' if into is self.lower else 'an upper'} bound of the column is given twice")
        into[column] = value

    def _quadratic(self, line: Line) -> None:
        self.quadratic.take(self.at, line)

    # -- checks ------------------------------------------------------------------------------------------------------

    def _same_set(self, section: str, name: str) -> None:
        if name and self.sets.setdefault(section, name) != name:
            first = self.sets[section]
            raise self._broken(f"{section} holds a second set {name!r} after {first!r}", "Keep the one that holds")

    def _check_row(self, row: str) -> None:
        if row not in self.kinds:
            raise self._broken(f"{row!r} is not a row", checks.did_you_mean(row, self.kinds))

    def _broken(self, what: str, remedy: str = "") -> InvalidInputError:
        return self.source.broken(self.at, what, remedy)

    def _unknown(self, word: str) -> InvalidInputError:
        return self._broken(f"{word!r} is no section of an MPS file", checks.did_you_mean(word, SECTIONS))

    # -- what the lines amount to ------------------------------------------------------------------------------------

    def _matrix(self) -> scipy.sparse.csr_array:
        places = self.places
        kept = {(places[row], j): value for (row, j), value in self.entries.items() if value != 0.0 and row in places}
        index = np.array(list(kept), dtype=np.int64).reshape(-1, 2).T
        values = np.array(list(kept.values()), dtype=np.float64)
        return scipy.sparse.csr_array((values, (index[0], index[1])), shape=(len(self.places), len(self.columns)))

    def _row_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """A range `R` makes `[b - |R|, b]` of L, `[b, b + |R|]` of G, and of E the one that its sign says."""
        lower, upper = np.empty(len(self.places)), np.empty(len(self.places))
        for row, place in self.places.items():
            kind, side, width = self.kinds[row], self.sides.get(row, 0.0), self.ranges.get(row)
            free = -math.inf if kind == "L" else math.inf  # beyond the other side of L and G without a range
            down = kind == "L" or (kind == "E" and width is not None and width < 0)
            reach = 0.0 if width is None else -abs(width) if down else abs(width)
            other = free if width is None and kind != "E" else side + reach
            lower[place], upper[place] = (other, side) if down else (side, other)
        return lower, upper

    def _column_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """`[0, inf)` unless bounds say otherwise; `[0, 1]` for integer columns of a marker without any, as in HiGHS."""
        n = len(self.columns)
        lower, upper = np.zeros(n), np.full(n, math.inf)
        for j, integer in enumerate(self.integer):
            if integer and j not in self.lower and j not in self.upper:
                upper[j] = 1.0
        for j, value in self.upper.items():
            upper[j] = value
            if value < 0 and j not in self.lower:
                self.at = self.upper_at[j]
                what = "an upper bound below 0 without a lower bound: to some tools that is 0, to others -inf"
                raise self._broken(what, "Add a bound LO or MI")
        for j, value in self.lower.items():
            lower[j] = value
        return lower, upper

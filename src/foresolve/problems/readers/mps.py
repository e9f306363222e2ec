"""MPS files, free and fixed, read strictly: what is not understood is refused with its line."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Sequence

import numpy as np

from foresolve._base import checks
from foresolve.errors import InvalidInputError
from foresolve.problems.readers.model import INFINITE, Model
from foresolve.problems.readers.mps_lines import QUADRATIC, UNNUMBERED, fixed_fields, free_fields
from foresolve.problems.readers.mps_quadratic import CONSTRAINTS, QuadraticSection
from foresolve.problems.readers.quadratic_entries import sparse
from foresolve.problems.readers.source import Source
from foresolve.problems.readers.stated_bounds import StatedBounds

SECTIONS = ("NAME", "OBJSENSE", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "QUADOBJ", "QMATRIX", "ENDATA")
OTHER = {"SOS", "SETS", "INDICATORS", "CSECTION", "DELAYEDROWS", "MODELCUTS", "GENCONS", "PWLOBJ", "PWLNAM", "PWLCON",
         "LAZYCONS", "USERCUTS", "SOS1", "SOS2"}  # fmt: skip
SENSES = {"MAX": True, "MAXIMIZE": True, "MAXIMISE": True, "MIN": False, "MINIMIZE": False, "MINIMISE": False}
MARKER = "'MARKER'"
SEMI = {"SC", "SI"}
# Types of bounds that say something of the lower bound, and of the upper one; `None` stands for the line's number.
LOWER = {"LO": None, "LI": None, "FX": None, "FR": -math.inf, "MI": -math.inf, "BV": 0.0}
UPPER = {"UP": None, "UI": None, "FX": None, "FR": math.inf, "PL": math.inf, "BV": 1.0}
INTEGER = {"LI", "UI", "BV"}
Splitter = Callable[[str, str, Container[str]], list[str] | None]


def read_mps(source: Source) -> Model:
    """The model in an MPS file: by words, or, where names hold spaces, by the columns of the fixed format."""
    try:
        return MpsReader(source, free_fields).model()
    except InvalidInputError as error:
        try:
            return MpsReader(source, fixed_fields).model()
        except InvalidInputError:
            raise error from None


class MpsReader:
    """One pass over the lines; the methods named after sections take the fields of their lines."""

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
        self.bounds = StatedBounds(source)
        self.quadratic = QuadraticSection(source, self.columns)

    def model(self) -> Model:
        """What the file holds."""
        takers = {"OBJSENSE": self._objsense, "ROWS": self._rows, "COLUMNS": self._columns, "RHS": self._sides,
                  "RANGES": self._sides, "BOUNDS": self._bounds,
                  **dict.fromkeys(QUADRATIC, self._quadratic)}  # fmt: skip
        for section, text in self._data():
            fields = self.split(section, text, self.columns)
            if fields is None:
                raise self._broken("something stands between the fields of the fixed format")
            takers[section](section, *fields)
        if self.within_marker:
            raise self._broken("the marker 'INTORG' has no 'INTEND'")
        if not self.columns:
            raise self._broken("the file has no columns")
        n, objective = len(self.columns), self.objective or ""
        entries = {(self.places[row], j): value for (row, j), value in self.entries.items() if row in self.places}
        row_lower, row_upper = self._row_bounds()
        for j, integer in enumerate(self.integer):  # columns of a marker without any bounds are 0/1, as in HiGHS
            if integer and j not in self.bounds.lower and j not in self.bounds.upper:
                self.bounds.upper[j] = 1.0
        lower, upper = self.bounds.arrays(n, "Add a bound LO or MI")
        return Model(
            matrix=sparse(entries, len(self.places), n), row_lower=row_lower, row_upper=row_upper,
            lower=lower, upper=upper, integrality=np.array(self.integer, dtype=np.int64),
            coefficients=np.array([self.entries.get((objective, j), 0.0) for j in range(n)]),
            offset=0.0 - self.sides.get(objective, 0.0), maximize=self.maximize, names=tuple(self.columns),
            quadratic=self.quadratic.matrix(), rows=self.places,
        )  # fmt: skip

    # -- sections ----------------------------------------------------------------------------------------------------

    def _data(self) -> Iterator[tuple[str, str]]:
        """The lines with data, each with its section; sections come in order and once."""
        section, seen = "", []
        for number, text in enumerate(self.source.lines, 1):
            self.at, words = number, text.split()
            if not words or text.startswith("*"):
                continue
            header = self._header(words, text)
            if header is None:
                if section in {"", "NAME"}:
                    remedy = checks.did_you_mean(words[0], SECTIONS)
                    raise self._broken(f"{words[0]!r} is no section of an MPS file", remedy)
                yield section, text
                continue
            section = header
            if section == "ENDATA":
                return
            if section in seen:
                raise self._broken(f"the section {section} comes twice")
            needs = "ROWS" if section == "COLUMNS" else "COLUMNS"
            if needs not in seen and section not in {"NAME", "OBJSENSE", "ROWS"}:
                raise self._broken(f"the section {section} comes before {needs}")
            seen.append(section)
            if section in QUADRATIC:
                self.quadratic.begin(self.at, text, self.objective)
            if section == "OBJSENSE" and len(words) > 1:
                self._objsense(section, words[1])
        raise self._broken("the file ends without ENDATA, as if it were cut off")

    def _header(self, words: Sequence[str], text: str) -> str | None:
        """The section that a line begins, or `None` for data: keywords may be names too, in lines with more words."""
        word = words[0].upper()
        indented = text[0].isspace()
        if not indented:
            if word == "QCMATRIX":
                raise self._broken(CONSTRAINTS)
            if word in OTHER:
                raise self._broken(f"the section {word} holds what a linear program with integers cannot")
            if word == "OBJNAME":
                what = "the section OBJNAME chooses the objective, which is the first row of type N here"
                remedy = "Put the row that it names first among those of type N, and take the section out"
                raise self._broken(what, remedy)
            if word in {"NAME", "OBJSENSE", "QSECTION"}:
                return word
        return word if word in SECTIONS and len(words) == 1 and not (indented and words[0] != word) else None

    def _objsense(self, section: str, sense: str, *rest: str) -> None:
        if any(rest):
            raise self._broken("a sense is one word")
        if sense.upper() not in SENSES:
            raise self._broken(f"the sense {sense!r} is neither MIN nor MAX")
        self.maximize = SENSES[sense.upper()]

    def _rows(self, section: str, kind: str, name: str, *rest: str) -> None:
        if not name or any(rest):
            raise self._broken("a row is a type and a name")
        if kind not in {"N", "L", "G", "E"}:
            raise self._broken(f"{kind!r} is no type of a row (N, L, G or E)")
        if name in self.kinds:
            raise self._broken(f"the row {name!r} comes twice")
        self.kinds[name] = kind
        if kind != "N":
            self.places[name] = len(self.places)
        elif self.objective is None:
            self.objective = name

    def _columns(self, section: str, code: str, name: str, *rest: str) -> None:
        if rest[0] == MARKER:
            marker = rest[1] or rest[2]
            if any(rest[3:]) or marker != rest[1] + rest[2] or not marker:
                raise self._broken("a marker is three words")
            if marker not in {"'INTORG'", "'INTEND'"} or self.within_marker == (marker == "'INTORG'"):
                raise self._broken(f"the marker {marker} is out of place")
            self.within_marker = not self.within_marker
            return
        pairs = self._pairs(code, rest)
        if name not in self.columns:
            self.columns[name] = len(self.columns)
            self.integer.append(self.within_marker)
        column = self.columns[name]
        if column != len(self.columns) - 1:
            raise self._broken(f"the column {name!r} comes again after others")
        for row, text in pairs:
            self._check_row(row)
            value = self.source.number(self.at, text, f"column {name!r}, row {row!r}")
            if (row, column) in self.entries:
                raise self._broken(f"row {row!r} has two entries in this column")
            self.entries[row, column] = value

    def _sides(self, section: str, code: str, name: str, *rest: str) -> None:
        """Right-hand sides or ranges."""
        pairs, into = self._pairs(code, rest), self.sides if section == "RHS" else self.ranges
        for row, _ in pairs:
            self._check_row(row)
        self._same_set(section, name)
        for row, text in pairs:
            if row in into:
                raise self._broken(f"row {row!r} has two entries in {section}")
            if section == "RANGES" and self.kinds[row] == "N":
                raise self._broken(f"row {row!r} is free and has no range")
            value = self.source.number(self.at, text, f"{section}, row {row!r}", infinite=row != self.objective)
            empty = {"L": value <= -INFINITE, "G": value >= INFINITE, "E": abs(value) >= INFINITE}
            if section == "RHS" and empty.get(self.kinds[row]):
                raise self._broken(f"row {row!r} has an infinite side, which nothing satisfies")
            into[row] = value

    def _bounds(self, section: str, code: str, name: str, column: str, text: str, *rest: str) -> None:
        if not column or any(rest):
            raise self._broken("a bound is a type, a column and, for most types, a number")
        if not name and code in UNNUMBERED and text in self.columns:
            raise self._broken(f"{column!r} may be the set or the column, for {text!r} is a column too")
        if code in SEMI:
            raise self._broken(f"{column!r} is semi-continuous", "Write it as a continuous variable with a 0/1 switch")
        if code not in LOWER and code not in UPPER:
            raise self._broken(f"{code!r} is no type of a bound")
        self._same_set(section, name)
        if column not in self.columns:
            raise self._broken(f"{column!r} is not a column", checks.did_you_mean(column, self.columns))
        value = self.source.number(self.at, text, f"bound of {column!r}", infinite=True) if text else None
        if value is None and code not in UNNUMBERED:
            raise self._broken(f"the bound {code} of {column!r} has no number")
        lower, upper = (None if code not in types else value if types[code] is None else types[code]
                        for types in (LOWER, UPPER))  # fmt: skip
        self.bounds.state(self.at, self.columns[column], lower=lower, upper=upper)
        self.integer[self.columns[column]] |= code in INTEGER

    def _quadratic(self, section: str, code: str, name: str, *rest: str) -> None:
        self.quadratic.take(self.at, name, self._pairs(code, rest, "a column"))

    # -- checks ------------------------------------------------------------------------------------------------------

    def _pairs(self, code: str, rest: Sequence[str], of: str = "a row") -> list[tuple[str, str]]:
        """One or two names, each with a number."""
        pairs = [pair for pair in zip(rest[::2], rest[1::2]) if any(pair)]
        if code or len(rest) > 4 or not pairs or not all(all(pair) for pair in pairs):
            first = "" if of == "a row" else "a column, then "
            raise self._broken(f"{first}one or two pairs of {of} and a number are expected")
        return pairs

    def _same_set(self, section: str, name: str) -> None:
        if name and self.sets.setdefault(section, name) != name:
            first = self.sets[section]
            raise self._broken(f"{section} holds a second set {name!r} after {first!r}", "Keep the one that holds")

    def _check_row(self, row: str) -> None:
        if row not in self.kinds:
            raise self._broken(f"{row!r} is not a row", checks.did_you_mean(row, self.kinds))

    def _broken(self, what: str, remedy: str = "") -> InvalidInputError:
        return self.source.broken(self.at, what, remedy)

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

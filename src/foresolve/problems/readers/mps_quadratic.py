"""The sections of an MPS file that hold the quadratic part of its objective."""

from __future__ import annotations

from collections.abc import Mapping

import scipy.sparse

from foresolve._base import checks
from foresolve.errors import InvalidInputError
from foresolve.problems.readers.mps_lines import Line
from foresolve.problems.readers.quadratic_entries import mirrored, uneven
from foresolve.problems.readers.source import Source

CONSTRAINTS = "quadratic constraints cannot be read: only the objective may be quadratic"


class QuadraticSection:
    """The entries of `Q` in `1/2 x'Qx`: one triangle in QUADOBJ and QSECTION, both in QMATRIX.

    Parameters
    ----------
    source: the file.
    columns: where each variable stands, by its name.
    """

    def __init__(self, source: Source, columns: Mapping[str, int]) -> None:
        self.source, self.columns = source, columns
        self.kind = ""
        self.entries: dict[tuple[int, int], float] = {}
        self.lines: dict[tuple[int, int], int] = {}

    def begin(self, at: int, text: str, objective: str | None) -> None:
        """The line of a header; QSECTION names the row that it belongs to."""
        kind, *rest = text.split(maxsplit=1)
        kind, row = kind.upper(), "".join(rest).strip()
        if self.kind:
            raise self.source.broken(at, f"the quadratic part comes twice, in {self.kind} and {kind}")
        if kind == "QSECTION" and row != objective:
            named = f"the row {row!r}" if row else "no row"
            what = f"QSECTION names {named}, and the objective is {objective!r}"
            raise self.source.broken(at, f"{what}: {CONSTRAINTS}" if row else what)
        self.kind = kind

    def take(self, at: int, line: Line) -> None:
        """A line of data: a column, and one or two others with the number that belongs to both."""
        for name, text in line.pairs:
            i, j = place = self._column(at, line.name), self._column(at, name)
            value = self.source.number(at, text, f"{self.kind}, columns {line.name!r} and {name!r}")
            if place in self.entries:
                raise self._twice(at, line.name, name, place)
            if self.kind != "QMATRIX" and (j, i) in self.entries:
                raise self._twice(at, line.name, name, (j, i))
            self.entries[place], self.lines[place] = value, at

    def matrix(self) -> scipy.sparse.csr_array | None:
        """`Q`, `None` where nothing of it is left."""
        entries: Mapping[tuple[int, int], float] = self.entries
        if self.kind == "QMATRIX":
            place = uneven(entries)
            if place is not None:
                raise self._uneven(place)
            entries = {(i, j): value for (i, j), value in entries.items() if i <= j}
        return mirrored(entries, len(self.columns))

    def _column(self, at: int, name: str) -> int:
        if name not in self.columns:
            raise self.source.broken(at, f"{name!r} is not a column", checks.did_you_mean(name, self.columns))
        return self.columns[name]

    def _twice(self, at: int, first: str, second: str, before: tuple[int, int]) -> InvalidInputError:
        remedy = "" if self.kind == "QMATRIX" else "One triangle is expected; QMATRIX is the section that has both"
        what = f"the entry of {first!r} and {second!r} is in line {self.lines[before]} already"
        return self.source.broken(at, what, remedy)

    def _uneven(self, place: tuple[int, int]) -> InvalidInputError:
        names, (i, j) = list(self.columns), place
        first, second, there = names[i], names[j], self.entries.get((j, i))
        other = "no entry" if there is None else f"{there}"
        what = f"QMATRIX has {self.entries[place]} for {first!r} and {second!r}, but {other} the other way round"
        remedy = "Both triangles are expected; QUADOBJ is the section that has one"
        return self.source.broken(self.lines[place], what, remedy)

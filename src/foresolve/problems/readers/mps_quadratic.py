"""The sections of an MPS file that hold the quadratic part of its objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import scipy.sparse

from foresolve._base import checks
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

    def take(self, at: int, first: str, pairs: Sequence[tuple[str, str]]) -> None:
        """A line of data: a column, and one or two others with the number that belongs to both."""
        for second, text in pairs:
            for name in (first, second):
                if name not in self.columns:
                    raise self.source.broken(at, f"{name!r} is not a column", checks.did_you_mean(name, self.columns))
            i, j = place = self.columns[first], self.columns[second]
            value = self.source.number(at, text, f"{self.kind}, columns {first!r} and {second!r}")
            same = [place] if self.kind == "QMATRIX" else [place, (j, i)]
            before = next((self.lines[known] for known in same if known in self.lines), None)
            if before is not None:
                what = f"the entry of {first!r} and {second!r} is in line {before} already"
                remedy = "" if len(same) == 1 else "One triangle is expected; QMATRIX is the section that has both"
                raise self.source.broken(at, what, remedy)
            self.entries[place], self.lines[place] = value, at

    def matrix(self) -> scipy.sparse.csr_array | None:
        """`Q`, `None` where nothing of it is left."""
        if self.kind != "QMATRIX":
            return mirrored(self.entries, len(self.columns))
        place = uneven(self.entries)
        if place is not None:
            names, (i, j) = list(self.columns), place
            first, second, there = names[i], names[j], self.entries.get((j, i))
            other = "no entry" if there is None else f"{there}"
            what = f"QMATRIX has {self.entries[place]} for {first!r} and {second!r}, but {other} the other way round"
            remedy = "Both triangles are expected; QUADOBJ is the section that has one"
            raise self.source.broken(self.lines[place], what, remedy)
        return mirrored({(i, j): value for (i, j), value in self.entries.items() if i <= j}, len(self.columns))

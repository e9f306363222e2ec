"""One data line of an MPS file as the parts that its section knows."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

MARKER = "'MARKER'"
QUADRATIC = frozenset({"QUADOBJ", "QMATRIX", "QSECTION"})
UNNUMBERED = frozenset({"FR", "MI", "PL", "BV"})  # types of bounds that need no number
# Of the fixed format: where its six fields begin and end; anything between them is a mistake.
FIELDS = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))


@dataclass(frozen=True)
class Line:
    """The parts of a line; those that its section does not have are empty.

    Attributes
    ----------
    code: the type of a row or bound, the sense of the objective.
    name: of the row, the column, or the set of right-hand sides, ranges or bounds.
    pairs: of a row and a number; in a quadratic part, of a second column and a number.
    column, value: of a bound.
    marker: of integer columns.
    trouble: why the line cannot be read.
    """

    code: str = ""
    name: str = ""
    pairs: tuple[tuple[str, str], ...] = ()
    column: str = ""
    value: str = ""
    marker: str = ""
    trouble: str = ""


def free_line(section: str, text: str, columns: Container[str]) -> Line:
    """By words; sets of right-hand sides, ranges and bounds may have no name."""
    words = text.split()
    count = len(words)
    if section == "OBJSENSE":
        return Line(code=words[0]) if count == 1 else Line(trouble="a sense is one word")
    if section == "ROWS":
        return Line(code=words[0], name=words[1]) if count == 2 else Line(trouble="a row is a type and a name")
    if section == "BOUNDS":
        return _free_bound(words, columns)
    if section == "COLUMNS":
        if count >= 2 and words[1] == MARKER:
            return Line(marker=words[2]) if count == 3 else Line(trouble="a marker is three words")
        named = True
    else:
        named = section in QUADRATIC or count % 2 == 1
    if count not in ({3, 5} if named else {2, 4}):
        return Line(trouble=_pairs_expected(section))
    pairs = words[1:] if named else words
    return Line(name=words[0] if named else "", pairs=tuple(zip(pairs[::2], pairs[1::2])))


def _free_bound(words: list[str], columns: Container[str]) -> Line:
    code, rest = words[0], words[1:]
    if not 1 <= len(rest) <= 3 or (len(rest) == 1 and code not in UNNUMBERED):
        return Line(trouble="a bound is a type, a column and, for most types, a number")
    if len(rest) == 3:
        return Line(code=code, name=rest[0], column=rest[1], value=rest[2])
    if len(rest) == 1:
        return Line(code=code, column=rest[0])
    first, second = rest
    if code not in UNNUMBERED:
        return Line(code=code, column=first, value=second)
    if first in columns and second in columns:
        return Line(trouble=f"{first!r} may be the set or the column, for {second!r} is a column too")
    if first in columns:
        return Line(code=code, column=first, value=second)
    return Line(code=code, name=first, column=second)


def fixed_line(section: str, text: str, columns: Container[str]) -> Line:
    """By position: names of up to eight characters, which may hold spaces."""
    if section == "OBJSENSE":
        return free_line(section, text, columns)
    text = text.expandtabs()
    ends = [0, *(end for _, end in FIELDS)]
    gaps = [text[end:start] for end, start in zip(ends, [*(start for start, _ in FIELDS), len(text)])]
    if any(gap.strip() for gap in gaps):
        return Line(trouble="something stands between the fields of the fixed format")
    code, name, *rest = (text[start:end].strip() for start, end in FIELDS)
    if section == "ROWS":
        return Line(code=code, name=name) if name and not any(rest) else Line(trouble="a row is a type and a name")
    if section == "BOUNDS":
        if any(rest[2:]) or not rest[0]:
            return Line(trouble="a bound is a type, a set, a column and a number")
        return Line(code=code, name=name, column=rest[0], value=rest[1])
    if section == "COLUMNS" and rest[0] == MARKER:
        return Line(marker=rest[2] or rest[1])
    pairs = tuple((row, number) for row, number in (rest[:2], rest[2:]) if row or number)
    if code or not pairs or not all(row and number for row, number in pairs):
        return Line(trouble=_pairs_expected(section))
    return Line(name=name, pairs=pairs)


def _pairs_expected(section: str) -> str:
    if section in QUADRATIC:
        return "a column, then one or two pairs of a column and a number are expected"
    return "one or two pairs of a row and a number are expected"

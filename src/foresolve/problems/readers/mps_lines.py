"""A data line of an MPS file as its fields: a code, a name, and up to two pairs of a name and a number."""

from __future__ import annotations

from collections.abc import Container

QUADRATIC = frozenset({"QUADOBJ", "QMATRIX", "QSECTION"})
UNNUMBERED = frozenset({"FR", "MI", "PL", "BV"})  # types of bounds that need no number
# Of the fixed format: where its six fields begin and end; anything between them is a mistake.
FIELDS = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))


def free_fields(section: str, text: str, columns: Container[str]) -> list[str]:
    """By words, six or more fields; sets of right-hand sides, ranges and bounds may have no name."""
    words = text.split()
    if section == "BOUNDS":
        code, *rest = words
        unnamed = len(rest) == 1 or (len(rest) == 2 and (code not in UNNUMBERED or rest[0] in columns))
        words = [code, "", *rest] if unnamed else words
    elif section not in {"OBJSENSE", "ROWS"}:
        named = section == "COLUMNS" or section in QUADRATIC or len(words) % 2 == 1
        words = ["", *words] if named else ["", "", *words]
    return words + [""] * (6 - len(words))


def fixed_fields(section: str, text: str, columns: Container[str]) -> list[str] | None:
    """By position: names of up to eight characters, which may hold spaces; `None` if something is between fields."""
    if section == "OBJSENSE":
        return free_fields(section, text, columns)
    text = text.expandtabs()
    gaps = zip([0, *(end for _, end in FIELDS)], [*(start for start, _ in FIELDS), len(text)])
    if any(text[end:start].strip() for end, start in gaps):
        return None
    return [text[start:end].strip() for start, end in FIELDS]

"""Edge lists: pairs of labels, in memory or in a text file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from foresolve._base import checks, reading

COMMENTS = ("#", "%")
SEPARATORS = ("::", "\t", ",")


def as_pairs(edges: Any) -> list[tuple[Any, Any]]:
    """Pairs of labels, each once, from a sequence, an array or a tensor of them."""
    pairs = edges.tolist() if isinstance(edges, Tensor | np.ndarray) else list(edges)
    for i, edge in enumerate(pairs):
        if not isinstance(edge, Sequence) or isinstance(edge, str) or len(edge) != 2:
            raise checks.fail("edges", "pairs (channel, customer)", f"{edge!r} at {i}")
    if not pairs:
        raise checks.fail("edges", "at least one pair (channel, customer)", "none")
    return list(dict.fromkeys((u, v) for u, v in pairs))


def read_edges(path: str | Path, columns: tuple[int, int] = (0, 1)) -> list[tuple[str, str]]:
    """The pairs in two columns of a text file, each once, as labels.

    Columns are separated by "::", tabs, commas or spaces; lines that start with # or %, empty ones and a header are
    passed over; columns of numbers must hold numbers throughout.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from foresolve.data import read_edges
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "edges.csv")
    ...     _ = path.write_text("channel,customer\\n7,ann\\n7,bob\\n7,ann\\n")
    ...     read_edges(path)
    [('7', 'ann'), ('7', 'bob')]
    """
    path = checks.path("edges", path, "a text file or a list of pairs")
    if not path.is_file():
        raise checks.fail("edges", "a text file or a list of pairs", f"{str(path)!r}, which is not a file")
    pairs: dict[tuple[str, str], None] = {}
    first: list[bool] | None = None
    with reading.opened_text(path, "utf-8", "replace") as lines:
        for row in split_rows(lines):
            fields = [row.cells[place].strip() for place in columns if place < len(row.cells)]
            if len(fields) < 2 or not all(fields):
                raise checks.fail(
                    "edges", f"a file with {max(columns) + 1} columns separated by {row.separator!r}", _place(path, row)
                )
            kinds = [_is_number(field) for field in fields]
            if first is None or (first == [False, False] and len(pairs) == 1 and kinds != first):
                first, pairs = kinds, {}  # what came before was a header
            elif any(before and not now for before, now in zip(first, kinds)):
                raise checks.fail("edges", "numbers throughout", _place(path, row))
            pairs[fields[0], fields[1]] = None
    if not pairs:
        raise checks.fail("edges", "a file with at least one edge", f"none in {path}")
    return list(pairs)


class EdgeLine(NamedTuple):
    """A line of an edge list."""

    number: int
    line: str
    cells: list[str]
    separator: str


def split_rows(lines: Iterable[str]) -> Iterator[EdgeLine]:
    """The rows of an edge list; the separator is the first of `SEPARATORS` that the first row has, else spaces."""
    separator = ""
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line or line.startswith(COMMENTS):
            continue
        separator = separator or next((mark for mark in SEPARATORS if mark in line), " ")
        yield EdgeLine(number, line, line.split(None if separator == " " else separator), separator)


def _place(path: Path, row: EdgeLine) -> str:
    return f"line {row.number} of {path}: {row.line[:60]!r}"


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True

"""Where in a TOML file a table or a key stands: the parser of the standard library keeps no lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

Path = tuple[str, ...]
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_QUOTES = ('"""', "'''", '"', "'")


class Locations:
    """The lines of tables and keys of a text that `tomllib` accepts.

    Examples
    --------
    >>> lines = Locations('[data]\\nkey = "date"\\nmissing.features = "mean"\\n')
    >>> lines.line(("data",)), lines.line(("data", "key")), lines.line(("data", "missing", "features"))
    (1, 2, 3)
    >>> lines.line(("data", "value"))  # is not there: where it would be
    1
    """

    def __init__(self, text: str) -> None:
        self._lines: dict[Path, int] = {}
        for path, line in _entries(text.replace("\r\n", "\n")):
            for depth in range(1, len(path) + 1):
                self._lines.setdefault(path[:depth], line)

    def line(self, path: Sequence[str]) -> int:
        """The line of a key or table; of the nearest one around it where it is not there; 1 where there is none."""
        path = tuple(path)
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)


def _entries(text: str) -> Iterator[tuple[Path, int]]:
    """Every table header and every key with its line, in the order of the file."""
    table: Path = ()
    position, line, counted = 0, 1, 0
    while position < len(text):
        character = text[position]
        if character in " \t\n\r":
            position += 1
        elif character == "#":
            position = _line_end(text, position)
        elif character == "[":
            line, counted = line + text.count("\n", counted, position), position
            table, position = _dotted(text, position + (2 if text.startswith("[[", position) else 1))
            position = _line_end(text, position)
            yield table, line
        else:
            line, counted = line + text.count("\n", counted, position), position
            key, position = _dotted(text, position)
            yield (*table, *key), line
            position = _value_end(text, text.index("=", position) + 1)


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _dotted(text: str, position: int) -> tuple[Path, int]:
    """A key such as `data."my column"`, and where it ends."""
    parts: list[str] = []
    while position < len(text):
        if text[position] in " \t.":
            position += 1
        elif text[position] in "\"'":
            end = _string_end(text, position)
            parts.append(text[position + 1 : end - 1])
            position = end
        elif (bare := _BARE.match(text, position)) is not None:
            parts.append(bare[0])
            position = bare.end()
        else:
            break
    return tuple(parts), position


def _string_end(text: str, position: int) -> int:
    """Where the string that begins at `position` ends."""
    quote = next(mark for mark in _QUOTES if text.startswith(mark, position))
    position += len(quote)
    while position < len(text):
        if text[position] == "\\" and quote[0] == '"':
            position += 2
        elif text.startswith(quote, position):
            position += len(quote)
            # A multi-line string may end in quotes of its own.
            while len(quote) == 3 and text.startswith(quote[0], position):
                position += 1
            return position
        else:
            position += 1
    return position


def _value_end(text: str, position: int) -> int:
    """The end of the line on which a value ends; arrays may take several."""
    depth = 0
    while position < len(text):
        character = text[position]
        if character in "\"'":
            position = _string_end(text, position)
            continue
        if character == "#":
            position = _line_end(text, position)
            continue
        depth += (character in "[{") - (character in "]}")
        if character == "\n" and depth <= 0:
            return position
        position += 1
    return position

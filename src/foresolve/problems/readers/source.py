"""The text of a model file, and where in it something is wrong."""

from __future__ import annotations

import gzip
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foresolve._base import checks, reading
from foresolve.errors import ForesolveError, InvalidInputError

GZIP = b"\x1f\x8b"
# Fortran writes 1.5D+03.
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?", re.ASCII)
INFINITY = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)


@dataclass(frozen=True)
class Source:
    """A model file: its lines, the first of which is number 1."""

    path: str
    lines: tuple[str, ...]

    def broken(self, line: int, what: str, remedy: str = "") -> InvalidInputError:
        """The error for a line, as a user's editor counts it; the caller raises it."""
        text = " ".join(self.lines[line - 1].split()) if 0 < line <= len(self.lines) else ""
        return checks.fail(
            "path", "a sound model file", f"{self.path!r}, line {line}: {_clipped(what)}, in {text!r:.90}",
            remedy or "Correct the line, or write the file again with the tool that made it",
        )  # fmt: skip

    def number(self, line: int, text: str, what: str, *, infinite: bool = False) -> float:
        """A number as it is written; nothing is skipped or taken for 0."""
        if NUMBER.fullmatch(text):
            value = float(re.sub("[dD]", "e", text))
            if infinite or math.isfinite(value):
                return value
        elif infinite and INFINITY.fullmatch(text):
            return float(text)
        raise self.broken(line, f"{text!r} is not a {'' if infinite else 'finite '}number ({what})")


def _clipped(what: str, most: int = 300) -> str:
    """What is wrong, whatever the length of the words that it names."""
    return what if len(what) <= most else f"{what[: most // 2]} ... {what[-most // 2 :]}"


def read_source(path: Any) -> Source:
    """The lines of a file in UTF-8, compressed by gzip or not, whatever its name."""
    path = checks.path("path", path)
    try:
        text = _content(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        remedy = "Convert the file, for example with `iconv -f latin1 -t utf-8`"
        raise checks.fail("path", "a file with names in UTF-8", f"{str(path)!r} ({error})", remedy) from error
    except ForesolveError as error:
        expected = "a file that can be read" if path.is_file() else "an existing MPS or LP file"
        raise checks.fail("path", expected, str(error)) from error
    return Source(str(path), tuple(re.split(r"\r\n|\n|\r", text)))


def _content(path: Path) -> bytes:
    with reading.opened(path) as stream:
        content = stream.read()
        return gzip.decompress(content) if content.startswith(GZIP) else content

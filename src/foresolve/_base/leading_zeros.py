"""Columns of text files whose entries are names, not numbers, as "00114" is: a number would lose the zeros."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from foresolve._base import reading
from foresolve._base.extras import need

BYTES, ROWS = 2**22, 50_000
ENTRIES = 2**20  # looked at together: pandas takes a millisecond for a column, however short
WHOLE, PADDED = r"[+-]?\d+", r"[+-]?0\d+"
_SUSPICIOUS = re.compile(rb'[,;\t"\r\n][ +-]*0\d')  # an entry that begins with a zero and another digit


def padded_columns(path: Path, options: Mapping[str, Any]) -> list[str]:
    """Columns of nothing but whole numbers of which some begin with a zero; `options` are those of pandas.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a.csv")
    >>> _ = path.write_text("road,minutes,time\\n007,07.5,07:30\\n114,3,08:00\\n")
    >>> padded_columns(path, {})
    ['road']
    """
    with reading.opened_table(path) as stream:
        if not any_entry(stream, _SUSPICIOUS):
            return []
    whole: dict[str, bool] = {}  # of every column, as far as it has been read
    padded: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is wrong with rows is told when they are read
        for frame in text_frames(path, options):
            names = [name for name in frame.columns if whole.setdefault(name, True)]
            step = max(1, ENTRIES // max(1, len(frame)))
            for start in range(0, len(names), step):
                part = names[start : start + step]
                columns = zip(part, *(matches.tolist() for matches in _matches(frame[part])))
                for name, sound, has_padded in columns:
                    whole[name] = sound
                    padded |= {name} if has_padded else set()
    return [name for name, sound in whole.items() if sound and name in padded]


def _matches(frame: Any) -> tuple[np.ndarray, np.ndarray]:
    """For each column, whether all entries are whole numbers, and whether one of them begins with a zero."""
    pandas = need("pandas", "reading tables", "learn")
    entries = frame.to_numpy(object).ravel(order="F")
    texts = pandas.Series(np.where(pandas.isna(entries), "0", entries)).str.strip().str  # what is missing tells nothing
    whole, padded = (texts.fullmatch(pattern).to_numpy(bool) for pattern in (WHOLE, PADDED))
    shape = frame.shape[::-1]
    return whole.reshape(shape).all(1), padded.reshape(shape).any(1)


def text_frames(path: Path, options: Mapping[str, Any]) -> Iterator[Any]:
    """The rows of a file in frames of text, whatever the entries look like."""
    pandas = need("pandas", "reading tables", "learn")
    with (
        reading.opened_table(path) as stream,
        pandas.read_csv(stream, **options, dtype=str, chunksize=ROWS) as reader,
    ):
        yield from reader


def any_entry(stream: IO[bytes], pattern: re.Pattern[bytes]) -> bool:
    """Whether a short pattern is anywhere in a file: most files lack it, and are not read twice."""
    rest = b"\n"
    while block := stream.read(BYTES):
        if pattern.search(rest + block):
            return True
        rest = (rest + block)[-16:]
    return pattern.search(rest + b"\n") is not None

"""A file of features that may be larger than memory, in blocks of instances."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foresolve._base import checks, frames
from foresolve._base.extras import need
from foresolve._base.table_files import TableFile
from foresolve.data.frames.dates import clock_texts
from foresolve.data.frames.reader import FrameReader
from foresolve.errors import FileError, ForesolveWarning
from foresolve.learning.policy import Policy


class Block(NamedTuple):
    """Rows of a file, the number of their instances, and the last known features before them, if asked for."""

    frame: Any
    instances: int
    fill: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Source:
    """A file of features, in blocks of instances; the keys are checked before any work is done.

    The file is opened once for its keys, if it has some, and once for each iteration over its blocks.

    Attributes
    ----------
    reader: of the policy; `None` if it has none.
    key: the columns that identify instances; empty if the file lacks them, and rows are numbered.
    instances: their number; 0 without keys.
    days: key columns of dates without times of day.
    """

    file: TableFile
    chunk: int
    reader: FrameReader | None
    key: tuple[str, ...] = ()
    instances: int = 0
    days: frozenset[str] = frozenset()

    @classmethod
    def of(cls, policy: Policy, path: str | Path | TableFile, chunk: int) -> Source:
        """A file as the policy reads it; keys that are missing or stand in several places are errors."""
        reader = policy.reader
        source = cls(frames.as_file(path, None if reader is None else reader.file), chunk, reader)
        return source if reader is None or not reader.key else source._with_keys(reader.key)

    @property
    def long(self) -> bool:
        """True if an instance has several rows, one after the other."""
        return self.reader is not None and bool(self.reader.variable) and bool(self.key)

    def _with_keys(self, key: tuple[str, ...]) -> Source:
        """Read the keys alone; the memory that it takes is 16 bytes an instance."""
        source, hashes, last = replace(self, key=key, days=frozenset(key)), [], None
        for frame in self._keys(key):
            absent = [title for title in key if title not in frame.columns]
            if absent:
                told = f"{self.file.path} has no column {absent[0]!r} to call its instances by: they are numbered. "
                checks.warn((told + checks.did_you_mean(absent[0], frame.columns)).rstrip(), ForesolveWarning)
                return self
            missing = next((title for title in key if frame[title].isna().any()), None)
            if missing is not None:
                raise FileError(self.file.path, f"has rows without a key: {missing!r} has missing entries")
            source = replace(source, days=source.days & {title for title in key if _days_alone(frame[title])})
            codes = _hashed(frame[list(key)])
            first = np.concatenate([[codes[0] != last], codes[1:] != codes[:-1]]) if source.long else slice(None)
            hashes.append(codes[first])
            last = codes[-1]
        every = np.concatenate(hashes)
        hashes.clear()
        every.sort()  # in place: there may be many
        again = np.flatnonzero(every[1:] == every[:-1])
        if len(again):
            name = self._named(key, every[again[0]])
            remedy = "Sort the file by its key, or drop what stands there twice"
            raise FileError(self.file.path, f"has the key {name} in several places", remedy)
        return replace(source, instances=len(every))

    def _keys(self, key: tuple[str, ...]) -> Iterator[Any]:
        return self.file.chunks(self.chunk, text=None, only=key)

    def _named(self, key: tuple[str, ...], code: Any) -> str:
        for frame in self._keys(key):
            places = np.flatnonzero(_hashed(frame[list(key)]) == code)
            if len(places):
                return key_text([str(frame[title].iloc[places[0]]) for title in key])
        raise AssertionError("the code is that of a key")

    def blocks(self, size: int) -> Iterator[Block]:
        """Blocks of `size` instances, but for the last one: the same ones, whatever the chunks are."""
        blocks = self._cut(size)
        carried = self.reader is not None and self.reader.missing == "previous"
        return self._carried(blocks, self.reader) if carried and self.reader is not None else blocks

    def _cut(self, size: int) -> Iterator[Block]:
        pandas = need("pandas", "reading tables", "learn")
        rest = None
        for piece in self.file.chunks(self.chunk, text=() if self.reader is None else self.reader.text):
            frame = piece if rest is None else pandas.concat([rest, piece])
            begin = 0
            for cut in self._starts(frame)[size::size].tolist():
                yield Block(frame.iloc[begin:cut], size)
                begin = cut
            rest = frame.iloc[begin:]
        if rest is not None and len(rest):
            yield Block(rest, len(self._starts(rest)))

    def _starts(self, frame: Any) -> np.ndarray:
        """The first row of each instance."""
        if not self.long:
            return np.arange(len(frame))
        columns = [frame[title].to_numpy() for title in self.key]
        changed = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
        return np.concatenate([[0], np.flatnonzero(changed) + 1])

    def _carried(self, blocks: Iterator[Block], reader: FrameReader) -> Iterator[Block]:
        """The blocks with the features that were last known before each, for a reader whose rule is "previous".

        If rows are dated and some entry is missing, a block may not begin before an earlier one ends.
        """
        latest: np.datetime64 | None = None
        for block in blocks:
            fill = reader.fill
            with warnings.catch_warnings():  # whoever decides the block is warned
                warnings.simplefilter("ignore")
                raw = reader.raw("features", block.frame)
            times = raw.keys.times
            if times is not None and latest is not None and times.min() < latest and np.isnan(raw.table).any():
                first = np.datetime_as_string(times.min(), unit="s")
                reason = "is not in the order of time, and has missing features, which become the previous ones"
                raise FileError(self.file.path, f"{reason}: {first} comes after later rows", "Sort it by time")
            if times is None or latest is None or times.max() >= latest:
                latest = None if times is None else times.max()
                reader = reader.filled_with(reader.carried(raw)[raw.keys.order_in_time()[-1]])
            yield block._replace(fill=fill)

    def with_text_dates(self, table: Any) -> Any:
        """A table of decisions whose keys that are dates are text, written alike in all blocks."""
        pandas = need("pandas", "a frame of keys", "learn")
        dated = [title for title in self.key if pandas.api.types.is_datetime64_any_dtype(table[title].dtype)]
        texts = {
            title: table[title].dt.strftime("%Y-%m-%d") if title in self.days else clock_texts(table[title])
            for title in dated
        }
        return table.assign(**texts)


def key_text(key: Any) -> str:
    """A key of one column or several, for a message."""
    parts = (key,) if isinstance(key, str) else tuple(key)
    return repr(parts[0]) if len(parts) == 1 else str(parts)


def _hashed(frame: Any) -> np.ndarray:
    pandas = need("pandas", "reading tables", "learn")
    return pandas.util.hash_pandas_object(frame.astype(str), index=False).to_numpy()


def _days_alone(series: Any) -> bool:
    """True if a column has dates without times of day and without a time zone."""
    pandas = need("pandas", "reading tables", "learn")
    if not pandas.api.types.is_datetime64_dtype(series.dtype):
        return False
    return bool((series == series.dt.normalize()).all())

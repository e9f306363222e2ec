"""A file of features that may be larger than memory, in blocks of instances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foresolve._base import checks
from foresolve._base.extras import need
from foresolve.data.frames.last_known import LastKnown
from foresolve.data.frames.reader import FrameReader
from foresolve.data.frames.scans import KeyScan, scan_keys
from foresolve.data.frames.streams import table_chunks
from foresolve.errors import ForesolveWarning
from foresolve.learning.policy import Policy


class Block(NamedTuple):
    """Rows of a file, how many instances they are, and what was last known before them, where that is asked for."""

    frame: Any
    instances: int
    fill: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Source:
    """A file of features, scanned: its instances in blocks of a given size.

    Attributes
    ----------
    key: the columns that identify instances; empty where the file lacks them, and rows are numbered.
    long: whether an instance has several rows.
    carried: how missing features are read where they become the last known ones, also of rows long before.
    """

    path: Path
    chunk: int
    key: tuple[str, ...]
    long: bool
    scan: KeyScan
    carried: FrameReader | None = None

    @classmethod
    def of(cls, policy: Policy, path: Path, chunk: int) -> Source:
        """Check the keys of a file before any work is done."""
        reader = policy.reader
        key = () if reader is None else reader.key
        columns = next(table_chunks(path, 1)).columns
        long = reader is not None and bool(reader.variable)
        absent = [title for title in key if title not in columns]
        if absent:
            near = checks.did_you_mean(absent[0], columns)
            checks.warn(
                f"{path} has no column {absent[0]!r} to call its instances by: they are numbered. {near}".rstrip(),
                ForesolveWarning,
            )
            key = ()
        scan = scan_keys(path, key, chunk, long=long) if key else KeyScan(0, 0, {})
        carried = reader if reader is not None and reader.missing == "previous" else None
        return cls(path, chunk, tuple(key), long, scan, carried)

    def blocks(self, size: int) -> Iterator[Block]:
        """`size` instances each, but for the last: the same ones, whatever the chunks are."""
        if self.carried is None:
            yield from self._cut(size)
            return
        known = LastKnown(self.carried, self.path)
        for block in self._cut(size):
            yield block._replace(fill=known.before(block.frame))

    def _cut(self, size: int) -> Iterator[Block]:
        pandas = need("pandas", "reading tables", "learn")
        text = [title for title, kind in self.scan.kinds.items() if kind == "text"]
        rest = None
        for piece in table_chunks(self.path, self.chunk, key=self.key if self.long else (), text=text):
            frame = piece if rest is None else pandas.concat([rest, piece])
            starts = self._starts(frame)
            begin = 0
            for cut in starts[size::size].tolist():
                yield Block(frame.iloc[begin:cut], size)
                begin = cut
            rest = frame.iloc[begin:]
        if rest is not None and len(rest):
            yield Block(rest, len(self._starts(rest)))

    def _starts(self, frame: Any) -> np.ndarray:
        """The first row of each instance."""
        if not self.long or not self.key:
            return np.arange(len(frame))
        columns = [frame[title].to_numpy() for title in self.key]
        changed = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
        return np.concatenate([[0], np.flatnonzero(changed) + 1])

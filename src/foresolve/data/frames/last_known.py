"""Missing features of a file that is read in blocks: the last known ones may stand in an earlier block."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from foresolve.data.frames.reader import FrameReader
from foresolve.errors import ForesolveError


class LastKnown:
    """What was known before each block of a file, for a reader whose rule is "previous"."""

    def __init__(self, reader: FrameReader, path: Path) -> None:
        self._reader, self._path = reader, path
        self._latest: np.datetime64 | None = None

    def before(self, frame: Any) -> tuple[float, ...] | None:
        """What fills the first rows of the next block; it is known afterwards.

        Where rows are dated and some entry is missing, the block may not begin before an earlier one ends.
        """
        fill = self._reader.fill
        with warnings.catch_warnings():  # whoever decides the block is warned
            warnings.simplefilter("ignore")
            raw = self._reader.raw("features", frame)
        times = raw.keys.times
        if times is not None:
            if self._latest is not None and times.min() < self._latest and np.isnan(raw.table).any():
                raise ForesolveError(
                    f"{self._path} is not in the order of time, and has missing features, which become the previous "
                    f"ones: {np.datetime_as_string(times.min(), unit='s')} comes after later rows. Sort it by time"
                )
            if self._latest is not None and times.max() < self._latest:
                return fill
            self._latest = times.max()
        self._reader = self._reader.filled_with(self._reader.carried(raw)[raw.keys.order_in_time()[-1]])
        return fill

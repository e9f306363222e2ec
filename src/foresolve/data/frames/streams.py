"""Tables that are larger than memory: read in chunks that cut no instance in two, written as they come."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np

from foresolve._base import checks, files, reading
from foresolve._base.extras import need
from foresolve._base.table_files import (
    SEPARATORS,
    cause,
    check_table,
    mended_text,
    opened_parquet,
    read_table,
    suffix_of,
    text_options,
)
from foresolve.data.frames.dates import clock_texts
from foresolve.errors import ForesolveError

CHUNK = 50_000  # rows
PARQUET = (".parquet", ".pq")


def table_chunks(
    path: str | Path, rows: int = CHUNK, *, key: Sequence[str] = (), text: Sequence[str] = ()
) -> Iterator[Any]:
    """The rows of a file, in their order, as pandas frames of about `rows` rows, whose index counts on.

    CSV and Parquet files are read piece by piece; any other table is read whole and handed out in pieces.

    Parameters
    ----------
    path: of the file, as for `read_table`.
    rows: at a time; a frame has more where an instance has.
    key: columns that identify an instance: rows in a row with the same key come in the same frame.
    text: columns of a CSV file that are read as text, whatever they look like.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "long.csv")
    >>> _ = path.write_text("day,item,price\\n1,a,3\\n1,b,4\\n2,a,5\\n2,b,2\\n")
    >>> [len(chunk) for chunk in table_chunks(path, 3)], [len(chunk) for chunk in table_chunks(path, 3, key=["day"])]
    ([3, 1], [2, 2])
    """
    path, rows = checks.path("path", path), checks.positive_int("rows", rows)
    read = pieces(path, rows, text)
    return _whole_instances(read, tuple(key)) if key else read


def pieces(path: Path, rows: int, text: Sequence[str], only: Sequence[str] | None = None) -> Iterator[Any]:
    """The rows of a file, wherever they are cut; `only` some columns."""
    suffix = suffix_of(path)
    check_table(path)
    if suffix not in (*SEPARATORS, *PARQUET):
        table = read_table(path)  # also says what is wrong with the path
        if only is not None:
            table = table[list(only)]
        return (table.iloc[start : start + rows] for start in range(0, len(table), rows))
    read = _text_pieces(path, rows, text, only) if suffix in SEPARATORS else _parquet_pieces(path, rows, only)
    return _told(read, path)


def _told(pieces: Iterator[Any], path: Path) -> Iterator[Any]:
    """The same, where what a damaged file makes libraries stumble over names the file; an empty one is an error."""
    count = 0
    while True:
        # Not around the loop: the caller's own warnings are the caller's.
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                piece = next(pieces, None)
            except (ForesolveError, OSError):
                raise
            except Exception as error:
                raise ForesolveError(f"{path} cannot be read: {cause(error)}") from error
        if piece is None:
            break
        if len(piece):
            count += len(piece)
            yield piece
    if not count:
        raise ForesolveError(f"{path} has no rows")


def _text_pieces(path: Path, rows: int, text: Sequence[str], only: Sequence[str] | None) -> Iterator[Any]:
    pandas = need("pandas", "reading tables", "learn")
    options = text_options(path)
    dtypes = options.pop("dtype", {}) | {name: str for name in text if name in options["names"]}
    with (
        reading.opened_table(path) as stream,
        pandas.read_csv(
            stream, **options, dtype=dtypes or None, usecols=only, chunksize=rows, low_memory=False
        ) as reader,
    ):
        for piece in reader:
            yield mended_text(piece, path, options["sep"])


def _parquet_pieces(path: Path, rows: int, only: Sequence[str] | None) -> Iterator[Any]:
    with opened_parquet(path) as file:
        start = 0
        for batch in file.iter_batches(batch_size=rows, columns=only):
            frame = batch.to_pandas()
            frame = frame.reset_index(level=[name for name in frame.index.names if name is not None])
            frame.index = range(start, start + len(frame))
            start += len(frame)
            yield frame


def _whole_instances(pieces: Iterator[Any], key: tuple[str, ...]) -> Iterator[Any]:
    """The same rows, cut where the key changes."""
    pandas = need("pandas", "reading tables", "learn")
    rest = None
    for piece in pieces:
        if any(title not in piece.columns for title in key):
            yield piece
            continue
        frame = piece if rest is None else pandas.concat([rest, piece])
        last = len(frame) - int(_same_as_last(frame, key)[::-1].cumprod().sum())
        rest = frame.iloc[last:]
        if last:
            yield frame.iloc[:last]
    if rest is not None:
        yield rest


def _same_as_last(frame: Any, key: Sequence[str]) -> np.ndarray:
    columns = [frame[title].to_numpy() for title in key]
    return np.logical_and.reduce([column == column[-1] for column in columns])


# -- writing -----------------------------------------------------------------------------------------------------------


def check_writable(name: str, path: Path) -> None:
    """Refuse a path, the argument `name`, at which no table can be written."""
    suffix = path.suffix.lower()
    if suffix not in (".csv", *PARQUET):
        raise checks.fail(name, "a .csv or .parquet file", repr(path.name))
    if suffix in PARQUET:
        need("pyarrow.parquet", "writing Parquet files", "parquet")
    if path.is_dir():
        raise checks.fail(name, "a file", f"the folder {str(path)!r}")


class TableWriter(AbstractContextManager["TableWriter"]):
    """A CSV or Parquet file that grows by frames of the same columns and appears whole, or not at all.

    Parameters
    ----------
    path: ends in `.csv` or `.parquet`.
    kinds: of columns that are keys, "number", "date", "time" or "text": they are written alike in all frames.

    Examples
    --------
    >>> import pandas, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "decisions.csv")
    >>> with TableWriter(path) as writer:
    ...     writer.write(pandas.DataFrame({"day": [1], "amount": [0.5]}))
    ...     writer.write(pandas.DataFrame({"day": [2], "amount": [1.0]}))
    >>> path.read_text()
    'day,amount\\n1,0.5\\n2,1.0\\n'
    """

    def __init__(self, path: str | Path, kinds: Mapping[str, str] | None = None) -> None:
        self.path = checks.path("path", path)
        check_writable("path", self.path)
        self._parquet = self.path.suffix.lower() in PARQUET
        self.kinds, self.rows = kinds or {}, 0
        self._replacing: AbstractContextManager[IO[bytes]] | None = None
        self._stream: IO[bytes] | None = None
        self._writer: Any = None

    def __enter__(self) -> Self:
        self._replacing = files.replacing(self.path)
        self._stream = self._replacing.__enter__()
        return self

    def write(self, frame: Any) -> None:
        """Add the rows of a frame."""
        assert self._stream is not None, "a TableWriter is used in a `with` block"
        frame = frame.assign(**{name: _uniform(frame[name], kind, text=not self._parquet)
                                for name, kind in self.kinds.items() if name in frame.columns})  # fmt: skip
        if self._parquet:
            self._write_parquet(frame)
        else:
            text = frame.to_csv(index=False, header=self.rows == 0, lineterminator="\n")
            self._stream.write(text.encode())
        self.rows += len(frame)

    def _write_parquet(self, frame: Any) -> None:
        arrow, library = need("pyarrow", "writing Parquet", "parquet"), need("pyarrow.parquet", "", "parquet")
        schema = None if self._writer is None else self._writer.schema
        table = arrow.Table.from_pandas(frame, schema=schema, preserve_index=False)
        if self._writer is None:
            self._writer = library.ParquetWriter(self._stream, table.schema)
        self._writer.write_table(table)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._replacing is not None
        try:
            if self._writer is not None:
                self._writer.close()
        finally:
            self._replacing.__exit__(kind, error, trace)


def _uniform(series: Any, kind: str, *, text: bool) -> Any:
    """A column of keys as all frames have it: a single frame could be of another type."""
    pandas = need("pandas", "a frame of keys", "learn")
    if kind == "number":
        return series.astype("int64")
    if kind == "text":
        return series.astype(str)
    dates = pandas.to_datetime(series)
    if not text:
        return dates
    day = kind == "date" and dates.dt.tz is None
    return dates.dt.strftime("%Y-%m-%d") if day else clock_texts(dates)

"""Tables in files: each is opened once, read whole or in chunks, and written in chunks."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Container, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, Self

import numpy as np

from foresolve._base import checks, files, reading
from foresolve._base.arrays import read_arrays
from foresolve._base.extras import need
from foresolve.errors import FileError, ForesolveError, InvalidInputError, Phrase, Setting

CHUNK = 50_000  # rows
EXACT = 2**53  # whole numbers up to here are the same as floats
# What pandas takes for a missing entry, but for "None", which is a word among words: an event, a promotion.
MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "n/a", "nan", "null",
)  # fmt: skip
SEPARATORS = {".csv": None, ".tsv": "\t", ".txt": None}
PARQUET, ARROW = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")
WHERE = Setting("foresolve.data.TableFile")  # what has the settings of a file

_QUOTED = re.compile(r'"[^"]*"')
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?")
_TRUTHS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
# Patterns of the entries of a column, each on a line of its own; a quantifier that gives nothing back takes no time.
_BEGUN = re.compile(r" *[+-]?[.,]?[0-9]")
_STRANGE = re.compile(r"[^0-9.eE+\- \n]")  # what Python takes for a number, and no table does
_FRACTION = re.compile(r"[.eE]")
_PADDED = re.compile(r"^ *[+-]?0[0-9]", re.MULTILINE)
_GROUPED = "[+-]?[1-9][0-9]{0,2}(?:[.,][0-9]{3})++"
_MARKED = re.compile(rf"(?: *(?:{_GROUPED}|[+-]?[0-9]++)(?:[.,][0-9]++)? *\n)*+")  # 27.05.2024 is no number
_GROUPS = re.compile(rf"(?: *(?:{_GROUPED}|[+-]?[0-9]++) *\n)*+")


@dataclass(frozen=True)
class TableFile:
    """A file that holds a table, and the way in which its numbers and dates are written.

    Every function that reads tables takes a `TableFile` instead of a path.

    Parameters
    ----------
    path: Path of a `.csv`, `.tsv`, `.txt` (also `.gz`), `.parquet`, `.arrow`, `.feather` or `.npz` file. Text files
        are in UTF-8; their columns are separated by the one of comma, semicolon and tab that the first line has most.
    decimal: Mark before decimals, "." or ",". By default ".", and a column that can be read in two ways is an error.
    thousands: Mark between thousands. By default there is none. With ".", `decimal` is ",".
    date_format: Format of dates as in `datetime.strptime`, such as "%d.%m.%Y". ISO dates (2024-05-27) need none.

    Only text files need the settings.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from foresolve.data import TableFile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "roads.csv")
    >>> _ = path.write_text("road;opened;km\\n007;27.05.2024;1.234,5\\n114;1.6.2024;0,25\\n")
    >>> file = TableFile(path, decimal=",", thousands=".", date_format="%d.%m.%Y")
    >>> print(file.frame())
      road      opened       km
    0  007  2024-05-27  1234.50
    1  114  2024-06-01     0.25
    """

    path: str | Path
    decimal: Literal[".", ","] | None = None
    thousands: str | None = None
    date_format: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.path, TableFile):
            raise checks.fail("path", "a path", "a TableFile, which has settings of its own")
        object.__setattr__(self, "path", checks.path("path", self.path))
        if self.decimal is not None:
            checks.one_of("decimal", self.decimal, (".", ","))
        mark = self.thousands
        if mark is not None and (len(mark) != 1 or mark.isdigit() or mark == self.decimal):
            raise checks.fail("thousands", "one character, and not the mark before decimals", repr(mark))
        if mark == ".":
            object.__setattr__(self, "decimal", ",")
        if self.date_format is not None and "%" not in self.date_format:
            raise checks.fail("date_format", 'a format, such as "%d.%m.%Y"', repr(self.date_format))

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def settings(self) -> dict[str, str]:
        """The settings that were given, by name."""
        named = {"decimal": self.decimal, "thousands": self.thousands, "date_format": self.date_format}
        return {name: value for name, value in named.items() if value is not None}

    def frame(self, text: Container[str] = ()) -> Any:
        """The whole table as a pandas DataFrame; the columns `text` stay text, whatever they look like."""
        return next(self.chunks(None, text=text))

    def titles(self) -> list[str]:
        """The names of the columns; only the beginning of a file is read."""
        return list(next(self.chunks(1, text=None)).columns)

    def chunks(
        self, rows: int | None = CHUNK, *, text: Container[str] | None = (), only: Sequence[str] | None = None
    ) -> Iterator[Any]:
        """The rows in their order, as frames of `rows` rows whose index counts on; the file is opened once.

        Text and Parquet files are read piece by piece. Any other table is read whole and handed out in pieces.

        Parameters
        ----------
        rows: Rows of each frame. `None` gives one frame.
        text: Columns of a text file that stay text, whatever they look like. `None` leaves all entries as they are.
        only: Columns to read, if the file has all of them.
        """
        pandas = need("pandas", "reading tables", "learn")
        count = 0
        with contextlib.closing(self._pieces(rows, text, only)) as pieces:
            while True:
                try:  # not around the loop: errors and warnings of the caller are the caller's
                    with warnings.catch_warnings():
                        warnings.simplefilter("error", pandas.errors.ParserWarning)
                        piece = next(pieces, None)
                except ForesolveError:
                    raise
                except Exception as error:  # whatever a damaged file makes these libraries stumble over
                    raise FileError(self.path, *_cause(error)) from error
                if piece is None:
                    break
                if len(piece):
                    count += len(piece)
                    yield piece
        if not count:
            raise FileError(self.path, "has no rows")

    def _pieces(
        self, rows: int | None, text: Container[str] | None, only: Sequence[str] | None
    ) -> Generator[Any, None, None]:
        path, suffix = Path(self.path), suffix_of(self.path)
        if not path.exists():
            near = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
            raise FileError(path, "is not there", checks.did_you_mean(path.name, near))
        if suffix in SEPARATORS:
            yield from self._text_pieces(rows, text, only)
        elif suffix in PARQUET:
            yield from _parquet_pieces(path, rows, only)
        elif suffix in ARROW or suffix == ".npz":
            frame = _read_arrow(path) if suffix in ARROW else _read_archive(path)
            frame = frame if only is None else frame[_chosen(frame.columns, only)]
            step = rows or max(1, len(frame))
            yield from (frame.iloc[start : start + step] for start in range(0, len(frame), step))
        else:
            raise checks.fail("path", "a .csv, .tsv, .parquet, .arrow, .feather or .npz file", repr(path.name))

    # -- text files ---------------------------------------------------------------------------------------------------

    def _text_pieces(self, rows: int | None, text: Container[str] | None, only: Sequence[str] | None) -> Iterator[Any]:
        pandas, path = need("pandas", "reading tables", "learn"), Path(self.path)
        with (
            reading.opened_table(path) as stream,
            io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as lines,  # type: ignore[type-var]
        ):
            begun = [lines.readline()]
            if not begun[0].strip():
                raise FileError(path, "begins with an empty line, not with names" if begun[0] else "is empty")
            bare = _QUOTED.sub("", begun[0])
            separator = SEPARATORS[suffix_of(path)] or max(",;\t", key=bare.count)  # the first one if there is none
            titles = _titles(path, lines, begun, separator)
            options: dict[str, Any] = {
                "sep": separator, "header": 0, "names": titles, "index_col": False, "dtype": object,
                "keep_default_na": False, "na_values": list(MISSING), "usecols": only and _chosen(titles, only),
                "low_memory": False,
            }  # fmt: skip
            source = _Begun("".join(begun), lines)
            try:
                table = pandas.read_csv(source, **options, chunksize=rows)
                for piece in [table] if rows is None else table:
                    yield self._understood(_without_numbers(path, piece), text, separator)
            except pandas.errors.ParserError as error:
                if source.failed is None and "Calling read(nbytes) on source failed" in str(error):
                    raise KeyboardInterrupt from None  # it came before the call; pandas keeps only that it failed
                raise

    def _understood(self, piece: Any, text: Container[str] | None, separator: str) -> Any:
        """Text as numbers, truth values and ISO dates, column by column."""
        if text is None:
            return piece
        pandas = need("pandas", "reading tables", "learn")
        table, columns = piece.to_numpy(), {}
        known = table == table  # NaN is not
        for place, title in enumerate(piece.columns):
            column, there = table[:, place], known[:, place]
            column = column if self.date_format is None else self._dated(column, there)
            columns[title] = column if title in text else self._typed(title, column, there, separator)
        return pandas.DataFrame(columns, index=piece.index)

    def _dated(self, column: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Dates in the file's format as ISO dates; any other column as it is."""
        pandas = need("pandas", "reading tables", "learn")
        texts = pandas.Series(column[known], dtype=object).str.strip()
        dates = pandas.to_datetime(texts, format=self.date_format, errors="coerce")
        given = dates.notna().to_numpy()
        if not given.any() or not all(map(_ISO_DATE.fullmatch, texts[~given])):
            return column
        clock = "T%H:%M:%S" if re.search("%[HIMSc]", self.date_format or "") else ""
        column, places = column.copy(), np.flatnonzero(known)[given]
        column[places] = dates[given].dt.strftime("%Y-%m-%d" + clock)
        return column

    def _typed(self, title: str, column: np.ndarray, known: np.ndarray, separator: str) -> np.ndarray:
        """A column as numbers or truth values, if all its known entries are; else as it is.

        Whole numbers that begin with a zero, such as 00114, are names.
        """
        every = bool(known.all())
        entries = column.tolist() if every else column[known].tolist()
        if not entries:
            return column.astype(float)
        if every and entries[0] in _TRUTHS and _TRUTHS.keys() >= set(entries):
            return np.array([_TRUTHS[entry] for entry in entries])
        if not _BEGUN.match(entries[0]):
            return column
        lines = "\n".join(entries) + "\n"
        plain = self._plain(lines)
        numbers = entries if plain is lines else plain.split("\n")[:-1]
        try:
            values = np.array(numbers, dtype=object).astype(float)
        except ValueError:
            values = np.array([])
        if len(values) != len(entries) or _STRANGE.search(plain):
            self._check_marks(title, lines)
            return column
        whole = not _FRACTION.search(plain)
        if whole and _PADDED.search(plain):
            return column
        if separator == ";":  # decimal commas are likely
            self._check_groups(title, lines)
        if not every:
            filled = np.full(len(column), np.nan)
            filled[known] = values
            return filled
        return values.astype(np.int64) if whole and np.abs(values).max() < EXACT else values

    def _plain(self, lines: str) -> str:
        """Numbers on lines, in the notation 1234.5; text stays text."""
        if self.thousands is not None:
            grouped = rf"^ *[+-]?[0-9]{{1,3}}(?:{re.escape(self.thousands)}[0-9]{{3}})++(?![0-9])"
            lines = re.sub(grouped, lambda found: re.sub("[^0-9+-]", "", found[0]), lines, flags=re.MULTILINE)
        return lines if self.decimal != "," else lines.replace(".", "?").replace(",", ".")

    def _check_marks(self, title: str, lines: str) -> None:
        """Refuse numbers with another mark than the settings have, if nothing says what the mark is."""
        if _MARKED.fullmatch(lines) and (self.decimal is None or (self.thousands is None and _GROUPS.fullmatch(lines))):
            marks = ".," if self.decimal == "," else ",."
            example = next(line for mark in marks for line in lines.splitlines() if mark in line)
            raise self._ambiguous("decimal" if self.decimal is None else "thousands", title, example.strip())

    def _check_groups(self, title: str, lines: str) -> None:
        """Refuse points that may stand between thousands.

        They may if three digits follow each, entries below a thousand have none, and zeros at the end are written out.
        """
        if not self.settings and _GROUPS.fullmatch(lines):
            entries = lines.split()
            marked = [entry for entry in entries if "." in entry]
            if len(marked) < len(entries) and any(entry.endswith("0") for entry in marked):
                raise self._ambiguous("decimal", title, marked[0])

    def _ambiguous(self, setting: str, title: str, entry: str) -> InvalidInputError:
        mark = max(".,", key=entry.rfind)
        expected = f"given for {self.path}, whose column {title!r} can be read in two ways"
        remedy = Phrase(
            "Set it in ", WHERE, ": ", Setting("decimal", mark), f" if {mark!r} stands before decimals, ",
            Setting("thousands", mark), " if it stands between thousands",
        )  # fmt: skip
        return checks.fail(setting, expected, repr(entry), remedy)


def read_table(
    path: str | Path,
    *,
    decimal: Literal[".", ","] | None = None,
    thousands: str | None = None,
    date_format: str | None = None,
) -> Any:
    """A file as a pandas DataFrame; the arguments are those of `TableFile`.

    Needs the extra `learn`; Parquet and Arrow need `parquet` too. A text column becomes numbers if all its entries are
    numbers. Whole numbers with leading zeros ("00114") are names and stay text. A column named twice, a row longer than
    the first line and a column without a name are errors. A first column without a name that counts the rows is left
    out. Of an `.npz`, each array `(N,)` is a column, and an array `(N, p)` is `p` columns, named by the array
    `<array>_names` or "<array> 0", ...; nothing in it is run.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from foresolve.data import read_table
    >>> path = pathlib.Path(tempfile.mkdtemp(), "roads.csv")
    >>> _ = path.write_text("road,from,to\\nr1,A,B\\nr2,B,A\\n")
    >>> read_table(path).columns.tolist()
    ['road', 'from', 'to']
    """
    return TableFile(path, decimal, thousands, date_format).frame()


def suffix_of(path: str | Path) -> str:
    """The suffix that tells the kind of a file; `.gz` does not."""
    path = Path(path)
    return Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()


def _cause(error: Exception) -> tuple[str, str]:
    """Why a table cannot be read, and what to do."""
    if isinstance(error, UnicodeDecodeError):
        return f"is no text in UTF-8 ({error.reason} at byte {error.start})", "Save it as UTF-8"
    if type(error).__name__ == "ParserWarning":
        return "has rows that are longer than its first line", ""
    return f"cannot be read: {type(error).__name__}: {reading.one_line(error)}", ""


def _check_names(path: Path, names: Sequence[str]) -> None:
    twice = next((name for name, count in Counter(names).items() if name and count > 1), None)
    if twice is not None:
        raise FileError(path, f"has two columns {twice!r}")


def _chosen(titles: Sequence[str], only: Sequence[str]) -> list[str]:
    """The columns that are to be read; all of them if one of `only` is missing, for messages about it."""
    return list(only if set(only) <= set(titles) else titles)


# -- reading -----------------------------------------------------------------------------------------------------------


class _Begun(io.TextIOBase):
    """A text whose first lines have been read, from its beginning."""

    def __init__(self, begun: str, rest: IO[str]) -> None:
        self._begun, self._rest = begun, rest
        self.failed: BaseException | None = None

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> str:
        begun, self._begun = self._begun, ""
        try:
            return begun or self._rest.read(-1 if size is None else size)
        except BaseException as error:
            self.failed = error
            raise


def _titles(path: Path, lines: IO[str], begun: list[str], separator: str) -> list[str]:
    """The names in the first line, or in the first lines if a quoted name has several; `begun` are those read."""

    def first_lines() -> Iterator[str]:
        yield begun[0]
        while line := lines.readline():
            begun.append(line)
            yield line

    titles = [title.strip() for title in next(csv.reader(first_lines(), delimiter=separator))]
    _check_names(path, titles)
    if "" in titles[1:]:
        raise FileError(path, f"has a column without a name, number {titles.index('', 1) + 1}")
    return titles


def _without_numbers(path: Path, piece: Any) -> Any:
    """The rows without a first column that has no name and counts them."""
    if "" in piece.columns:
        if piece[""].tolist() != [str(row) for row in piece.index]:
            raise FileError(path, "has a column without a name, number 1")
        piece = piece.drop(columns="")
    return piece


def _parquet_pieces(path: Path, rows: int | None, only: Sequence[str] | None) -> Iterator[Any]:
    need("pandas", "reading tables", "learn")
    library = need("pyarrow.parquet", "reading Parquet files", "parquet")
    with reading.opened(path, None) as stream, library.ParquetFile(stream) as file:
        titles = file.schema_arrow.names
        _check_names(path, titles)
        columns = only and _chosen(titles, only)
        if rows is None:
            yield file.read(columns=columns).to_pandas()
            return
        start = 0
        for batch in file.iter_batches(batch_size=rows, columns=columns):
            frame = batch.to_pandas()
            frame = frame.reset_index(level=[name for name in frame.index.names if name is not None])
            frame.index = range(start, start + len(frame))
            start += len(frame)
            yield frame


def _read_arrow(path: Path) -> Any:
    need("pandas", "reading tables", "learn")
    library = need("pyarrow.feather", "reading Arrow files", "parquet")
    with reading.opened(path, None) as stream:
        try:
            table = library.read_table(stream)
        except Exception:  # a stream, which has another beginning than a file
            ipc = need("pyarrow.ipc", "reading Arrow files", "parquet")
            stream.seek(0)
            table = ipc.open_stream(stream).read_all()
    _check_names(path, table.column_names)
    return table.to_pandas()


def _read_archive(path: Path) -> Any:
    pandas = need("pandas", "reading tables", "learn")
    arrays = read_arrays(path)
    names = {name: arrays.pop(f"{name}_names") for name in list(arrays) if f"{name}_names" in arrays}
    columns: dict[str, Any] = {}
    titled: list[str] = []
    for name, array in arrays.items():
        if array.ndim not in (1, 2):
            raise FileError(path, f"holds {name!r} of shape {array.shape}; a table has arrays (N,) and (N, p)")
        if array.ndim == 1:
            columns[name] = array
            titled.append(name)
            continue
        titles = names.get(name, [f"{name} {place}" for place in range(array.shape[1])])
        if len(titles) != array.shape[1]:
            raise FileError(path, f"holds {len(titles)} names for the {array.shape[1]} columns of {name!r}")
        columns |= {str(title): array[:, place] for place, title in enumerate(titles)}
        titled += map(str, titles)
    _check_names(path, titled)
    sizes = {len(column) for column in columns.values()}
    if len(sizes) != 1:
        raise FileError(path, f"must hold arrays of one length; their lengths are {sorted(sizes)}")
    return pandas.DataFrame(columns)


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

    def __init__(self, path: str | Path) -> None:
        self.path = checks.path("path", path)
        check_writable("path", self.path)
        self.rows = 0
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
        if self.path.suffix.lower() in PARQUET:
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

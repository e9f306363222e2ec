"""Tables that users keep in files: CSV, Parquet, Arrow, NumPy's archives."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from foresolve._base import checks, reading
from foresolve._base.arrays import read_arrays
from foresolve._base.extras import need
from foresolve._base.grouped_numbers import check_marks
from foresolve._base.leading_zeros import padded_columns
from foresolve.errors import ForesolveError

_DECIMAL_COMMA = re.compile(r"[+-]?\d+(,\d+)?")
_QUOTED = re.compile(r'"[^"]*"')
MOST_HEADER = 2**24  # bytes of the names of columns
MOST_COLUMNS = 100_000  # pandas makes each of them for itself
# What pandas takes for a missing entry, but for "None", which is a word among words: an event, a promotion.
MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "n/a", "nan", "null",
)  # fmt: skip
SEPARATORS = {".csv": None, ".tsv": "\t", ".txt": None}


def read_table(path: str | Path) -> Any:
    """A file as a pandas DataFrame: `.csv`, `.tsv` (also `.gz`), `.parquet`, `.arrow`, `.feather` or `.npz`.

    Needs the extra `learn`; Parquet and Arrow need `parquet` too. Text files are UTF-8, separated by commas,
    semicolons or tabs, whichever their first line has most of; with semicolons, numbers may have decimal commas. A
    column of whole numbers that are written with leading zeros ("00114") holds names, and is read as text. Read with
    suspicion: a column named twice, a row longer than the first line, a column without a name are errors (but for a
    first one that counts 0, 1, 2, ..., which is left out). Of an `.npz`, each array `(N,)` is a column, and an array
    `(N, p)` is `p` of them, by the names in `<array>_names` or else "<array> 0", ...; nothing in it is run.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from foresolve.data import read_table
    >>> path = pathlib.Path(tempfile.mkdtemp(), "roads.csv")
    >>> _ = path.write_text("road,from,to\\nr1,A,B\\nr2,B,A\\n")
    >>> read_table(path).columns.tolist()
    ['road', 'from', 'to']
    """
    path = checks.path("path", path)
    check_table(path)
    reader = _reader(path)
    try:
        return reader(path)
    except ForesolveError:
        raise
    except Exception as error:  # whatever a damaged file makes these libraries stumble over
        raise ForesolveError(f"{path} cannot be read: {cause(error)}") from error


def cause(error: Exception) -> str:
    """Why a table cannot be read, in a line."""
    if isinstance(error, UnicodeDecodeError):
        return f"it is no text in UTF-8 ({error.reason} at byte {error.start}). Save it as UTF-8"
    return f"{type(error).__name__}: {reading.one_line(error)}"


def check_table(path: Path) -> None:
    """Refuse what is no regular file; where nothing is there, with what is near."""
    if not path.exists():
        raise ForesolveError(_absent(path))
    reading.check_file(path, None)


def suffix_of(path: Path) -> str:
    """What the name of a file says that it holds; `.gz` says nothing."""
    return Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()


def _reader(path: Path) -> Callable[[Path], Any]:
    suffix = suffix_of(path)
    if suffix in SEPARATORS:
        return _read_text
    if suffix == ".npz":
        return _read_archive
    if suffix in {".parquet", ".pq", ".arrow", ".feather", ".ipc"}:
        need("pyarrow", f"reading {suffix} files", "parquet")
        need("pandas", "reading tables", "learn")
        return _read_parquet if suffix in {".parquet", ".pq"} else _read_arrow
    expected = "a .csv, .tsv, .parquet, .arrow, .feather or .npz file"
    raise checks.fail("path", expected, repr(path.name))


def _check_columns(path: Path, count: int) -> None:
    if count > MOST_COLUMNS:
        raise ForesolveError(f"{path} has {count:,} columns; tables of at most {MOST_COLUMNS:,} are read")


def _check_names(path: Path, names: Sequence[str]) -> None:
    twice = next((name for name, count in Counter(names).items() if name and count > 1), None)
    if twice is not None:
        raise ForesolveError(f"{path} has two columns {twice!r}")


def _absent(path: Path) -> str:
    try:
        near = checks.did_you_mean(path.name, [other.name for other in path.parent.iterdir()])
    except OSError:
        near = ""
    return f"{path} is not there" + (f". {near}" if near else "")


# -- text --------------------------------------------------------------------------------------------------------------


def text_options(path: Path) -> dict[str, Any]:
    """How pandas reads a text file: its separator and the names of its columns, none of them twice."""
    with reading.opened_table(path) as stream:
        line = next(_first_lines(stream, path), "")
    if not line.strip():
        raise ForesolveError(f"{path} is empty" if not line else f"{path} begins with an empty line, not with names")
    bare = _QUOTED.sub("", line)
    separator = SEPARATORS[suffix_of(path)] or max(",;\t", key=bare.count)  # the first of them where there is none
    with reading.opened_table(path) as stream:
        names = [name.strip() for name in next(csv.reader(_first_lines(stream, path), delimiter=separator))]
    _check_columns(path, len(names))  # before pandas, which takes minutes for a million of them
    _check_names(path, names)
    unnamed = [place for place, name in enumerate(names) if not name and place > 0]
    if unnamed:
        raise ForesolveError(f"{path} has a column without a name, number {unnamed[0] + 1}")
    options = {
        "sep": separator, "encoding": "utf-8-sig", "header": 0, "names": names, "index_col": False,
        "keep_default_na": False, "na_values": list(MISSING),
    }  # fmt: skip
    if separator == ";":  # where decimal commas may stand
        check_marks(path, options)
    padded = padded_columns(path, options)
    return {**options, "dtype": dict.fromkeys(padded, str)} if padded else options


def _first_lines(stream: IO[bytes], path: Path) -> Iterator[str]:
    """Those that the names of columns take: several, where a quoted name is of several."""
    left = MOST_HEADER
    while line := stream.readline(left + 1):
        left -= len(line)
        if left < 0:
            raise ForesolveError(f"{path} begins with more than {MOST_HEADER:,} bytes of names of columns")
        yield from io.StringIO(line.decode("utf-8-sig"), newline="")  # which ends lines at "\r" too


def _read_text(path: Path) -> Any:
    pandas = need("pandas", "reading tables", "learn")
    options = text_options(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            with reading.opened_table(path) as stream:
                frame = pandas.read_csv(stream, **options)
        except pandas.errors.EmptyDataError as error:
            raise ForesolveError(f"{path} has a first line and nothing else") from error
        except pandas.errors.ParserWarning as error:
            raise ForesolveError(f"{path} has rows that are longer than its first line") from error
        except pandas.errors.DtypeWarning:
            with reading.opened_table(path) as stream:
                frame = pandas.read_csv(stream, **options, low_memory=False)
    if frame.empty:
        raise ForesolveError(f"{path} has a first line and nothing else")
    return mended_text(frame, path, options["sep"])


def mended_text(frame: Any, path: Path, separator: str) -> Any:
    """Without row numbers in a first column that has no name, and with decimal commas read where they may stand."""
    if "" in frame.columns:
        if not np.array_equal(frame[""].to_numpy(), np.arange(len(frame)) + frame.index[0]):
            raise ForesolveError(f"{path} has a column without a name, number 1")
        frame = frame.drop(columns="")
    if separator != ";":
        return frame
    for name in frame.columns:
        known = frame[name].dropna()
        if not len(known) or known.dtype.kind in "fiub":
            continue
        texts = known.astype(str).str
        if not texts.fullmatch(_DECIMAL_COMMA).all() or not texts.contains(",", regex=False).any():
            continue  # digits alone that were left as text are names
        frame[name] = frame[name].astype("str").str.replace(",", ".", regex=False).astype(float)
    return frame


# -- others ------------------------------------------------------------------------------------------------------------


def _read_arrow(path: Path) -> Any:
    library = need("pyarrow.feather", "reading Arrow files", "parquet")
    with reading.opened(path, None) as stream:
        try:
            table = library.read_table(stream)
        except Exception:  # a stream, which has another beginning than a file
            ipc = need("pyarrow.ipc", "reading Arrow files", "parquet")
            stream.seek(0)
            table = ipc.open_stream(stream).read_all()
    _check_columns(path, table.num_columns)
    _check_names(path, table.column_names)
    return table.to_pandas()


@contextlib.contextmanager
def opened_parquet(path: Path) -> Iterator[Any]:
    """A Parquet file, if what it says that it holds is plausible for its size."""
    library = need("pyarrow.parquet", "reading Parquet files", "parquet")
    with reading.opened(path, None) as stream, library.ParquetFile(stream) as file:
        _check_columns(path, file.metadata.num_columns)
        _check_names(path, file.schema_arrow.names)
        yield file


def _read_parquet(path: Path) -> Any:
    with opened_parquet(path) as file:
        return file.read().to_pandas()


def _read_archive(path: Path) -> Any:
    pandas = need("pandas", "reading tables", "learn")
    arrays = read_arrays(path)
    _check_columns(path, sum(array.shape[1] if array.ndim == 2 else 1 for array in arrays.values()))
    names = {name: arrays.pop(f"{name}_names") for name in list(arrays) if f"{name}_names" in arrays}
    columns: dict[str, Any] = {}
    titled: list[str] = []
    for name, array in arrays.items():
        if array.ndim not in (1, 2):
            raise ForesolveError(f"{path} holds {name!r} of shape {array.shape}; a table has arrays (N,) and (N, p)")
        if array.ndim == 1:
            columns[name] = array
            titled.append(name)
            continue
        titles = names.get(name, [f"{name} {place}" for place in range(array.shape[1])])
        if len(titles) != array.shape[1]:
            raise ForesolveError(f"{path} holds {len(titles)} names for the {array.shape[1]} columns of {name!r}")
        columns |= {str(title): array[:, place] for place, title in enumerate(titles)}
        titled += map(str, titles)
    _check_names(path, titled)
    sizes = {len(column) for column in columns.values()}
    if len(sizes) != 1:
        raise ForesolveError(f"{path} must hold arrays of one length; their lengths are {sorted(sizes)}")
    return pandas.DataFrame(columns)

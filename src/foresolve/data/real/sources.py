"""Real data sets: fetched from where they are published, and checked against what was published."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from foresolve._base import checks, reading
from foresolve._base.files import sha256
from foresolve.data.real.archives import Progress, download, extract, move_all
from foresolve.data.real.edges import split_rows
from foresolve.data.real.registry import DataFile, Source, find_source
from foresolve.errors import ForesolveError


@dataclass(frozen=True)
class Finding:
    """What `check_source` says of one file."""

    file: str
    ok: bool
    message: str


def check_source(name: str, folder: str | Path) -> list[Finding]:
    """Check each file of a source: is it there, is it the published one, has it the right columns?

    A file whose checksum differs, or for which none is known, is judged by its columns; its rows are counted and
    compared with the published number. Fewer rows are said, but are no fault: parts of the data can be worked with.

    Parameters
    ----------
    folder: the data folder, which has the source's own as a subfolder, or that folder itself; for "edges" also a file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [(finding.file, finding.ok) for finding in check_source("cora", folder)]
    [('cora.content', False), ('cora.cites', False)]
    """
    source, folder = find_source(name), checks.path("folder", folder)
    if folder.is_file() and len(source.files) == 1:
        return [_examine(replace(source.files[0], name=folder.name, rows=None), folder)]
    places = [place for place in source.places(folder) if any(file.find(place) for file in source.needed)]
    base = (places or [folder / source.folder])[0]
    return [_examine(file, file.find(base) or base / file.name) for file in source.files]


def fetch_source(name: str, folder: str | Path, progress: Progress | None = None) -> Path:
    """Download a source into its subfolder of `folder`, and return that.

    Only the files that the registry names are taken out of the archive. They are checked (by checksum; by columns and
    rows where none is known) before they are moved to their place; if anything fails, nothing is left behind. Files
    that are there already are never replaced.

    Parameters
    ----------
    progress: called with the bytes that have come and the bytes that will come, if the server says.
    """
    source, folder = find_source(name), checks.path("folder", folder)
    target, names = folder / source.folder, " and ".join(file.title for file in source.needed)
    if source.url is None:
        raise ForesolveError(
            f"{source.title} has no address to fetch from", remedy=f"Put {names} into {target} yourself"
        )
    present = [file.name for file in source.files if (target / file.name).exists()]
    if present:
        raise ForesolveError(
            f"{target} already has {', '.join(present)}, which is never replaced",
            remedy=f"See what it is with `foresolve data check {name}`; to fetch again, move it away first",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".fetch-", dir=folder))  # beside the target: a move is then one step
    except OSError as error:
        raise ForesolveError(f"could not write to {folder}: {error.strerror}", remedy="Name another folder") from error
    try:
        archive, files = scratch / "archive", scratch / "files"
        by_hand = f"You can also download it on another machine and put {names} into {target}"
        download(source.url, archive, progress, by_hand)
        files.mkdir()
        extracted = extract(archive, [file.name for file in source.files], files, source.url)
        lacking = [file.name for file in source.needed if file.name not in extracted]
        if lacking:
            raise ForesolveError(f"the archive of {source.url} has no {lacking[0]}: it is not the one expected")
        _verify(source, files)
        move_all(files, target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target


def _examine(file: DataFile, path: Path) -> Finding:
    if not path.is_file():
        message = "not there; nothing needs it" if file.optional else f"not there: {path} is not a file"
        return Finding(file.name, file.optional, message)
    if file.sha256 is not None and sha256(path) == file.sha256:
        return Finding(file.name, True, "the published file (sha256 agrees)")
    rows, fault = _rows(file, path)
    if fault:
        return Finding(file.name, False, fault)
    known = "no published checksum is known" if file.sha256 is None else "differs from the published file"
    if not file.is_table:
        return Finding(file.name, True, f"there; {known}")
    if file.rows is None:
        counted = f"{rows:,} rows"
    elif rows == file.rows:
        counted = f"{rows:,} rows, as published"
    else:
        counted = f"{rows:,} rows, {100 * rows / file.rows:.1f} % of the published {file.rows:,}"
    return Finding(file.name, True, f"{known}; columns are right, {counted}")


def _rows(file: DataFile, path: Path) -> tuple[int, str]:
    """How many rows a table has, and what is wrong with it, if anything."""
    rows, needed = 0, file.width
    if not file.is_table:
        return 0, ""
    with reading.opened_text(path, "latin-1") as lines:
        if file.columns:
            titles = [title.strip() for title in lines.readline().split(file.separator)]
            missing = [title for title in file.columns if title not in titles]
            if missing:
                return 0, f"its first line must name the columns {', '.join(file.columns)}; {missing[0]} is missing"
            needed = 1 + max(titles.index(title) for title in file.columns)
        for number, width in _widths(file, lines):
            if width < needed:
                return rows, f"line {number} has too few columns: {width}, and {needed} are needed"
            rows += 1
    return rows, "" if rows or not needed else "there are no rows in it"


def _widths(file: DataFile, lines: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Line numbers and numbers of columns; lines without anything are passed over."""
    if file.separator is None:
        yield from ((row.number, len(row.cells)) for row in split_rows(lines))
        return
    for number, line in enumerate(lines, 2 if file.columns else 1):
        if line.strip():
            yield number, line.count(file.separator) + 1


def _verify(source: Source, folder: Path) -> None:
    for file in source.files:
        path = folder / file.name
        if not path.is_file():
            continue
        if file.sha256 is not None:
            actual = sha256(path)
            if actual != file.sha256:
                raise ForesolveError(
                    f"{file.name} from {source.url} is not the published file: its sha256 is {actual}, not "
                    f"{file.sha256}"
                )
            continue
        rows, fault = _rows(file, path)
        if not fault and file.rows not in (None, rows):
            fault = f"it has {rows:,} rows, not {file.rows:,}"
        if fault:
            raise ForesolveError(f"{file.name} from {source.url} is not the published file: {fault}")

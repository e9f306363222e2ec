"""Real data sets: where they come from, on what terms, whether the files at hand are the published ones."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from foresolve._base import checks
from foresolve._base.files import sha256
from foresolve.data.real.archives import Progress, download, extract, move_all
from foresolve.errors import ForesolveError


@dataclass(frozen=True)
class DataFile:
    """A file of a source.

    Attributes
    ----------
    columns: names that its first line must have; without them there is no header, and `width` columns are asked for.
    width: the least number of columns in every row; 0 for a file that is not a table.
    rows: as published, a header not counted.
    sha256: of the published file, where it is known.
    separator: `None` for an edge list: the first of "::", tab, comma and spaces that its first line has, where lines
        that start with # or % are passed over.
    optional: nothing needs it.
    """

    name: str
    columns: tuple[str, ...] = ()
    width: int = 0
    rows: int | None = None
    sha256: str | None = None
    separator: str | None = "\t"
    optional: bool = False


@dataclass(frozen=True)
class Source:
    """A data set that others publish.

    Attributes
    ----------
    folder: the subfolder of the data folder in which its files are looked for, and to which they are fetched.
    url: of an archive with the files; `None` where there is none to fetch.
    terms: on which its publishers hand it out, in a few words.
    """

    name: str
    title: str
    description: str
    folder: str
    files: tuple[DataFile, ...]
    url: str | None
    terms: str


@dataclass(frozen=True)
class Finding:
    """What `check_source` says of one file."""

    file: str
    ok: bool
    message: str


SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        Source(
            name="cora",
            title="Cora citations",
            description="2,708 papers on machine learning with 1,433 words each and 5,429 citations among them.",
            folder="cora",
            files=(
                DataFile(
                    "cora.content",
                    width=1435,
                    rows=2708,
                    sha256="b8ebed0fd45e53995abafd1b70cf6a9fcc8f86abc5826d69b97fe6ca46e9c8ee",
                ),
                DataFile(
                    "cora.cites",
                    width=2,
                    rows=5429,
                    sha256="ec1a372391b7f0f60a6aff0084e8abd8f19f0faa7e1f2441a41c492042d5945e",
                ),
            ),
            url="https://linqs-data.soe.ucsc.edu/public/lbc/cora.tgz",
            terms="none stated; widely used for research",
        ),
        Source(
            name="movielens",
            title="MovieLens, HetRec 2011",
            description="855,598 ratings of 10,197 movies by 2,113 users, and the 95,321 actors of the movies.",
            folder="hetrec2011-movielens-2k",
            files=(
                DataFile("user_ratedmovies.dat", columns=("userID", "movieID", "rating"), rows=855598),
                DataFile("movie_actors.dat", columns=("movieID", "actorID"), rows=231742),
                DataFile("movies.dat", columns=("id",), optional=True),
                DataFile("readme.txt", optional=True),
            ),
            url="https://files.grouplens.org/datasets/hetrec2011/hetrec2011-movielens-2k-v2.zip",
            terms="non-commercial use; cite MovieLens (GroupLens), IMDb and Rotten Tomatoes",
        ),
        Source(
            name="edges",
            title="Any bipartite edge list, for example MovieTweetings 100K",
            description="Pairs (channel, customer), one in a line, for budget allocation. The paper's Yahoo graph is "
            "licensed: ask Yahoo Webscope for A1, or take any other file of pairs.",
            folder="movietweetings-100k",
            files=(DataFile("ratings.dat", width=2, rows=100000, separator=None),),
            url=None,
            terms="those of the file; MovieTweetings: MIT",
        ),
    )
}


def find_source(name: str) -> Source:
    """The source of this name, or an error that lists them."""
    if name not in SOURCES:
        raise checks.fail("name", f"one of {', '.join(map(repr, SOURCES))}", repr(name))
    return SOURCES[name]


def check_source(name: str, folder: str | Path) -> list[Finding]:
    """What there is to say about each file of a source: is it there, is it the published one, has it the columns?

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
    source, folder = find_source(name), Path(folder)
    if folder.is_file() and len(source.files) == 1:
        return [_examine(replace(source.files[0], name=folder.name, rows=None), folder)]
    base = _located(source, folder)
    return [_examine(file, base / file.name) for file in source.files]


def fetch_source(name: str, folder: str | Path, progress: Progress | None = None) -> Path:
    """Download a source into its subfolder of `folder`, and return that.

    Only the files that the registry names are taken out of the archive. They are checked (by checksum; by columns and
    rows where none is known) before they are moved to their place; if anything fails, nothing is left behind. Files
    that are there already are never replaced.

    Parameters
    ----------
    progress: called with the bytes that have come and the bytes that will come, if the server says.
    """
    source, folder = find_source(name), Path(folder)
    target, names = folder / source.folder, " and ".join(file.name for file in source.files if not file.optional)
    if source.url is None:
        raise ForesolveError(f"{source.title} has no address to fetch from. Put {names} into {target} yourself")
    there = [file.name for file in source.files if (target / file.name).exists()]
    if there:
        raise ForesolveError(
            f"{target} already has {', '.join(there)}, which is never replaced. See what it is with `foresolve data "
            f"check {name}`; to fetch anew, move it away first"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".fetch-", dir=folder))  # beside the target: a move is then one step
    except OSError as error:
        raise ForesolveError(f"could not write to {folder}: {error.strerror}. Name another folder") from error
    try:
        archive, files = scratch / "archive", scratch / "files"
        by_hand = f"You can also download it on another machine and put {names} into {target}"
        download(source.url, archive, progress, by_hand)
        files.mkdir()
        found = extract(archive, [file.name for file in source.files], files, source.url)
        lacking = [file.name for file in source.files if file.name not in found and not file.optional]
        if lacking:
            raise ForesolveError(f"the archive of {source.url} has no {lacking[0]}: it is not the one expected")
        _verify(source, files)
        move_all(files, target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target


def _located(source: Source, folder: Path) -> Path:
    own = folder / source.folder
    here = any((folder / file.name).is_file() for file in source.files if not file.optional)
    return folder if here and not own.is_dir() else own


def _examine(file: DataFile, path: Path) -> Finding:
    if not path.is_file():
        message = "not there; nothing needs it" if file.optional else f"not there: {path} is no file"
        return Finding(file.name, file.optional, message)
    if file.sha256 is not None and sha256(path) == file.sha256:
        return Finding(file.name, True, "the published file (sha256 agrees)")
    rows, fault = _rows(file, path)
    if fault:
        return Finding(file.name, False, fault)
    known = "no published checksum is known" if file.sha256 is None else "differs from the published file"
    if not file.columns and not file.width:
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
    rows, needed, separator = 0, file.width, file.separator
    with path.open(encoding="latin-1") as lines:
        if file.columns:
            titles = [title.strip() for title in lines.readline().split(separator)]
            missing = [title for title in file.columns if title not in titles]
            if missing:
                return 0, f"its first line must name the columns {', '.join(file.columns)}; {missing[0]} is missing"
            needed = 1 + max(titles.index(title) for title in file.columns)
        for number, line in enumerate(lines, 2 if file.columns else 1):
            if not line.strip() or (file.separator is None and line.startswith(("#", "%"))):
                continue
            if separator is None:
                separator = next((mark for mark in ("::", "\t", ",") if mark in line), " ")
            found = len(line.split()) if separator == " " else line.count(separator) + 1
            if found < needed:
                return rows, f"line {number} has too few columns: {found}, and {needed} are needed"
            rows += 1
    return rows, "" if rows or not needed else "there are no rows in it"


def _verify(source: Source, folder: Path) -> None:
    for file in source.files:
        path = folder / file.name
        if not path.is_file():
            continue
        if file.sha256 is not None:
            found = sha256(path)
            if found != file.sha256:
                raise ForesolveError(
                    f"{file.name} from {source.url} is not the published file: its sha256 is {found}, not {file.sha256}"
                )
            continue
        rows, fault = _rows(file, path)
        if not fault and file.rows not in (None, rows):
            fault = f"it has {rows:,} rows, not {file.rows:,}"
        if fault:
            raise ForesolveError(f"{file.name} from {source.url} is not the published file: {fault}")

"""Real data sets: what their files are called, and where they lie."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from foresolve._base import checks

# Of Yahoo Webscope A1, whose lines begin with the time, then phrase and account.
YAHOO = "ydata-ysm-advertiser-bids-v1_0.txt"


@dataclass(frozen=True)
class DataFile:
    """A file of a source.

    Attributes
    ----------
    columns: names that its first line must have; without them there is no header, and `width` columns are asked for.
    width: the least number of columns in every row; 0 for a file that is not a table.
    rows: as published, a header not counted.
    sha256: of the published file, where it is known.
    separator: `None` for an edge list, see `split_rows`.
    optional: it can be done without.
    others: names that will do as well; like `name` they may be patterns such as "edges.*".
    """

    name: str
    columns: tuple[str, ...] = ()
    width: int = 0
    rows: int | None = None
    sha256: str | None = None
    separator: str | None = "\t"
    optional: bool = False
    others: tuple[str, ...] = ()

    @property
    def is_table(self) -> bool:
        """Whether there is something in it to be read."""
        return bool(self.columns or self.width)

    @property
    def title(self) -> str:
        """Its names, for messages."""
        return " or ".join((self.name, *self.others))

    def find(self, place: Path) -> Path | None:
        """The file in a folder, by the first of its names that is there."""
        for pattern in (self.name, *self.others):
            paths = sorted(path for path in place.glob(pattern) if path.is_file())
            if paths:
                return paths[0]
        return None


@dataclass(frozen=True)
class Source:
    """A data set that others publish.

    Attributes
    ----------
    folder: the subfolder of the data folder in which its files are looked for, and to which they are fetched.
    url: of an archive with the files; `None` where there is none to fetch.
    terms: on which its publishers hand it out, in a few words.
    other_folders: further subfolders in which they are looked for.
    """

    name: str
    title: str
    description: str
    folder: str
    files: tuple[DataFile, ...]
    url: str | None
    terms: str
    other_folders: tuple[str, ...] = ()

    @property
    def needed(self) -> list[DataFile]:
        """The files without which there is no data set."""
        return [file for file in self.files if not file.optional]

    def places(self, folder: Path) -> list[Path]:
        """Where files are looked for, first place first: the source's own folders in `folder`, then `folder` itself."""
        inner = [folder / name for name in (self.folder, *self.other_folders)]
        return [*(place for place in inner if place.is_dir()), folder]


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
            other_folders=("hetrec2011-movielens-2k-v2",),
        ),
        Source(
            name="edges",
            title="Any bipartite edge list, for example Yahoo Webscope A1",
            description="Pairs (channel, customer), one in a line, for budget allocation. The paper's Yahoo graph is "
            "licensed: ask Yahoo Webscope for A1, or take any other file of pairs.",
            folder="edges",
            files=(DataFile("edges.*", width=2, separator=None, others=(YAHOO, "ratings.dat")),),
            url=None,
            terms="those of the file",
            other_folders=("yahoo-a1",),
        ),
        Source(
            name="movietweetings",
            title="MovieTweetings 100K",
            description="100,000 pairs (user, movie): an edge list for budget allocation if --data names its folder.",
            folder="movietweetings-100k",
            files=(DataFile("ratings.dat", width=2, rows=100000, separator=None),),
            url=None,
            terms="MIT",
        ),
        Source(
            name="warcraft",
            title="Warcraft maps",
            description="12,000 pictures of terrain with the costs of 12 x 12 cells and the shortest paths, "
            "and larger ones, of Vlastelica et al. (2020). Unpack warcraft_maps.tar.gz, https://doi.org/10.17617/3.YJCQ5S.",
            folder="warcraft_shortest_path_oneskin/12x12",
            files=tuple(
                DataFile(f"{split}_{table}.npy", optional=split != "train")
                for split in ("train", "val", "test")
                for table in ("maps", "vertex_weights", "shortest_paths")
            ),
            url=None,
            terms="those of its page",
            other_folders=("warcraft_shortest_path/12x12", "warcraft_maps/12x12", "12x12"),
        ),
    )
}
"""The published data sets that foresolve reads, by name: their files, with checksums, and where they come from."""


def find_source(name: str) -> Source:
    """The source of this name, or an error that lists them."""
    checks.one_of("name", name, SOURCES)
    return SOURCES[name]


def locate(name: str, folder: str | Path, argument: str = "folder") -> list[Path]:
    """The files of a source, those that it can do without at the end, where they are there.

    All are in one place: a subfolder of `folder` that has the source's name for it, or `folder` itself.

    Parameters
    ----------
    name: of the source, as `foresolve data list` has it.
    argument: what the caller calls `folder`, for the message.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for file in ("cora.content", "cora.cites"):
    ...         Path(folder, file).touch()
    ...     [path.name for path in locate("cora", folder)]
    ['cora.content', 'cora.cites']
    """
    source, folder = find_source(name), checks.path("folder", folder)
    for place in source.places(folder):
        paths = [path for file in source.needed if (path := file.find(place)) is not None]
        if len(paths) == len(source.needed):
            further = [file.find(place) for file in source.files if file.optional and file.is_table]
            return [*paths, *(path for path in further if path is not None)]
    titles = " and ".join(file.title for file in source.needed)
    inner = " or ".join((source.folder, *source.other_folders))
    missing = " and ".join(file.title for file in source.needed if file.find(folder) is None)
    fetch = "" if source.url is None else f"`foresolve data fetch {name}` gets them where there is a network; "
    raise checks.fail(
        argument,
        f"a folder with {titles}, or with a subfolder {inner} that has them",
        f"{str(folder)!r}, " + (f"without {missing}" if folder.is_dir() else "which is not a folder"),
        f"{fetch}`foresolve data list` says what is looked for",
    )

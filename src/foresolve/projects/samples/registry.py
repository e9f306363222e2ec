"""The sample projects, one for each kind of problem that `foresolve init` knows; their files lie beside this module."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from foresolve._base import checks, files
from foresolve.errors import InvalidInputError, Phrase, Setting
from foresolve.projects.toml import NAME

# Features to decide on, and later ones with the truth that became known.
_TO_DECIDE = ("tomorrow.csv", "later.csv", "later_actuals.csv")


@dataclass(frozen=True)
class Sample:
    """A small generated project to begin with.

    Attributes
    ----------
    kind: of the problem.
    story: what it is about, in a sentence.
    tables: names of the files that describe the problem and the past.
    """

    kind: str
    story: str
    tables: tuple[str, ...]

    def names(self) -> list[str]:
        """Names of all files, the settings first."""
        return [NAME, *self.tables, *_TO_DECIDE]

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Names and contents of all files."""
        folder = resources.files("foresolve.projects.samples") / self.kind
        return ((name, (folder / name).read_bytes()) for name in self.names())


SAMPLES = {
    sample.kind: sample
    for sample in (
        Sample(
            "shortest-path",
            "A driver crosses a town every morning; its low streets are fast, until heavy rain floods them.",
            ("roads.csv", "features.csv", "times.csv"),
        ),
        Sample(
            "matching",
            "Workers are sent to jobs, round by round; who has a long way there makes little of the job.",
            ("pairs.csv", "history.csv"),
        ),
        Sample(
            "knapsack",
            "A van is loaded for the market every week; what a good earns depends on season, price and promotion.",
            ("items.csv", "history.csv"),
        ),
        Sample(
            "top-k",
            "Three ambulances wait where most calls will come from; on hot free days that is the lake.",
            ("areas.csv", "features.csv", "calls.csv"),
        ),
        Sample(
            "coverage",
            "Two channels carry an advertisement every week; who has been reached by one is not reached again.",
            ("channels.csv", "customers.csv", "features.csv", "reach.csv"),
        ),
        Sample(
            "mps",
            "A bakery plans the day within its flour, oven and hands; what most goods fetch is predicted.",
            ("plan.mps", "features.csv", "prices.csv"),
        ),
    )
}


def init(problem: str, folder: str | Path = ".", *, force: bool = False) -> Sample:
    """Write a commented `foresolve.toml` and a small sample, with which `foresolve train` works at once.

    Parameters
    ----------
    problem: "shortest-path", "matching", "knapsack", "top-k", "coverage" or "mps".
    folder: to write to. It is created if needed.
    force: whether to replace files that are there. Otherwise one that is there is an error, and nothing is written.

    Examples
    --------
    >>> import tempfile
    >>> from foresolve.projects import init
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(", ".join(init("shortest-path", folder).names()))
    foresolve.toml, roads.csv, features.csv, times.csv, tomorrow.csv, later.csv, later_actuals.csv
    """
    sample = SAMPLES[checks.one_of("problem", problem, SAMPLES)]
    folder = checks.path("folder", folder)
    if folder.exists() and not folder.is_dir():
        raise checks.fail("folder", "a folder", f"the file {str(folder)!r}")
    there = [name for name in sample.names() if (folder / name).exists()]
    if there and not force:
        remedy = Phrase("Use ", Setting("force"), " to replace them, or another folder")
        raise InvalidInputError(f"{folder} has {', '.join(there)} already; nothing was written", remedy=remedy)
    for name, content in sample.files():
        files.write_bytes(folder / name, content)
    return sample

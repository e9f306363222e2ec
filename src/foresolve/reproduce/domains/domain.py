"""A domain: what it is called, where its data come from, and its methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from foresolve._base import checks
from foresolve.report.records import Config, DomainInfo
from foresolve.reproduce.domains.methods import Instances, Method


@dataclass(frozen=True)
class Domain:
    """What is to be known of a domain to run it.

    Attributes
    ----------
    files: lists the real files that are read from a data folder; `None` where there is a generator and nothing else.
    read: reads them, and says in words what they are; damaged files are errors.
    build: makes the instances.
    methods: the rows of the table.
    optional: whether instances are generated where a data folder has no files for this domain.
    """

    info: DomainInfo
    files: Callable[[Path], list[Path]] | None
    read: Callable[[Path], str] | None
    build: Callable[[Config], Instances]
    methods: Callable[[Config], dict[str, Method]]
    optional: bool = False


def find_files(data: Path, folders: Sequence[str], patterns: Sequence[str]) -> list[Path]:
    """The first file of a pattern, in the folder itself or in one of the folders in it."""
    places = [data / folder for folder in folders if (data / folder).is_dir()] + [data]
    for place in places:
        for pattern in patterns:
            found = sorted(path for path in place.glob(pattern) if path.is_file())
            if found:
                return found[:1]
    expected = f"a folder with {' or '.join(patterns)}, in it or in {' or '.join(folders)}"
    raise checks.fail("data", expected, str(data), "`foresolve data list` says what is looked for")

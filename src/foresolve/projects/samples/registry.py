"""The samples by kind of problem, and how they get into a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from foresolve._base import checks, files
from foresolve.errors import InvalidInputError
from foresolve.projects.samples.channels import channels
from foresolve.projects.samples.items import knapsack, top_k
from foresolve.projects.samples.pairs import pairs
from foresolve.projects.samples.plans import plans
from foresolve.projects.samples.roads import roads
from foresolve.projects.samples.sample import Sample

SAMPLES: dict[str, Callable[[], Sample]] = {
    "shortest-path": roads,
    "matching": pairs,
    "knapsack": knapsack,
    "top-k": top_k,
    "coverage": channels,
    "mps": plans,
}


def init(problem: str, folder: str | Path = ".", *, force: bool = False) -> Sample:
    """Write a commented `foresolve.toml` and a small sample, with which `foresolve train` works at once.

    Parameters
    ----------
    problem: "shortest-path", "matching", "knapsack", "top-k", "coverage" or "mps".
    folder: it is made where it is not there.
    force: whether files that are there are replaced; otherwise none is written where one is.

    Examples
    --------
    >>> import tempfile
    >>> from foresolve.projects import init
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(", ".join(init("shortest-path", folder).documents()))
    foresolve.toml, roads.csv, features.csv, times.csv, tomorrow.csv, later.csv, later_actuals.csv
    """
    sample = SAMPLES[checks.one_of("problem", problem, SAMPLES)]()
    folder = checks.path("folder", folder)
    documents = sample.documents()
    if folder.exists() and not folder.is_dir():
        raise checks.fail("folder", "a folder", f"the file {str(folder)!r}")
    there = [name for name in documents if (folder / name).exists()]
    if there and not force:
        raise InvalidInputError(f"{folder} has {', '.join(there)} already; nothing was written")
    for name, text in documents.items():
        files.write_text(folder / name, text)
    return sample

"""A domain: what it is called, where its data come from, and its methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

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

"""A domain: what it is called, where its data come from, what is decided, and its methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.data.dataset import DecisionDataset
from foresolve.problems.base import Problem
from foresolve.report.records import Config, DomainInfo
from foresolve.reproduce.domains.methods import Method


class Source(NamedTuple):
    """The data in a folder: a description, and the part of the published rows that they are, if it is known."""

    words: str
    share: float | None = None


@dataclass(frozen=True)
class RealData:
    """Real data of a domain, in a folder of the user's.

    Attributes
    ----------
    files: lists the files that are read; an error where they are not there.
    read: reads them, and tells what they are; damaged files are errors.
    optional: whether instances are generated where a folder has no files for this domain.
    """

    files: Callable[[Path], list[Path]]
    read: Callable[[Path], Source]
    optional: bool = False


def best_for_noise(problem: Problem, count: int, generator: torch.Generator) -> Tensor:
    """Decisions by chance for problems whose parameters have a known shape: the best for parameters that are noise."""
    shape = [checks.positive_int("theta_shape", size) for size in problem.theta_shape]
    return problem.solve(torch.rand(count, *shape, generator=generator))


@dataclass(frozen=True)
class Domain:
    """Everything that is needed to run a domain; `register` makes it known to `plan` and to the command line.

    Attributes
    ----------
    info: what tables, figures and reports say about it.
    data: makes the instances of a config, generated or from the files in `config.data`.
    methods: the rows of the table, by name, in its order. Cheap: models are made later.
    problem: `problem(data, k)` for a budget, where there are budgets; all share features and parameters.
    features: `features(config, data, split)`, where each split has features of its own; `None` as a result, or in place
        of the function, for those of `data`.
    random: `random(problem, count, generator)`: decisions `(count, n)` by chance alone.
    table: parameters `(B, ...)` as `(B, rows, columns)` for the figures; by default those that are such tables already.
    real: where there are real data; `None` for a domain that is always generated.
    largest_k: the largest budget that may be asked for.
    story: paragraphs for a reader that are true of a config, where those of `info` are not: sizes, and whether data are
        generated.
    published: whether the paper has it: such a domain is one of `all`, and has methods for the protocol "paper".
    """

    info: DomainInfo
    data: Callable[[Config], DecisionDataset]
    methods: Callable[[Config], dict[str, Method]]
    problem: Callable[[DecisionDataset, int], Problem] | None = None
    features: Callable[[Config, DecisionDataset, int], Tensor | None] | None = None
    random: Callable[[Problem, int, torch.Generator], Tensor] = best_for_noise
    table: Callable[[Tensor], Tensor] | None = None
    real: RealData | None = None
    largest_k: int | None = None
    story: Callable[[Config], tuple[str, ...]] | None = None
    published: bool = False

    def told(self, config: Config) -> DomainInfo:
        """What reports say about a run: its own sizes and data."""
        return self.info if self.story is None else replace(self.info, story=self.story(config))

    def at(self, data: DecisionDataset, k: int | None) -> DecisionDataset:
        """The instances under the problem of a budget; as they are without one."""
        if k is None or self.problem is None:
            return data
        return data.with_problem(self.problem(data, k))

    def tables(self, theta: Tensor) -> Tensor | None:
        """Parameters `(B, rows, columns)`, `None` where they are no tables."""
        if self.table is not None:
            return self.table(theta)
        return theta if theta.ndim == 3 else None

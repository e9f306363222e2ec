"""Decisions for a file of any size, chunk by chunk, in bounded memory."""

from __future__ import annotations

import copy
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from foresolve._base import checks
from foresolve._base.text import some_of
from foresolve.data.frames.keys import Keys
from foresolve.data.frames.streams import CHUNK, TableWriter, check_writable
from foresolve.errors import ForesolveError, SolverError
from foresolve.learning.deployment.decisions import Decisions
from foresolve.learning.policy import Policy
from foresolve.problems.naming import taken
from foresolve.projects.source import Block, Source

Form = Literal["long", "wide"]
# Instances that are decided together: as many whatever the chunks are, so that rounding is the same too.
MOST_TOGETHER, MOST_NUMBERS = 1024, 2**22
MOST_NAMED = 10


RECORD, POLICY = "run.json", "policy"  # of a run: what it is, and the folder of its policy


class NoDecisionError(ForesolveError):
    """Some instances of a file have no decision; the message names them by their keys."""


@dataclass(frozen=True)
class Decided:
    """The result of deciding a file.

    Attributes
    ----------
    path: of the decisions.
    instances, rows: how many were decided, and written.
    seconds: that it took.
    """

    path: Path
    instances: int
    rows: int
    seconds: float


def decide_file(
    policy: Policy | str | Path,
    data: str | Path,
    out: str | Path,
    *,
    form: Form = "long",
    certify: bool = False,
    chunk: int = CHUNK,
    progress: Callable[[int, int], Any] | None = None,
) -> Decided:
    """Decide every instance of a file, and write the decisions to another, whole or not at all.

    Parameters
    ----------
    policy: what decides; or the folder of a saved policy, or of a run, whose policy it is.
    data: features, a CSV or Parquet file; it may be larger than memory. Rows of an instance stand together.
    out: a CSV or Parquet file.
    form: "long": a row for each variable with a nonzero entry; "wide": a row for each instance.
    certify: whether each decision is proven, with the proof's bound beside it.
    chunk: rows that are read at a time. Decisions do not depend on it.
    progress: is called with the instances done and their total.
    """
    began = time.monotonic()
    policy, data = as_policy(policy), checks.path("data", data)
    out = output(out, data)
    checks.one_of("form", form, ("long", "wide"))
    source = Source.of(policy, data, checks.positive_int("chunk", chunk))
    blocks = source.blocks(block_size(policy))
    outcomes = (decided(policy, block, form, certify) for block in blocks)
    rows = write_outcomes(outcomes, out, source, progress)
    return Decided(out, *rows, time.monotonic() - began)


def as_policy(policy: Policy | str | Path) -> Policy:
    """A policy, or that of a folder."""
    if isinstance(policy, Policy):
        return policy
    if not isinstance(policy, str | Path):
        raise checks.fail("policy", "a Policy, or the folder of one or of a run", type(policy).__name__)
    return Policy.load(policy_folder(policy))


def policy_folder(path: str | Path) -> Path:
    """The folder of a saved policy; of a run that of its policy."""
    folder = checks.path("policy", path)
    return folder / POLICY if (folder / RECORD).is_file() else folder


def output(out: str | Path, data: Path) -> Path:
    """Where decisions are written: checked before any work is done, and never the file that is read."""
    out = checks.path("out", out)
    check_writable("out", out)
    if out.exists() and data.exists() and out.samefile(data):
        raise checks.fail("out", "another file than the one that is read", repr(str(out)))
    return out


def write_outcomes(
    outcomes: Iterable[Outcome], out: Path, source: Source, progress: Callable[[int, int], Any] | None
) -> tuple[int, int]:
    """Write what became of blocks, in their order, whole or not at all; how many instances and rows there were."""
    failed: list[str] = []
    done, told = 0, Warned()
    with TableWriter(out, source.scan.kinds) as writer:
        for outcome in outcomes:
            told.add(outcome.warned)
            failed += outcome.lost
            done += outcome.instances
            if not failed:
                writer.write(outcome.table)
            if progress is not None:
                progress(done, source.scan.instances)
        told.tell()
        _refuse(failed, source.path)
    return done, writer.rows


def block_size(policy: Policy) -> int:
    """How many instances are decided together."""
    return max(1, min(MOST_TOGETHER, MOST_NUMBERS // (policy.problem.n or 1)))


class Outcome(NamedTuple):
    """The result of a block: a table of decisions, or the keys of the instances that have none; and its warnings."""

    instances: int
    table: Any
    lost: list[str]
    warned: list[Warning]


def decided(policy: Policy, block: Block, form: Form, certify: bool) -> Outcome:
    """Decide the instances of a block; what was warned of is told where there is an error, for it may say why."""
    failure: ForesolveError | None = None
    table, lost = None, []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            table, lost = _decided(_knowing(policy, block.fill), block.frame, form, certify)
        except ForesolveError as error:
            failure = error
    warned = [warning.message for warning in caught if isinstance(warning.message, Warning)]
    if failure is not None:
        told = Warned()
        told.add(warned)
        told.tell()
        raise failure
    return Outcome(block.instances, table, lost, warned)


def _knowing(policy: Policy, fill: tuple[float, ...] | None) -> Policy:
    """The policy after earlier blocks: what was last known there takes the place of what is missing."""
    if fill is None or policy.reader is None:
        return policy
    later = copy.copy(policy)
    later.reader = replace(policy.reader, fill=fill)
    return later


def _decided(policy: Policy, frame: Any, form: Form, certify: bool) -> tuple[Any, list[str]]:
    try:
        decisions = policy(frame)
    except SolverError as error:
        if not error.instances:
            raise
        keys = _keys(policy, frame)
        return None, [_text(keys[place]) for place in error.instances]
    wanted = _keys(policy, frame)
    lost = [_text(wanted[int(place)]) for place in np.flatnonzero(decisions.keys.places(wanted) < 0)]
    lost += [_text(decisions.keys[int(place)]) for place in np.flatnonzero(~decisions.feasible.numpy())]
    return (None if lost else _table(decisions, form, certify)), lost


def _keys(policy: Policy, frame: Any) -> Keys:
    """What the instances of a block are called, each once, in their order."""
    reader = policy.reader
    if reader is None or not all(title in frame.columns for title in reader.key):
        return Keys.of_index(frame.index)
    first = frame.drop_duplicates(list(reader.key))
    return Keys.of("data", first, reader.key)


def _table(decisions: Decisions, form: Form, certify: bool) -> Any:
    """The frame of decisions; with their bounds where they are to be certified."""
    frame = decisions.frame(form)
    if not certify:
        return frame
    verified = decisions.verify()
    if not verified:
        raise ForesolveError(f"decisions could not be verified: {'; '.join(verified.failures)}")
    rows = slice(None) if form == "wide" else taken(decisions.x).nonzero()[:, 0].cpu().numpy()
    certificate = decisions.certificate
    for name, part in (("bound", certificate.bound), ("gap", certificate.gap), ("proven", certificate.proven)):
        title = name if name not in frame.columns else f"{name} of the decision"
        frame[title] = part.cpu().numpy()[rows]
    return frame


def _refuse(failed: list[str], data: Path) -> None:
    """An error where some instances have no decision."""
    if failed:
        count = "1 instance has" if len(failed) == 1 else f"{len(failed)} instances have"
        raise NoDecisionError(f"{count} no decision in {data}: {some_of(failed, MOST_NAMED)}. Nothing was written")


def _text(key: str | tuple[str, ...]) -> str:
    return repr(key) if isinstance(key, str) else "(" + ", ".join(map(repr, key)) + ")"


class Warned:
    """Warnings of blocks: given once, at the end, and not for every block."""

    def __init__(self) -> None:
        self._first: dict[type[Warning], str] = {}
        self._counts: Counter[type[Warning]] = Counter()

    def add(self, warned: Iterable[Warning]) -> None:
        """The warnings of another block."""
        for warning in warned:
            self._first.setdefault(type(warning), str(warning))
            self._counts[type(warning)] += 1

    def tell(self) -> None:
        """The first of each kind, and how many more there were."""
        for category, message in self._first.items():
            more = self._counts[category] - 1
            checks.warn(message + (f" (and {more} more such warnings)" if more else ""), category)

"""Decisions for a file of any size, chunk by chunk, in bounded memory."""

from __future__ import annotations

import copy
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from foresolve._base import checks
from foresolve._base.extras import need
from foresolve.data.frames.keys import Keys
from foresolve.data.frames.last_known import LastKnown
from foresolve.data.frames.reader import FrameReader
from foresolve.data.frames.scans import KeyScan, scan_keys
from foresolve.data.frames.streams import CHUNK, TableWriter, table_chunks
from foresolve.errors import ForesolveError, SolverError
from foresolve.learning.deployment.decisions import Decisions
from foresolve.learning.policy import Policy
from foresolve.problems.naming import LEAST

Form = Literal["long", "wide"]
# Instances that are decided together: as many whatever the chunks are, so that rounding is the same too.
MOST_TOGETHER, MOST_NUMBERS = 1024, 2**22
MOST_NAMED = 10


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
    policy: Policy,
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
    policy: what decides.
    data: features, a CSV or Parquet file; it may be larger than memory. Rows of an instance stand together.
    out: a CSV or Parquet file.
    form: "long": a row for each variable with a nonzero entry; "wide": a row for each instance.
    certify: whether each decision is proven, with the proof's bound beside it.
    chunk: rows that are read at a time. Decisions do not depend on it.
    progress: is called with the instances done and their total.
    """
    began = time.monotonic()
    out = checks.path("out", out)
    checks.one_of("form", form, ("long", "wide"))
    source = Source.of(policy, checks.path("data", data), checks.positive_int("chunk", chunk))
    blocks = source.blocks(block_size(policy))
    outcomes = (decided(policy, block, form, certify) for block in blocks)
    rows = write_outcomes(outcomes, out, source, progress)
    return Decided(out, *rows, time.monotonic() - began)


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
    rows = slice(None) if form == "wide" else np.nonzero(np.abs(decisions.x.cpu().numpy()) > LEAST)[0]
    certificate = decisions.certificate
    for name, part in (("bound", certificate.bound), ("gap", certificate.gap), ("proven", certificate.proven)):
        title = name if name not in frame.columns else f"{name} of the decision"
        frame[title] = part.cpu().numpy()[rows]
    return frame


def _refuse(failed: list[str], data: Path) -> None:
    """An error where some instances have no decision."""
    if failed:
        rest = f" and {len(failed) - MOST_NAMED} more" if len(failed) > MOST_NAMED else ""
        names = ", ".join(failed[:MOST_NAMED]) + rest
        count = "1 instance has" if len(failed) == 1 else f"{len(failed)} instances have"
        raise NoDecisionError(f"{count} no decision in {data}: {names}. Nothing was written")


def _text(key: str | tuple[str, ...]) -> str:
    return repr(key) if isinstance(key, str) else "(" + ", ".join(map(repr, key)) + ")"


class Block(NamedTuple):
    """Rows of a file, how many instances they are, and what was last known before them, where that is asked for."""

    frame: Any
    instances: int
    fill: tuple[float, ...] | None = None


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


@dataclass(frozen=True)
class Source:
    """A file of features, scanned: its instances in blocks of a given size.

    Attributes
    ----------
    key: the columns that identify instances; empty where the file lacks them, and rows are numbered.
    long: whether an instance has several rows.
    carried: how missing features are read where they become the last known ones, also of rows long before.
    """

    path: Path
    chunk: int
    key: tuple[str, ...]
    long: bool
    scan: KeyScan
    carried: FrameReader | None = None

    @classmethod
    def of(cls, policy: Policy, path: Path, chunk: int) -> Source:
        """Check the keys of a file before any work is done."""
        reader = policy.reader
        key = () if reader is None else reader.key
        columns = next(table_chunks(path, 1)).columns
        long = reader is not None and bool(reader.variable)
        if not all(title in columns for title in key):
            key = ()
        scan = scan_keys(path, key, chunk, long=long) if key else KeyScan(0, 0, {})
        carried = reader if reader is not None and reader.missing == "previous" else None
        return cls(path, chunk, tuple(key), long, scan, carried)

    def blocks(self, size: int) -> Iterator[Block]:
        """`size` instances each, but for the last: the same ones, whatever the chunks are."""
        if self.carried is None:
            yield from self._cut(size)
            return
        known = LastKnown(self.carried, self.path)
        for block in self._cut(size):
            yield block._replace(fill=known.before(block.frame))

    def _cut(self, size: int) -> Iterator[Block]:
        pandas = need("pandas", "reading tables", "learn")
        text = [title for title, kind in self.scan.kinds.items() if kind == "text"]
        rest = None
        for piece in table_chunks(self.path, self.chunk, key=self.key if self.long else (), text=text):
            frame = piece if rest is None else pandas.concat([rest, piece])
            starts = self._starts(frame)
            begin = 0
            for cut in starts[size::size].tolist():
                yield Block(frame.iloc[begin:cut], size)
                begin = cut
            rest = frame.iloc[begin:]
        if rest is not None and len(rest):
            yield Block(rest, len(self._starts(rest)))

    def _starts(self, frame: Any) -> np.ndarray:
        """The first row of each instance."""
        if not self.long or not self.key:
            return np.arange(len(frame))
        columns = [frame[title].to_numpy() for title in self.key]
        changed = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
        return np.concatenate([[0], np.flatnonzero(changed) + 1])

"""Decisions for a file of any size, chunk by chunk, in bounded memory."""

from __future__ import annotations

import copy
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from foresolve._base import checks
from foresolve._base.table_files import CHUNK, TableFile, TableWriter, check_writable
from foresolve._base.text import some_of
from foresolve.data.frames.keys import Keys
from foresolve.errors import ForesolveError, SolverError
from foresolve.learning.deployment.decisions import Decisions
from foresolve.learning.policy import Policy
from foresolve.problems.naming import taken
from foresolve.projects.source import Block, Source, key_text

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
    data: str | Path | TableFile,
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
    data: features, a CSV or Parquet file; it may be larger than memory. Rows of an instance stand together. Numbers
        and dates are read as in the file of training, or as a `TableFile` says.
    out: a CSV or Parquet file. Keys are written as `data` has them.
    form: "long": a row for each variable with a nonzero entry; "wide": a row for each instance.
    certify: whether each decision is proven, with the proof's bound beside it.
    chunk: rows that are read at a time. Decisions do not depend on it.
    progress: is called with the instances done and their total.
    """
    began = time.monotonic()
    policy = as_policy(policy)
    out = output(out, checks.path("data", data))
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
    """Write the decisions of blocks in their order, whole or not at all; the numbers of instances and of rows."""
    failed: list[str] = []
    warned: list[Warning] = []
    done, text = 0, out.suffix.lower() == ".csv"
    with TableWriter(out) as writer:
        for outcome in outcomes:
            warned += outcome.warned
            failed += outcome.lost
            done += outcome.instances
            if not failed:
                writer.write(source.with_text_dates(outcome.table) if text else outcome.table)
            if progress is not None:
                progress(done, source.instances)
        _warn(warned)
        if failed:
            count = "1 instance has" if len(failed) == 1 else f"{len(failed)} instances have"
            raise NoDecisionError(
                f"{count} no decision in {source.file.path}: {some_of(failed, MOST_NAMED)}. Nothing was written"
            )
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
    """Decide the instances of a block; if there is an error, its warnings are given first, for they may say why."""
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            table, lost = _decided(_knowing(policy, block.fill), block.frame, form, certify)
    except ForesolveError:
        _warn(_messages(caught))
        raise
    return Outcome(block.instances, table, lost, _messages(caught))


def _messages(caught: Iterable[warnings.WarningMessage]) -> list[Warning]:
    return [warning.message for warning in caught if isinstance(warning.message, Warning)]


def _warn(warned: Sequence[Warning]) -> None:
    """Give the first warning of each kind, and the number of the others."""
    for category, count in Counter(map(type, warned)).items():
        first = next(str(warning) for warning in warned if type(warning) is category)
        checks.warn(first + (f" (and {count - 1} more such warnings)" if count > 1 else ""), category)


def _knowing(policy: Policy, fill: tuple[float, ...] | None) -> Policy:
    """The policy after earlier blocks: what was last known there takes the place of what is missing."""
    if fill is None or policy.reader is None:
        return policy
    later = copy.copy(policy)
    later.reader = replace(policy.reader, fill=fill)
    return later


def _decided(policy: Policy, frame: Any, form: Form, certify: bool) -> tuple[Any, list[str]]:
    own = _own_keys(policy, frame)
    try:
        decisions = policy(frame)
    except SolverError as error:
        if not error.instances:
            raise
        keys = _keys(own, frame)
        return None, [key_text(keys[place]) for place in error.instances]
    lost = [key_text(decisions.keys[int(place)]) for place in np.flatnonzero(~decisions.feasible.numpy())]
    if len(decisions) != len(frame if own is None else own):
        keys = _keys(own, frame)
        keys.check_different("features")  # 2024-05-27 and 2024-05-27 00:00 are one date
        lost += [key_text(keys[int(place)]) for place in np.flatnonzero(decisions.keys.places(keys) < 0)]
    return (None if lost else _table(decisions, own, form, certify)), lost


def _keys(own: Any, frame: Any) -> Keys:
    return Keys.of_index(frame.index) if own is None else Keys.of("features", own, list(own.columns))


def _own_keys(policy: Policy, frame: Any) -> Any:
    """The key columns of a block, a row for each instance in their order; `None` if it has none."""
    key = [] if policy.reader is None else list(policy.reader.key)
    return frame[key].drop_duplicates() if key and all(title in frame.columns for title in key) else None


def _table(decisions: Decisions, own: Any, form: Form, certify: bool) -> Any:
    """The frame of decisions, with keys as the file has them; with their bounds if they are to be certified."""
    frame = decisions.frame(form)
    rows = slice(None) if form == "wide" else taken(decisions.x).nonzero()[:, 0].cpu().numpy()
    if own is not None:
        frame[own.columns] = own.iloc[rows].set_axis(frame.index)
    if not certify:
        return frame
    verified = decisions.verify()
    if not verified:
        raise ForesolveError(f"decisions could not be verified: {'; '.join(verified.failures)}")
    certificate = decisions.certificate
    for name, part in (("bound", certificate.bound), ("gap", certificate.gap), ("proven", certificate.proven)):
        title = name if name not in frame.columns else f"{name} of the decision"
        frame[title] = part.cpu().numpy()[rows]
    return frame

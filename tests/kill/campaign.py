"""One folder, some kills, and whether the end is as if nothing had happened."""

from __future__ import annotations

import random
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.kill.bits import Bits, differences
from tests.kill.processes import LIMIT, Moment, after, gone, kill, kill_worker, log_of, start, while_writing
from tests.kill.shell import UNDISTURBED
from tests.kill.victims import VICTIMS, Victim

WRITES = 8  # a kill while writing hits one of the first so many files of a session
SESSIONS = 40  # of one folder, at most


@dataclass
class Outcome:
    """What came of a folder.

    Attributes
    ----------
    kills, workers: of the process itself, and of its workers.
    writing: how many of them while a file was being written.
    sessions: processes that worked on the folder.
    failures: in words; none where the end is as if nothing had happened.
    """

    victim: str
    seed: int
    kills: int = 0
    workers: int = 0
    writing: int = 0
    sessions: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Expected:
    """Of an undisturbed run."""

    bits: Bits
    seconds: float


class Arena:
    """A folder for all campaigns, and what undisturbed runs give."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._expected: dict[str, Expected] = {}
        self._locks = {name: threading.Lock() for name in VICTIMS}

    def expected(self, name: str) -> Expected:
        """Of a victim whose end does not depend on the clock; worked out once."""
        with self._locks[name]:
            if name not in self._expected:
                self._expected[name] = self.undisturbed(name, self.folder / name / UNDISTURBED)
            return self._expected[name]

    def undisturbed(self, name: str, folder: Path) -> Expected:
        """A session that nobody kills."""
        victim, began = VICTIMS[name], time.monotonic()
        process = start(victim.work, folder)
        process.join(LIMIT)
        if process.exitcode != 0:
            raise RuntimeError(f"{name} does not even work undisturbed: {log_of(folder).read_text()[-2000:]}")
        return Expected(victim.bits(folder), time.monotonic() - began)

    def once(self, work: Callable[[Path], None]) -> None:
        """Something that victims need, in a process of its own."""
        process = start(work, self.folder / "once")
        process.join(LIMIT)
        if process.exitcode != 0:
            raise RuntimeError(_ended_badly(process.exitcode, self.folder / "once"))

    def attack(self, name: str, seed: int, kills: int) -> Outcome:
        """Kill so often, then let it end, and compare."""
        victim, outcome, began = VICTIMS[name], Outcome(name, seed), time.monotonic()
        folder, rng = self.folder / name / f"seed {seed}", random.Random(f"{name} {seed}")
        expected = self.expected(name)  # where the end depends on a plan, only how long it takes
        while outcome.kills + outcome.workers < kills and outcome.sessions < SESSIONS and not outcome.failures:
            started = time.monotonic()
            if _session(victim, folder, rng, expected, outcome):
                # On a busy machine the undisturbed run may have been a slow one: kills would come too late.
                expected = replace(expected, seconds=min(expected.seconds, time.monotonic() - started))
                self._expected[name] = expected
                break
        if not outcome.failures:
            self._end(name, folder, expected, outcome)
        outcome.seconds = time.monotonic() - began
        if not outcome.failures:
            shutil.rmtree(folder)
        return outcome

    def _end(self, name: str, folder: Path, expected: Expected, outcome: Outcome) -> None:
        """The last session, and what the folder has then."""
        victim = VICTIMS[name]
        for _ in range(2 if outcome.seed == 0 else 1):  # the second has nothing left to do, and changes nothing
            process = start(victim.work, folder)
            process.join(LIMIT)
            outcome.sessions += 1
            if process.exitcode != 0:
                outcome.failures.append(_ended_badly(process.exitcode, folder))
                return
            bits = expected.bits
            if victim.given:
                bits = self._given(name, folder, outcome.seed).bits
            if told := differences(victim.bits(folder), bits):
                outcome.failures.append(told)
                return

    def _given(self, name: str, folder: Path, seed: int) -> Expected:
        """An undisturbed run that is given what depends on the clock."""
        twin = self.folder / name / f"given {seed}" / UNDISTURBED
        shutil.rmtree(twin, ignore_errors=True)
        for path in VICTIMS[name].given:
            (twin / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / path, twin / path)
        return self.undisturbed(name, twin)


def _session(victim: Victim, folder: Path, rng: random.Random, expected: Expected, outcome: Outcome) -> bool:
    """A process that is killed, or ends before; whether it ended."""
    writing = rng.random() < 0.5
    moment: Moment = while_writing(rng.randint(1, WRITES)) if writing else after(rng.uniform(0, expected.seconds))
    process = start(victim.work, folder)
    outcome.sessions += 1
    alive = moment(process, folder)
    if alive and victim.crew and rng.random() < 0.6:
        alive = _kill_workers(process, rng, expected, outcome)
    if not alive or not process.is_alive():
        process.join()
        if process.exitcode == 0:
            return True
        if not (victim.crew and "was lost" in log_of(folder).read_text()):  # too many workers of one job
            outcome.failures.append(_ended_badly(process.exitcode, folder))
        return False
    left = kill(process)
    outcome.kills, outcome.writing = outcome.kills + 1, outcome.writing + writing
    if not gone(left):
        outcome.failures.append("workers went on after their run was killed")
    elif victim.sound is not None and (told := victim.sound(folder, expected.bits)):
        outcome.failures.append(told)
    return False


def _kill_workers(process: object, rng: random.Random, expected: Expected, outcome: Outcome) -> bool:
    """Kill a worker or several, with pauses; whether the run is still alive."""
    from multiprocessing.process import BaseProcess

    assert isinstance(process, BaseProcess)
    for _ in range(rng.randint(1, 3)):
        if kill_worker(process, rng) is not None:
            outcome.workers += 1
        process.join(rng.uniform(0, expected.seconds / 3))
        if not process.is_alive():
            return False
    return True


def _ended_badly(code: int | None, folder: Path) -> str:
    text = log_of(folder).read_text().strip().splitlines() if log_of(folder).exists() else []
    return f"a session ended with exit code {code}: {' / '.join(text[-3:])}"

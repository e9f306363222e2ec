"""The folder of a run: what was asked, what has been found so far.

config.json      the `Config`, with versions, machine and date
sessions.json    when the folder was worked on, by which engine, for how long
records.jsonl    one line per finished (split, method, k)
pictures/        what the figures are drawn from, one file per method
error.txt        the traceback of the job that stopped the last session, if one did
"""

from __future__ import annotations

import importlib
import os
import platform
import secrets
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, unquote

import numpy as np

from foresolve._base import checks
from foresolve._base.container import line_of
from foresolve._base.disk import storage_errors
from foresolve._base.files import write_bytes
from foresolve._base.locks import WriterLock, folder_lock
from foresolve.errors import FileError, ForesolveError
from foresolve.report.records import Config, Job, JobResult, Record
from foresolve.reproduce.domains.fingerprints import method_fingerprints
from foresolve.reproduce.runs.engines import Engine, JobError, cores, job_name
from foresolve.reproduce.runs.fingerprint import code_fingerprint
from foresolve.reproduce.runs.folder_files import (
    CONFIG,
    SESSIONS,
    check_methods,
    read_config,
    read_picture,
    read_records,
    read_sessions,
)

MAY_GROW = ("splits", "ks", "methods")


class Run:
    """A folder of records. `Run.open` to write (one process at a time), `Run.read` to look.

    Attributes
    ----------
    folder, config: where the run is and what was asked.
    environment: versions, machine and date of when the folder was begun.
    methods: a fingerprint of the settings of each method; nothing in old folders.
    sessions: one entry for each time that jobs were done.
    """

    def __init__(self, folder: Path, config: Config, lock: WriterLock | None) -> None:
        self.folder, self.config = folder, config
        self._lock = lock
        self.environment: dict[str, str] = {}
        self.methods: dict[str, str] = {}
        self.sessions: list[dict[str, Any]] = []
        self._records: dict[tuple[int, str, int | None], Record] = {}

    @classmethod
    def open(cls, folder: Path | str, config: Config) -> Self:
        """Begin a folder, or resume one that was begun with the same config.

        The splits, ks and methods of a later config may be more than those of an earlier one; what is there is kept.
        Machine and device may be others: each session notes its own. A config that differs is written down with the
        first that is added under it.
        """
        folder = checks.path("folder", folder)
        lock = folder_lock(folder, "give another folder with --out")
        try:
            run = cls(folder, config, lock)
            known = (folder / "config.json").exists()
            run._load(repair=True)
            if known:
                check_same(config, run.config, folder)
            elif run._records:
                raise FileError(folder, "has records but no config.json", "Give another folder with --out")
            run.config = config
            if not known:
                run.environment = environment()
                run._write_config()
        except BaseException:
            lock.release()
            raise
        return run

    @classmethod
    def read(cls, folder: Path | str) -> Self:
        """What is in a folder, also while another process works on it."""
        folder = checks.path("folder", folder)
        if not (folder / "config.json").is_file():
            raise FileError(folder, "is not a run: it has no config.json", "Give the --out of an earlier run")
        run = cls(folder, Config(""), None)
        run._load(repair=False)
        return run

    @property
    def records(self) -> list[Record]:
        """By split, method and k: in the same order whoever finished first."""
        methods, ks = self.config.methods, (None, *self.config.ks)
        return sorted(self._records.values(), key=lambda r: (r.split, methods.index(r.method), ks.index(r.k)))

    @property
    def seconds(self) -> float:
        """Time spent on finished jobs over all sessions, by the clock on the wall."""
        return float(sum(session["seconds"] for session in self.sessions))

    def missing(self, job: Job) -> Job | None:
        """What is left to do of a job, `None` if nothing is."""
        left = tuple(k for k in job.ks if (job.split, job.method, k) not in self._records)
        return replace(job, ks=left) if left else None

    def pictures(self) -> dict[str, dict[str, np.ndarray]]:
        """What the figures need, by method, in the order of the config's methods."""
        pictures: dict[str, dict[str, np.ndarray]] = {}
        paths = {unquote(path.stem): path for path in (self.folder / "pictures").glob("*.npz")}
        for method in self.config.methods:
            if method in paths:
                pictures[method] = read_picture(paths[method])
        return pictures

    @property
    def codes(self) -> set[str]:
        """The versions of the code that the records are of."""
        return {session.get("code", "unknown") for session in self.sessions if session["jobs"]}

    def absorb(self, folder: Path | str) -> int:
        """Take over what was done elsewhere for the same config, or for a part of it; how many records that adds.

        Of what both have done, this folder's own records stay.
        """
        self._check_writable()
        other = Run.read(folder)
        check_same(self.config, other.config, Path(folder))
        check_methods(self.methods, other.methods, folder, other.config.methods)
        codes = self.codes | other.codes
        if len(codes) > 1:
            names = ", ".join(sorted(codes))
            raise FileError(folder, f"has records of another version of the code than {self.folder}: {names}")
        new = [record for record in other.records if record.key not in self._records]
        if not new:
            return 0
        if other.config.ks == self.config.ks:  # others may be of another budget than that of the figures
            known = self.pictures()
            for method, picture in other.pictures().items():
                if method not in known:
                    self._write_picture(method, picture)
        self._write_config()
        theirs = {session["id"] for session in other.sessions if "id" in session}  # may have gone on since
        self.sessions = [*(s for s in self.sessions if s.get("id") not in theirs), *other.sessions]
        self._write_sessions()  # before the records: none is without its code
        self._append(new, _lines(new))
        return len(new)

    def check_settings(self) -> None:
        """Refuse to add to results of methods that had other settings."""
        check_methods(method_fingerprints(self.config), self.methods, self.folder, self.config.methods)

    def begin_session(self, engine: Engine) -> None:
        """Note that jobs are about to be done."""
        identity = {"id": secrets.token_hex(8)}  # two machines may differ in nothing else
        where = {**environment(), "device": self.config.device, **engine.about}
        self.sessions.append({**identity, **where, "jobs": 0, "seconds": 0.0})
        self.check_settings()
        self.methods |= method_fingerprints(self.config)
        self._write_config()

    def add(self, job: Job, outcome: JobResult, seconds: float = 0.0) -> None:
        """Keep the result of a job; on return it is on the disk. `seconds` is added to the session's."""
        self._check_writable()
        keys = {(record.domain, *record.key) for record in outcome.records}
        if keys != {(job.domain, job.split, job.method, k) for k in job.ks}:
            raise JobError(f"the job ({job_name(job)}) gave records of other jobs: {sorted(keys, key=repr)}")
        try:
            text = _lines(outcome.records)
        except (TypeError, ValueError) as error:
            raise JobError(f"the job ({job_name(job)}) gave a record that JSON cannot hold: {error}") from error
        if outcome.picture:  # before the records: a job with records is complete
            self._write_picture(job.method, outcome.picture)
        if self.sessions:  # before the records: none is without its code
            self.sessions[-1]["jobs"] += 1
            self.sessions[-1]["seconds"] = round(self.sessions[-1]["seconds"] + seconds, 3)
            self._write_sessions()
        self._append(outcome.records, text)

    def close(self) -> None:
        """Let others write to the folder."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None):
        self.close()

    def _load(self, *, repair: bool) -> None:
        path = self.folder / "config.json"
        known = path.exists()
        if known:
            self.config, self.environment, self.methods = read_config(path)
        if (self.folder / "sessions.json").exists():
            self.sessions = read_sessions(self.folder / "sessions.json")
        records = read_records(self.folder / "records.jsonl", self.config if known else Config(""), repair=repair)
        self._records = {record.key: record for record in records}

    def _check_writable(self) -> None:
        if self._lock is None:
            raise ForesolveError(
                f"the run in {self.folder} was opened to be read", remedy="Use `Run.open` to add to it"
            )

    def _append(self, records: Sequence[Record], text: str) -> None:
        """Keep records, which are `text` as JSON; on return they are on the disk."""
        path = self.folder / "records.jsonl"
        with storage_errors(path), path.open("ab") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        self._records |= {record.key: record for record in records}

    def _write_config(self) -> None:
        content = {"config": self.config.to_dict(), "environment": self.environment, "methods": self.methods}
        CONFIG.write(self.folder / "config.json", content)

    def _write_sessions(self) -> None:
        SESSIONS.write(self.folder / "sessions.json", {"sessions": self.sessions})

    def _write_picture(self, method: str, picture: dict[str, np.ndarray]) -> None:
        content = BytesIO()
        np.savez_compressed(content, **picture)  # pyright: ignore[reportArgumentType]
        write_bytes(self.folder / "pictures" / f"{quote(method, safe=' +')}.npz", content.getvalue())


def check_same(config: Config, before: Config, folder: Path) -> None:
    """Refuse to mix what does not belong together in a folder."""
    new, old = asdict(config), asdict(before)
    new["device"] = old["device"]  # as another machine: the last digits may differ, and the session says where
    if config.data is None and before.data is None:
        new["source"] = old["source"]  # generated, whether or not there was a folder to look into
    if new["files"] and new["files"] == old["files"]:
        new["data"], new["share"] = old["data"], old["share"]  # the same files at another place
    for name in new:
        grown = name in MAY_GROW and (
            config.splits >= before.splits if name == "splits" else set(old[name]) <= set(new[name])
        )
        if new[name] != old[name] and not grown:
            expected = f"{old[name]!r} or more" if name in MAY_GROW else repr(old[name])
            raise FileError(
                folder,
                f"holds a run with another `{name}`: expected {expected}; got {new[name]!r}",
                "Ask for the same, or give another folder with --out",
            )


def _lines(records: Sequence[Record]) -> str:
    """Records as JSON, a line each; an error for what JSON cannot hold."""
    return "".join(line_of(record.to_dict()) for record in records)


def environment() -> dict[str, str]:
    """Versions, a fingerprint of the code, machine and date."""
    versions = {
        name: str(importlib.import_module(name).__version__) for name in ("foresolve", "torch", "numpy", "scipy")
    }
    return {
        **versions,
        "code": code_fingerprint(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": str(cores()),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }

"""The folder of a run: what was asked, what has been found so far.

config.json      the `Config`, with versions, machine and date
sessions.json    when the folder was worked on, by which engine, for how long
records.jsonl    one line per finished (split, method, k)
pictures/        what the figures are drawn from, one file per method
error.txt        the traceback of the job that stopped the last session, if one did
"""

from __future__ import annotations

import importlib
import json
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

from foresolve._base.files import write_bytes, write_text
from foresolve.errors import ForesolveError
from foresolve.report.records import Config, Job, JobResult, Record
from foresolve.reproduce.runs.engines import Engine, JobError, cores, job_name
from foresolve.reproduce.runs.fingerprint import code_fingerprint
from foresolve.reproduce.runs.folder_lock import FolderLock

MAY_GROW = ("splits", "ks", "methods")


class Run:
    """A folder of records. `Run.open` to write (one process at a time), `Run.read` to look.

    Attributes
    ----------
    folder, config: where the run is and what was asked.
    environment: versions, machine and date of when the folder was begun.
    sessions: one entry for each time that jobs were done.
    """

    def __init__(self, folder: Path, config: Config, lock: FolderLock | None) -> None:
        self.folder, self.config = folder, config
        self._lock = lock
        self.environment: dict[str, str] = {}
        self.sessions: list[dict[str, Any]] = []
        self._records: dict[tuple[int, str, int | None], Record] = {}

    @classmethod
    def open(cls, folder: Path | str, config: Config) -> Self:
        """Begin a folder, or resume one that was begun with the same config.

        The splits, ks and methods of a later config may be more than those of an earlier one; what is there is kept.
        Machine and device may be others: each session notes its own. A config that differs is written down with the
        first that is added under it.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        lock = FolderLock(folder)
        try:
            run = cls(folder, config, lock)
            known = (folder / "config.json").exists()
            run._load(repair=True)
            if known:
                check_same(config, run.config, folder)
            elif run._records:
                raise ForesolveError(f"{folder} has records but no config.json. Give another folder with --out")
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
        folder = Path(folder)
        if not (folder / "config.json").is_file():
            raise ForesolveError(f"{folder} is not a run: it has no config.json. Give the --out of an earlier run")
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
                with np.load(paths[method], allow_pickle=False) as arrays:
                    pictures[method] = dict(arrays)
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
        codes = self.codes | other.codes
        if len(codes) > 1:
            names = ", ".join(sorted(codes))
            raise ForesolveError(f"{folder} has records of another version of the code than {self.folder}: {names}")
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
        self._write_json("sessions.json", self.sessions)  # before the records: none is without its code
        self._append(new, _lines(new))
        return len(new)

    def begin_session(self, engine: Engine) -> None:
        """Note that jobs are about to be done."""
        identity = {"id": secrets.token_hex(8)}  # two machines may differ in nothing else
        where = {**environment(), "device": self.config.device, **engine.about}
        self.sessions.append({**identity, **where, "jobs": 0, "seconds": 0.0})
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
            self._write_json("sessions.json", self.sessions)
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
        if path.exists():
            document = _read_json(path)
            try:
                self.config = Config.from_dict(document["config"])
                self.environment = dict(document["environment"])
            except (KeyError, TypeError, ForesolveError) as error:
                raise ForesolveError(
                    f"{path} is not of this version of foresolve: {error}. Use another --out"
                ) from error
        if (self.folder / "sessions.json").exists():
            self.sessions = _read_json(self.folder / "sessions.json")
        self._records = {record.key: record for record in read_records(self.folder / "records.jsonl", repair=repair)}

    def _check_writable(self) -> None:
        if self._lock is None:
            raise ForesolveError(f"the run in {self.folder} was opened to be read. Use `Run.open` to add to it")

    def _append(self, records: Sequence[Record], text: str) -> None:
        """Keep records, which are `text` as JSON; on return they are on the disk."""
        with open(self.folder / "records.jsonl", "ab") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        self._records |= {record.key: record for record in records}

    def _write_config(self) -> None:
        self._write_json("config.json", {"config": self.config.to_dict(), "environment": self.environment})

    def _write_json(self, name: str, document: Any) -> None:
        write_text(self.folder / name, json.dumps(document, indent=1) + "\n")

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
        new["data"] = old["data"]  # the same files at another place
    for name in new:
        grown = name in MAY_GROW and (
            config.splits >= before.splits if name == "splits" else set(old[name]) <= set(new[name])
        )
        if new[name] != old[name] and not grown:
            expected = f"{old[name]!r} or more" if name in MAY_GROW else repr(old[name])
            raise ForesolveError(
                f"{folder} holds a run with another `{name}`: expected {expected}; got {new[name]!r}. "
                "Ask for the same, or give another folder with --out"
            )


def _lines(records: Sequence[Record]) -> str:
    """Records as JSON, a line each; an error for what JSON cannot hold."""
    return "".join(json.dumps(record.to_dict(), allow_nan=False) + "\n" for record in records)


def read_records(path: Path, *, repair: bool) -> list[Record]:
    """The records of a file. A last line that was not written to its end is left out, with `repair` also cut off."""
    if not path.exists():
        return []
    content = path.read_bytes()
    records: list[Record] = []
    end = 0
    lines = content.splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        try:
            record = Record.from_dict(json.loads(line))
        except (ValueError, TypeError, AttributeError, ForesolveError) as error:
            if number < len(lines):
                raise ForesolveError(
                    f"{path}, line {number}: not a record ({error}). Remove the line to have its job done again"
                ) from error
            break
        if not line.endswith(b"\n"):
            break
        records.append(record)
        end += len(line)
    if repair and end < len(content):
        os.truncate(path, end)
    return records


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


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ForesolveError(f"{path} is not JSON: {error}. Use another --out, or remove the folder") from error

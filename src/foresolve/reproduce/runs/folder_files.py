"""What is read from the folder of a run, with suspicion: any entry that is not what it must be is an error by name."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foresolve._base import arrays, files, reading
from foresolve._base.container import Container, entry_of
from foresolve.errors import FileError, ForesolveError
from foresolve.report.records import Config, Record

COLUMNS = ("decision_value", "best_value")  # of pictures; everything else is a table
REMEDY = "Use another --out, or remove the folder"
CONFIG = Container("the config of a run", "foresolve reproduction", 2, remedy=REMEDY)
SESSIONS = Container("the sessions of a run", "foresolve sessions", 2, remedy=REMEDY)
NUMBERS = ("value", "fractional", "optimum", "validation", "mse", "cross_entropy", "auc", "seconds")
COURSE = ("regret", "mse")
NEEDED = ("value", "optimum", "seconds")  # of these, the numbers that a record cannot do without


def read_config(path: Path) -> tuple[Config, dict[str, str], dict[str, str]]:
    """Config, environment, and the settings of methods (nothing in folders of the first format, which had no kind)."""
    document = files.read_json(path)
    if not (isinstance(document, dict) and set(document) == {"config", "environment"}):
        document = CONFIG.checked(document, path)
    try:
        config = Config.from_dict(files.field(document, "config", dict, path))
    except (TypeError, ValueError, ForesolveError) as error:
        raise FileError(path, f"is not of this version of foresolve: {error}", REMEDY) from error
    tables = [files.field(document, name, dict, path) for name in ("environment", "methods") if name in document]
    if not all(isinstance(value, str) for table in tables for value in table.values()):
        raise FileError(path, "is damaged: `environment` and `methods` must hold words", REMEDY)
    return config, tables[0], tables[1] if len(tables) > 1 else {}


def read_sessions(path: Path) -> list[dict[str, Any]]:
    """When the folder was worked on; the first format was a list."""
    document = files.read_json(path)
    sessions = document if isinstance(document, list) else SESSIONS.checked(document, path).get("sessions")
    if not isinstance(sessions, list) or not all(map(_is_session, sessions)):
        raise FileError(path, "is damaged: it must list sessions with their `jobs` and `seconds`", REMEDY)
    return sessions


def _is_session(session: Any) -> bool:
    return (
        isinstance(session, dict)
        and _is_count(session.get("jobs"))
        and _is_number(session.get("seconds"))
        and all(value is None or isinstance(value, str | int | float) for value in session.values())
    )


def read_records(path: Path, config: Config, *, repair: bool) -> list[Record]:
    """The records of a file. A last line that is no sound record (it was not written to its end) is left out, its
    job is done again; with `repair` it is also cut off."""
    if not path.exists():
        return []
    content = reading.read_bytes(path)
    records: list[Record] = []
    end = 0
    lines = content.splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        try:
            record = _checked(Record.from_dict(entry_of(line)), config)
        except (ValueError, TypeError, AttributeError, ForesolveError) as error:
            if number < len(lines):
                raise ForesolveError(
                    f"{path}, line {number}: not a record ({error})",
                    remedy="Remove the line to have its job done again",
                ) from error
            break
        if not line.endswith(b"\n"):
            break
        records.append(record)
        end += len(line)
    if repair and end < len(content):
        os.truncate(path, end)
    return records


def _checked(record: Record, config: Config) -> Record:
    """A record with numbers where numbers belong, of the run that the folder holds."""
    for name in NUMBERS:
        value = getattr(record, name)
        if not (_is_number(value) or (value is None and name not in NEEDED)):
            raise ValueError(f"`{name}` must be a number; got {str(value)[:40]!r}")
    if not _is_count(record.split) or not isinstance(record.method, str) or not isinstance(record.setting, dict):
        raise ValueError("`split`, `method` and `setting` must be a number, a name and a table")
    if not _is_course(record.course):
        raise ValueError("`course` must be empty, or list as many numbers of regret as of mse")
    if not (record.k is None or _is_count(record.k)) or not isinstance(record.domain, str):
        raise ValueError("`k` and `domain` must be a number and a name")
    if config.methods and (record.method not in config.methods or record.k not in (None, *config.ks)):
        raise ValueError(f"{record.method[:40]!r} with k = {record.k} is not of this run")
    return record


def _is_course(course: Any) -> bool:
    if not isinstance(course, dict) or set(course) not in (set(), set(COURSE)):
        return False
    lists = list(course.values())
    sound = all(isinstance(entries, list) and entries and len(entries) == len(lists[0]) for entries in lists)
    return sound and all(value is None or _is_number(value) for entries in lists for value in entries)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def read_picture(path: Path) -> dict[str, np.ndarray]:
    """The arrays that figures are drawn from: tables of numbers, and what decisions are worth, in columns."""
    picture = arrays.read_arrays(path)
    for name, array in picture.items():
        what, dims = ("column", 1) if name in COLUMNS else ("table", 2)
        if array.dtype.kind not in "fiub" or array.ndim != dims or not np.isfinite(array).all():
            raise FileError(path, f"is damaged: {name!r} must be a {what} of finite numbers", REMEDY)
    return picture


def check_methods(current: dict[str, str], before: dict[str, str], folder: Path | str, wanted: Sequence[str]) -> None:
    """Refuse to mix results of methods that share a name and not their settings."""
    for name in wanted:
        if name in before and name in current and before[name] != current[name]:
            raise FileError(
                folder,
                (f"holds a run in which {name} had other settings (fingerprint {before[name]}; now {current[name]})"),
                "Go on with those, or give another folder with --out",
            )

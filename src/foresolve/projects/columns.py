"""The files of a project, and the columns that it names: errors have their line, before any work is done."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from foresolve._base import frames
from foresolve._base.table_files import TableFile
from foresolve.projects.kinds import COLUMNS, TEXT, nearest
from foresolve.projects.schema import settings_of
from foresolve.projects.settings import Settings

# Which file of [problem] has the columns that a key names; all others are columns of `file`.
_ELSEWHERE = {"node": "nodes", "supply": "nodes", "target": "targets", "worth": "targets"}
_COLUMN_KINDS = (TEXT, COLUMNS)


def check_columns(settings: Settings) -> None:
    """Refuse a column that its file lacks, naming the nearest that it has."""
    known = {
        place: titles(settings, *place) for place in settings.files() if settings.problem != "mps" or place[0] == "data"
    }
    for section, key, title, file in _named(settings):
        if title not in known[section, file]:
            name = settings.values[section][file]
            hint = nearest(title, known[section, file]) or f" It has {frames.listed(known[section, file])}"
            place = (section, key, title) if key == "encode" else (section, key)
            raise settings.error(f"`{key}`: {name} has no column `{title}`.{hint}", *place)


def titles(settings: Settings, section: str, key: str) -> list[str]:
    """The columns of a file; only its beginning is read."""
    return table(settings, settings.file(section, key)).titles()


def table(settings: Settings, path: Path) -> TableFile:
    """A file, read as the settings say that files are written."""
    data = settings.values["data"]
    return TableFile(path, **{name: data[name] for name in ("decimal", "thousands", "date_format")})


def _named(settings: Settings) -> Iterator[tuple[str, str, str, str]]:
    """Section, key, column, and the key of the file that should have it."""
    data = settings.values["data"]
    if settings.problem != "mps":
        for key, setting in settings_of("problem", settings.problem).items():
            value = settings.values["problem"][key]
            if setting.kind not in _COLUMN_KINDS or value is None:
                continue
            for title in (value,) if isinstance(value, str) else value:
                yield "problem", key, title, _ELSEWHERE.get(key, "file")
    truth = "features" if data["parameters"] is None else "parameters"
    homes = {
        "key": {"features", truth}, "variable": {truth}, "value": {truth}, "columns": {"features"},
        "weights": {"features"}, "dates": {"features"}, "encode": {"features"},
    }  # fmt: skip
    for key, files in homes.items():
        value = data[key]
        for title in () if value is None or value is False else (value,) if isinstance(value, str) else value:
            for file in sorted(files):
                yield "data", key, title, file

"""The files of a project, and the columns that it names, looked for before any work is done."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from foresolve._base import checks, frames
from foresolve._base.table_files import TableFile
from foresolve.projects.settings import Settings
from foresolve.projects.toml import SettingsError


def check_columns(settings: Settings) -> None:
    """Refuse a column that its file lacks, naming the nearest that it has."""
    known = {
        place: titles(settings, *place) for place in settings.files() if settings.problem != "mps" or place[0] == "data"
    }
    for section, key, title, file in _named(settings):
        if title not in known[section, file]:
            expected, columns = f"a column of {settings.name(section, file)}", known[section, file]
            remedy = checks.did_you_mean(title, columns, code=True) or f"It has {frames.listed(columns)}"
            raise SettingsError(
                settings.path, table=section, key=key, expected=expected, got=f"{title!r}", remedy=remedy
            )


def titles(settings: Settings, section: str, key: str) -> list[str]:
    """The columns of a file; only its beginning is read."""
    return table(settings, settings.file(section, key)).titles()


def table(settings: Settings, path: Path) -> TableFile:
    """A file, read as the settings say that files are written."""
    data = settings.values.data
    return TableFile(path, data.decimal, data.thousands, data.date_format)


def _named(settings: Settings) -> Iterator[tuple[str, str, str, str]]:
    """Section, key, column, and the key of the file that should have it."""
    data = settings.values.data
    if settings.problem != "mps":
        for key, title, file in settings.values.problem.column_keys():
            yield "problem", key, title, file
    truth = "features" if data.parameters is None else "parameters"
    homes = {
        "key": {"features", truth}, "variable": {truth}, "value": {truth}, "columns": {"features"},
        "weights": {"features"}, "dates": {"features"}, "encode": {"features"},
    }  # fmt: skip
    for key, files in homes.items():
        value = getattr(data, key)
        for title in () if value is None or value is False else (value,) if isinstance(value, str) else value:
            for file in sorted(files):
                yield "data", key, title, file

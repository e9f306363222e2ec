"""A `foresolve.toml`, read and checked."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foresolve._base import checks, reading
from foresolve._base.extras import need
from foresolve.errors import FileError
from foresolve.projects.toml import NAME, SettingsError

if TYPE_CHECKING:
    from foresolve.projects.schema import Document


@dataclass(frozen=True)
class Settings:
    """The settings of a project, checked.

    Attributes
    ----------
    path: of the file.
    values: by table and key, as in `values.data.key`; a key that is not in the file has its default.
    text: of the file.
    """

    path: Path
    values: Document
    text: str

    @classmethod
    def read(cls, path: str | Path, *, files: bool = True) -> Settings:
        """The settings in a file; `files` also looks whether the files that it names are there."""
        path = checks.path("path", path)
        if path.is_dir():
            path = path / NAME
        if not path.exists():
            raise SettingsError(path, "no such file", remedy="Create one with `foresolve init`")
        try:
            text = reading.read_text(path).removeprefix("\ufeff").replace("\r\n", "\n")
        except FileError as error:
            raise SettingsError(path, error.reason, remedy=error.remedy) from error
        return cls.parse(text, path, files=files)

    @classmethod
    def parse(cls, text: str, path: Path, *, files: bool = True) -> Settings:
        """The settings in a text; `path` is for messages, and files are sought beside it."""
        need("pydantic", NAME, "learn")
        from foresolve.projects.schema import checked

        settings = cls(path, checked(_document(text, path), path), text)
        if files:
            for table, key in settings.files():
                settings.check_file(table, key)
        return settings

    @property
    def problem(self) -> str:
        """The kind of problem."""
        return self.values.problem.kind

    def files(self) -> list[tuple[str, str]]:
        """Table and key of every file that is named."""
        tables = {"problem": self.values.problem, "data": self.values.data}
        return [(name, key) for name, table in tables.items() for key in table.file_keys()]

    def name(self, table: str, key: str) -> str:
        """The name of a file, as the settings write it."""
        return getattr(getattr(self.values, table), key)

    def file(self, table: str, key: str) -> Path:
        """The path of a file that a key names, relative to the folder of the settings."""
        return self.path.parent / self.name(table, key)

    def has(self, table: str, key: str) -> bool:
        """True if a table has a key, for this kind of problem."""
        return key in type(getattr(self.values, table)).model_fields

    def check_file(self, table: str, key: str) -> None:
        """An error where the file is not there, with the nearest one that is."""
        path, name = self.file(table, key), self.name(table, key)
        if path.is_dir():
            raise SettingsError(self.path, table=table, key=key, expected="a file", got=f"the folder {name!r}")
        if not path.is_file():
            others = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
            remedy, got = checks.did_you_mean(path.name, others, code=True), f"{name!r}, which is not there"
            raise SettingsError(self.path, table=table, key=key, expected="a file", got=got, remedy=remedy)


def _document(text: str, path: Path) -> dict[str, Any]:
    """The tables of a text."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError, OverflowError) as error:  # also numbers of thousands of digits, deep nesting
        raise SettingsError(path, f"not valid TOML: {str(error) or type(error).__name__}") from error

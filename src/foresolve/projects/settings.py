"""A `foresolve.toml`, read and checked: errors have the line."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foresolve._base import checks, reading
from foresolve.errors import ForesolveError, InvalidInputError
from foresolve.projects.kinds import FILE, nearest
from foresolve.projects.locations import Locations
from foresolve.projects.schema import SECTIONS, SETTINGS, Setting, settings_of

NAME = "foresolve.toml"
MOST_BYTES = 2**22
# The parser's time grows with the square of the parts of a key, which here has at most three.
_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){20}""")
MOST_SHOWN = 80  # of a line that is no TOML
_AT = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


class SettingsError(InvalidInputError):
    """A `foresolve.toml` is wrong; the message has the line, and the nearest valid name."""


@dataclass(frozen=True)
class Settings:
    """The settings of a project, checked.

    Attributes
    ----------
    path: of the file.
    values: by section and key, as foresolve works with them; a key that is not in the file has its default.
    text: of the file.
    """

    path: Path
    values: dict[str, dict[str, Any]]
    text: str
    lines: Locations = field(repr=False)

    @classmethod
    def read(cls, path: str | Path, *, files: bool = True) -> Settings:
        """The settings in a file; `files` also looks whether the files that it names are there."""
        path = checks.path("path", path)
        if path.is_dir():
            path = path / NAME
        try:
            text = reading.read_text(path, MOST_BYTES).removeprefix("\ufeff").replace("\r\n", "\n")
        except ForesolveError as error:
            remedy = "" if path.exists() else ". `foresolve init` writes one"
            raise SettingsError(f"{error}{remedy}") from error
        return cls.parse(text, path, files=files)

    @classmethod
    def parse(cls, text: str, path: Path, *, files: bool = True) -> Settings:
        """The settings in a text; `path` is for messages, and files are sought beside it."""
        if (long := _LONG_KEY.search(text)) is not None:
            line = text.count("\n", 0, long.start()) + 1
            raise SettingsError(f"{path}, line {line}: a key of more than 20 parts")
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            at = _AT.search(str(error))
            line = int(at[1]) if at is not None and at[1] else text.count("\n") + 1
            shown = text.split("\n")[line - 1].strip()[:MOST_SHOWN]
            raise SettingsError(f"{path}, line {line}: {_AT.sub('', str(error))}: {shown}") from error
        except (ValueError, RecursionError, OverflowError) as error:  # numbers of thousands of digits, deep nesting
            raise SettingsError(f"{path} cannot be read: {str(error) or type(error).__name__}") from error
        reader = _Reader(path, Locations(text))
        settings = cls(path, reader.sections(document), text, reader.lines)
        if files:
            for section, key in settings.files():
                settings.check_file(section, key)
        return settings

    @property
    def problem(self) -> str:
        """The kind of problem."""
        return self.values["problem"]["kind"]

    def files(self) -> list[tuple[str, str]]:
        """Section and key of every file that is named."""
        return [
            (section, name)
            for section in ("problem", "data")
            for name, setting in settings_of(section, self.problem).items()
            if setting.kind is FILE and self.values[section][name] is not None
        ]

    def file(self, section: str, key: str) -> Path:
        """The path of a file that a setting names, relative to the folder of the settings."""
        return self.path.parent / self.values[section][key]

    def check_file(self, section: str, key: str) -> None:
        """An error where the file is not there, with the nearest one that is."""
        path, name = self.file(section, key), self.values[section][key]
        if path.is_dir():
            raise self.error(f"{name!r} is a folder, not a file", section, key)
        if not path.is_file():
            folder = path.parent
            hint = nearest(path.name, [other.name for other in folder.iterdir()] if folder.is_dir() else [])
            raise self.error(f"the file {name!r} is not there.{hint}".removesuffix("."), section, key)

    def error(self, message: str, *place: str) -> SettingsError:
        """An error at a key or table; the caller raises it."""
        parts = [part for name in place for part in name.split(".")]
        return SettingsError(f"{self.path}, line {self.lines.line(parts)}: {message}")


@dataclass(frozen=True)
class _Reader:
    path: Path
    lines: Locations

    def error(self, place: tuple[str, ...], message: str) -> SettingsError:
        return SettingsError(f"{self.path}, line {self.lines.line(place)}: {message}")

    def sections(self, document: dict[str, Any]) -> dict[str, dict[str, Any]]:
        tables = [name for name in SECTIONS if "." not in name]
        for name, table in document.items():
            if name not in tables:
                what = "table" if isinstance(table, dict) else "key"
                shown = f"[{name}]" if what == "table" else f"`{name}`"
                options = tables if what == "table" else [key for t in tables for key in settings_of(t)]
                home = "" if what == "table" else _home(name)
                raise self.error((name,), f"unknown {what} {shown}.{home or nearest(name, options)}")
            if not isinstance(table, dict):
                raise self.error((name,), f"`{name}` must be a table, [{name}]; got {_shown(table)}")
        for name in ("problem", "data"):
            if name not in document:
                raise self.error((), f"the table [{name}] is missing. {SECTIONS[name]}")
        kind = self.value(("problem",), document["problem"], settings_of("problem")["kind"])
        values = {name: self.section((name,), document.get(name, {}), kind) for name in tables}
        values["data"]["missing"] = self.missing(document["data"].get("missing"), values["data"]["missing"])
        self.together(values["data"])
        return values

    def section(self, place: tuple[str, ...], table: dict[str, Any], kind: str) -> dict[str, Any]:
        known = settings_of(".".join(place), kind)
        for name in table:
            if name not in known:
                owners = [owner for s in SETTINGS if (s.section, s.name) == (place[0], name) for owner in s.problems]
                other = f" It belongs to {', '.join(owners)}." if owners else ""
                where = f"[{'.'.join(place)}]" + (f" for {kind}" if owners else "")
                hint = other or nearest(name, list(known)) or _home(name) or f" Its keys: {', '.join(known)}."
                raise self.error((*place, name), f"unknown key `{name}` in {where}.{hint}")
        return {name: self.value(place, table, setting) for name, setting in known.items()}

    def value(self, place: tuple[str, ...], table: dict[str, Any], setting: Setting) -> Any:
        name = setting.name
        if name not in table:
            if setting.required:
                where = f"[{'.'.join(place)}]"
                raise self.error(place, f"the key `{name}` is missing in {where}: {setting.words}")
            return setting.default if setting.default in (None, "") else setting.kind.read(setting.default)
        if (setting.section, name) == ("data", "missing") and isinstance(table[name], dict):
            return None  # a table of its own
        try:
            return setting.kind.read(table[name])
        except (ValueError, TypeError):
            pass
        wrong, where = table[name], (*place, name)
        if isinstance(wrong, dict) and setting.kind.options:  # the entry that is wrong, not the table
            column = next(key for key, entry in wrong.items() if entry not in setting.kind.options)
            name, wrong, where = column, wrong[column], (*where, column)
        hint = nearest(wrong, setting.kind.options) if isinstance(wrong, str) else ""
        words = setting.kind.words.rpartition(", each ")[2]
        raise self.error(where, f"`{name}` must be {words}; got {_shown(wrong)}.{hint}".removesuffix("."))

    def missing(self, table: Any, rule: str | None) -> dict[str, str]:
        """The rules for features and parameters, from one word or a table."""
        if isinstance(table, dict):
            return self.section(("data", "missing"), table, "")
        return {"features": rule or "refuse", "parameters": rule or "refuse"}

    def together(self, data: dict[str, Any]) -> None:
        """What makes sense only with another key."""
        place = ("data",)
        if (data["variable"] is None) != (data["value"] is None):
            given, other = ("variable", "value") if data["value"] is None else ("value", "variable")
            raise self.error((*place, given), f"`{given}` of a long file needs `{other}` too, in [data]")
        if data["parameters"] is None and data["value"] is None:
            message = "the key `parameters` is missing in [data]: a file; or `variable` and `value` of one long file"
            raise self.error(place, message)


def _home(name: str) -> str:
    """Where a key belongs that stands elsewhere."""
    homes = [f"[{section}]" for section in SECTIONS if name in settings_of(section)]
    return f" It belongs into {' or '.join(homes)}." if homes else ""


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else "a table" if isinstance(value, dict) else str(value)

"""The language of `foresolve.toml`: values and settings as it writes them, and errors about its tables and keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foresolve.errors import InvalidInputError, Setting, Voice, Words

NAME = "foresolve.toml"
KEYS = {"path": "file", "graph": "file", "theta": "parameters", "methods": "decision", "loss": "decision",
        "foresolve.data.TableFile": "[data]"}  # fmt: skip


def toml(value: Any) -> str:
    """A value as TOML writes it.

    >>> toml((0.6, 0.4)), toml("a b"), toml(600.0), toml(False)
    ('[0.6, 0.4]', '"a b"', '600', 'false')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"{value:g}" if isinstance(value, float) else str(value)


def toml_key(name: str) -> str:
    """The name of a key as TOML writes it."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml(name)


class _Toml(Voice):
    """Settings as keys of the file."""

    def setting(self, setting: Setting) -> str:
        name, value = KEYS.get(setting.name, setting.name), setting.value
        if isinstance(value, Mapping):
            return ", ".join(f"`{toml_key(key)} = {toml(part)}`" for key, part in value.items()) + f" in [data.{name}]"
        return f"`{name}`" if value is None else f"`{name} = {toml(value)}`"


TOML = _Toml()


class SettingsError(InvalidInputError):
    """A `foresolve.toml` is wrong.

    Parameters
    ----------
    path: of the file.
    reason: what is wrong, if it is not about the value of a key.
    table: the table that the error is about, such as "data.missing"; empty if there is none.
    key: the key of the table. It is also the error's `argument`.
    expected, got, remedy: as in every `ForesolveError`.

    Examples
    --------
    >>> print(SettingsError("foresolve.toml", table="training", key="trials", expected="a whole number >= 1", got="0"))
    foresolve.toml: [training] trials must be a whole number >= 1; got 0
    """

    def __init__(
        self,
        path: str | Path,
        reason: Words = "",
        *,
        table: str = "",
        key: str = "",
        expected: Words = "",
        got: Words = "",
        remedy: Words = "",
    ) -> None:
        super().__init__(reason, argument=key, expected=expected, got=got, remedy=remedy)
        self.args, self.path, self.table, self.key = (path, reason), path, table, key

    def said_as(self, name: str | None = None, *, remedy: Words | None = None, voice: Voice = TOML) -> str:
        own = f"[{self.table}] {self.key}" if self.table else self.key
        return f"{self.path}: {super().said_as(own if name is None else name, remedy=remedy, voice=voice)}"

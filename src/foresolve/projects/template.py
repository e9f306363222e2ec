"""A commented `foresolve.toml`, made from the schema."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from foresolve.projects.schema import PROBLEMS, SECTIONS, Setting, settings_of, toml

WIDTH = 100
# A line for each of these where the user's own names would be.
_EXAMPLES = {
    "file": "arcs.csv", "name": "name", "capacity": "capacity", "worth": "worth", "predict": ["x1", "x2"],
    "sense": "min", "parameters": "parameters.csv", "variable": "name", "value": "value", "columns": ["a", "b"],
    "weights": "weight", "dates": "date", "units": "minutes", "references": ["mean", "ridge"],
    "decision": ["spo+", "decision"], "decimal": ",", "thousands": ".", "date_format": "%d.%m.%Y",
}  # fmt: skip


def template(kind: str, values: Mapping[str, Mapping[str, Any]]) -> str:
    """The text of a file with the values given; every other key stands there as a comment, with its default.

    Parameters
    ----------
    kind: of the problem.
    values: by section and key; a value that is a mapping becomes a table of its own.
    """
    lines = [
        *_comment(f"A foresolve project: {kind}, {PROBLEMS[kind]}. Lines that begin with # are comments; those with a "
                  "key show what else can be said, with its default or an example."),
        *_comment("`foresolve train` reads this file; files are sought in the folder of this one."),
    ]  # fmt: skip
    for section, words in SECTIONS.items():
        if section == "data.encode":
            continue  # beside the other keys of [data]
        own = dict(values.get(section, {}))
        tables = {name: own.pop(name) for name in list(own) if isinstance(own[name], Mapping)}
        if section == "data.missing" and ("missing" in values.get("data", {}) or not own):
            continue
        lines += ["", f"[{section}]", *_comment(words)]
        for name, setting in settings_of(section, kind).items():
            if name == "encode" or (name == "missing" and "data.missing" in values):
                continue
            lines += _line(setting, own.get(name))
        if section == "data":
            lines += _encode(tables.get("encode", {}))
    return "\n".join(lines) + "\n"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def _line(setting: Setting, value: Any) -> list[str]:
    if value is not None:
        return [_beside(f"{setting.name} = {toml(value)}", setting.words)]
    default = setting.default
    shown = _EXAMPLES[setting.name] if default in (None, "") else default
    return [_beside(f"# {setting.name} = {toml(shown)}", setting.words)]


def _encode(columns: Mapping[str, str]) -> list[str]:
    lines = [
        "",
        "[data.encode]",
        *_comment(SECTIONS["data.encode"] + ' "category", "number", "date", "trend" or "ignore".'),
    ]
    if columns:
        return lines + [f"{_key(name)} = {toml(value)}" for name, value in columns.items()]
    return [*lines, '# weekday = "category"']


def _key(name: str) -> str:
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else toml(name)


def _beside(line: str, words: str) -> str:
    return f"{line:<34}  # {words}"

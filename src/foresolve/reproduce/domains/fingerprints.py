"""A digest of the settings of each method, so that results of two settings are never taken for those of one.

It is the same on all machines and versions of Python: functions count by their name and by the numbers that they hold.
The code itself has a fingerprint of its own, which every session notes.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

from foresolve.report.records import Config
from foresolve.reproduce.domains.registry import DOMAINS

DIGITS = 16


def method_fingerprints(config: Config) -> dict[str, str]:
    """Those of the config's methods by name; nothing for a domain that is not known here."""
    if config.domain not in DOMAINS:
        return {}
    table = DOMAINS[config.domain].methods(config)
    return {
        name: hashlib.sha256(repr(_settings(table[name])).encode()).hexdigest()[:DIGITS]
        for name in config.methods
        if name in table
    }


def _settings(value: Any) -> Any:
    """Plain values all the way down."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return sorted((str(key), _settings(part)) for key, part in value.items())
    if isinstance(value, list | tuple):
        return [_settings(part) for part in value]
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, *((entry.name, _settings(getattr(value, entry.name))) for entry in fields(value))]
    if isinstance(value, partial):
        return [_settings(value.func), _settings(value.args), _settings(value.keywords)]
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return [value.__qualname__, _numbers(value.__code__), _settings(cells), _settings(value.__defaults__ or ())]
    return getattr(value, "__qualname__", type(value).__qualname__)


def _numbers(code: types.CodeType) -> list[Any]:
    """The fractions and tuples of a function; integers may not stand there, depending on the version of Python."""
    own = [part for part in code.co_consts if isinstance(part, float)]
    tuples = [p for p in code.co_consts if isinstance(p, tuple) and all(isinstance(k, int | float) for k in p)]
    return [*own, *tuples, *(_numbers(part) for part in code.co_consts if isinstance(part, types.CodeType))]

"""Things of foresolve as JSON and tensors, and back: a file can name what is on an explicit list, and nothing else.

A thing on the list gives `config()`, a dict of numbers, strings, lists, dicts and tensors, and a class method
`from_config(config)`, which reads it with suspicion: `size` and `tensor` are for its entries.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from torch import Tensor

from foresolve.errors import ForesolveError

Config = dict[str, Any]


def exported(module: ModuleType, *bases: type) -> dict[str, Any]:
    """The classes below one of `bases` that a floor exports and that can be made, by name."""
    classes = {name: vars(module)[name] for name in module.__all__}
    return {
        name: kind for name, kind in classes.items()
        if isinstance(kind, type) and issubclass(kind, bases) and not (kind in bases or inspect.isabstract(kind))
    }  # fmt: skip


def describe(thing: Any, allowed: Mapping[str, type]) -> Config:
    """`{"class": ..., **thing.config()}`; an error for what is not exactly of a class on the list."""
    name = type(thing).__name__
    if allowed.get(name) is not type(thing):
        raise ForesolveError(f"{name} cannot be written to a file: it is none of foresolve's own classes")
    return {"class": name, **thing.config()}


def restore(config: Any, allowed: Mapping[str, Any], kind: str) -> Any:
    """What `describe` described; an error for anything else. `kind` is what the list holds: "problems"."""
    name = config.get("class") if isinstance(config, Mapping) else None
    if not isinstance(name, str) or name not in allowed:
        raise ForesolveError(f"{name!r} is none of the {kind} that a file may name ({', '.join(allowed)})")
    entries = {key: value for key, value in config.items() if key != "class"}
    try:
        return allowed[name].from_config(entries)
    except (
        ForesolveError, KeyError, TypeError, ValueError, RuntimeError, AttributeError, OverflowError, IndexError,
        MemoryError,
    ) as error:  # fmt: skip
        if isinstance(error, RecursionError):
            raise
        reason = str(error) if isinstance(error, ForesolveError) else f"{type(error).__name__}: {error}"
        raise ForesolveError(f"the settings do not make a {name}: {reason}") from error


def on_cpu(value: Any) -> Any:
    """The same entries with every tensor on the CPU, where files are written and read."""
    if isinstance(value, Tensor):
        return value.detach().cpu()
    if isinstance(value, dict):
        return {name: on_cpu(part) for name, part in value.items()}
    return [on_cpu(part) for part in value] if isinstance(value, list) else value


def size(config: Mapping[str, Any], name: str) -> int:
    """An entry that is an integer >= 0."""
    return whole(name, config[name])


def whole(name: str, value: Any) -> int:
    """`value`, if it is an integer >= 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"`{name}` must be an integer >= 0; got {str(value)[:40]!r}")
    return value


def tensor(config: Mapping[str, Any], name: str) -> Tensor:
    """An entry that is a tensor."""
    value = config[name]
    if not isinstance(value, Tensor):
        raise TypeError(f"`{name}` must be a tensor; got {type(value).__name__}")
    return value

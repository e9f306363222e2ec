"""Public names, wherever a source tree keeps them: at the top, or on one of its floors."""

from __future__ import annotations

import importlib
from typing import Any

FLOORS = ("problems", "layers", "losses", "sets", "models", "data", "learning", "schedules")


def find(name: str) -> Any:
    """`foresolve.NAME`, or else `foresolve.FLOOR.NAME`."""
    for address in ("foresolve", *(f"foresolve.{floor}" for floor in FLOORS)):
        try:
            module = importlib.import_module(address)
        except ModuleNotFoundError as error:
            if error.name != address:
                raise
            continue
        if hasattr(module, name):
            return getattr(module, name)
    raise LookupError(f"this tree has no public `{name}`")

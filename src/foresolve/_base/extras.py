"""Optional packages, imported where they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from foresolve.errors import MissingExtraError


def need(module: str, what: str, extra: str) -> Any:
    """The module, or an error that names the extra that brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{what} needs {module.split('.')[0]}. Install it with: pip install foresolve[{extra}]"
        ) from error

"""Packages that are imported where they are needed."""

from __future__ import annotations

import importlib
import platform
import sys
from typing import Any

from foresolve.errors import MissingExtraError, sentence

# What is not installed under the name that it is imported by.
_INSTALLED_AS = {"sklearn": "scikit-learn"}

# What an extra leaves out where nobody has built it: platforms, and machines, without wheels.
_WITHOUT_WHEELS = {"pymetis": (("win32", ""), ("linux", "aarch64"))}


def need(module: str, what: str, extra: str = "", note: str = "") -> Any:
    """The module, or an error that says how to get it.

    Parameters
    ----------
    module: to import, such as "rich.table".
    what: needs it, for the message.
    extra: of foresolve that brings it; empty for what comes with foresolve itself.
    note: a sentence on why it may not be importable although it is there.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        package = _INSTALLED_AS.get(name, name)
        reason = "" if extra else f", which cannot be imported ({error})"
        command = f'pip install "foresolve[{extra}]"' if extra else f"pip install {package}"
        remedy = f"Install it with: {command}"
        if _left_out(package):
            reason = f", which the extra `{extra}` leaves out on this platform: there are no wheels for it"
            remedy = f"Build it, which takes a C compiler, with: pip install {package}"
        raise MissingExtraError(f"{what} needs {package}{reason}", remedy=sentence(remedy, note)) from error


def _left_out(package: str) -> bool:
    """True if an extra leaves the package out on this platform; as the markers in pyproject.toml have it."""
    return any(
        sys.platform == system and machine in ("", platform.machine())
        for system, machine in _WITHOUT_WHEELS.get(package, ())
    )

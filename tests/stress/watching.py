"""How a call into the library is watched."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from foresolve.errors import ConvergenceWarning, ForesolveError


@dataclass(frozen=True)
class Watched:
    """A call: what it gave, or the error it ended with, and whether a `ConvergenceWarning` was heard."""

    value: Any = None
    refusal: ForesolveError | None = None
    crash: str = ""
    warned: bool = False
    messages: tuple[str, ...] = ()


def watch(function: Callable[[], Any]) -> Watched:
    """Call the library; whatever it raises is a finding, not an error of the harness."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        value, refusal, crash = None, None, ""
        try:
            value = function()
        except ForesolveError as error:
            refusal = error
        except Exception:  # anything else that reaches a user is a crash
            crash = traceback.format_exc(limit=-3)
    spoken = [entry for entry in heard if issubclass(entry.category, ConvergenceWarning)]
    return Watched(value, refusal, crash, bool(spoken), tuple(str(entry.message) for entry in spoken))

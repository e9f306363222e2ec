"""Arguments that a function or class must be called with."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

_VARIABLE = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


def needed(function: Callable[..., Any]) -> list[str] | None:
    """The names of its parameters that have no default; `None` where it is written in C, with no signature to read.

    >>> needed(lambda a, b, c=3, *d, **e: None)
    ['a', 'b']
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return None
    return [p.name for p in parameters if p.default is p.empty and p.kind not in _VARIABLE]


def takes_any(function: Callable[..., Any]) -> bool:
    """True for a function that takes any number of arguments by position, `*args`.

    >>> takes_any(lambda *sizes: None), takes_any(lambda a=1: None)
    (True, False)
    """
    parameters = inspect.signature(function).parameters.values()
    return any(p.kind is p.VAR_POSITIONAL for p in parameters)


def accepts(function: Callable[..., Any], *arguments: Any) -> bool:
    """True if it can be called with these arguments, by position; what is written in C may not tell, and is believed.

    >>> accepts(lambda a, b: None, 1, 2), accepts(lambda a, *, b: None, 1, 2)
    (True, False)
    """
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    except ValueError:
        return True
    return True

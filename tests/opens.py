"""Opens of a file, counted."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock


@contextmanager
def opens(path: Path) -> Iterator[list[str]]:
    """The modes or flags of each open of a file by its name, as they come."""
    seen: list[str] = []

    def counted(function: Any) -> Any:
        def call(file: Any, mode: Any = "r", *args: Any, **options: Any) -> Any:
            if not isinstance(file, int) and os.path.abspath(os.fspath(file)) == str(path.absolute()):
                seen.append(str(mode))
            return function(file, mode, *args, **options)

        return call

    with mock.patch.object(builtins, "open", counted(open)), mock.patch.object(os, "open", counted(os.open)):
        yield seen

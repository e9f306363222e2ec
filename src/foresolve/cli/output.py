"""What commands print: results on stdout, all else on stderr."""

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from foresolve._base.table import Table


def console() -> "Console":
    """Of stdout, with colors on a terminal only; `NO_COLOR` is respected."""
    from rich.console import Console

    return Console(soft_wrap=True, highlight=False)


def print_json(document: Any) -> None:
    """One document, and nothing else on stdout; in ASCII where that cannot print it otherwise."""
    plain = _plain(document)
    text = json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(plain, indent=2, allow_nan=False)
    print(text)


def _plain(value: Any) -> Any:
    """What JSON can hold: numbers that are none become null."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value


def print_table(table: "Table") -> None:
    """Columns under each other, in lines that no narrow window breaks in the middle of a cell."""
    out = console()
    for line, bold in table.lines():
        out.print(line, style="bold" if bold else "", markup=False)


def print_text(text: str, style: str = "") -> None:
    """A paragraph, broken between words on a terminal, and not at all elsewhere."""
    out = console()
    out.print(text, style=style, markup=False, soft_wrap=not out.is_terminal)


def print_next(*commands: str) -> None:
    """What to type next."""
    out = console()
    out.print("Next:" if len(commands) == 1 else "Next, for example:", style="dim")
    for command in commands:
        out.print(f"  {command}", markup=False)


def quoted(path: Path | str) -> str:
    """A path as one types it."""
    import shlex

    return shlex.quote(str(path))

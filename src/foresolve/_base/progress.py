"""Progress: reported to the caller's function, or drawn as a bar on the terminal."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from foresolve._base.extras import need
from foresolve.errors import MissingExtraError

Progress = Callable[[int, int], Any]
Unit = Literal["%", "bytes", "jobs"]
# Seconds: a bar that would be gone at once is not shown.
PATIENCE = 1.0
_UNITS = {
    name: size
    for size, names in ((1, "s sec second seconds"), (60, "min minute minutes"), (3600, "h hour hours"))
    for name in names.split()
}


@contextmanager
def reporting(
    progress: bool | Progress | None, what: str, *, unit: Unit = "%", patience: float = PATIENCE
) -> Iterator[Callable[..., Any]]:
    """A function to call with `(done, total)`: the caller's function, a bar on the terminal, or nothing.

    Parameters
    ----------
    progress: a function; True: a bar, which stays; None: one on a terminal, gone at the end; False: nothing.
    what: is being done, in a word or two.
    unit: what is counted. A bar also takes a `total` of None (unknown) and a label for what was done last.
    patience: seconds before a bar that nobody asked for appears.
    """
    if callable(progress):
        yield progress
        return
    bar = None
    if progress or (progress is None and sys.stderr.isatty()):
        try:
            bar = _Bar(what, unit, 0.0 if progress else patience, stays=bool(progress))
        except MissingExtraError:
            if progress:
                raise
    if bar is None:
        yield lambda done, total, label="": None
        return
    try:
        yield bar.step
    finally:
        bar.stop()


class _Bar:
    """A bar on stderr that appears once it has something to show."""

    def __init__(self, what: str, unit: Unit, patience: float, *, stays: bool) -> None:
        rich, console = need("rich.progress", "a progress bar", "cli"), need("rich.console", "a progress bar", "cli")
        count = {
            "%": (rich.TaskProgressColumn(),),
            "bytes": (rich.DownloadColumn(), rich.TransferSpeedColumn()),
            "jobs": (rich.MofNCompleteColumn(), rich.TextColumn("jobs"), rich.TimeElapsedColumn()),
        }
        columns = (
            rich.TextColumn("{task.description}"), rich.BarColumn(), *count[unit],
            rich.TextColumn("{task.fields[left]}"), rich.TextColumn("{task.fields[label]}", style="dim"),
        )  # fmt: skip
        self.bar = rich.Progress(*columns, console=console.Console(stderr=True), transient=not stays)
        self.task = self.bar.add_task(what, total=None, left="", label="")
        self.began, self.patience, self.stays = time.monotonic(), patience, stays
        self.first: int | None = None  # what was done before we began: a run that is resumed

    def step(self, done: int, total: int | None, label: str = "") -> None:
        passed = time.monotonic() - self.began
        self.first = done if self.first is None else self.first
        if self.stays or (done != total and passed >= self.patience):
            self.bar.start()
        left = ""
        if total is not None and self.first < done < total:
            left = f"about {duration(passed / (done - self.first) * (total - done))} left"
        self.bar.update(self.task, completed=done, total=total, left=left, label=label)

    def stop(self) -> None:
        self.bar.stop()


def duration(seconds: float) -> str:
    """Seconds in words.

    >>> duration(7500)
    '2 h 5 min'
    """
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def seconds(text: Any) -> Any:
    """Seconds of a text such as "10 min"; anything but text is given back.

    >>> seconds("1.5 h")
    5400.0
    """
    if not isinstance(text, str):
        return text
    parts = re.fullmatch(r"([0-9.]+)\s*([a-z]+)", text.strip().lower())
    if parts is None or parts[2] not in _UNITS:
        raise ValueError(f"{text!r} is no time")
    return float(parts[1]) * _UNITS[parts[2]]

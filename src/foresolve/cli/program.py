"""How the program ends: one style of error, and what its exit status means.

0: done. 1: the work failed. 2: the call, or the `foresolve.toml` it names, was wrong. 130: stopped by Ctrl-C.
"""

import io
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from foresolve._base.log import log
from foresolve.errors import ForesolveError
from foresolve.projects.toml import SettingsError

FAILED, WRONG, STOPPED = 1, 2, 130
_VERBOSE = {"-v": 1, "--verbose": 1, "-vv": 2}
_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


def told(error: BaseException) -> str:
    """An error in a line of words; of the system's, the file first."""
    ours = isinstance(error, ForesolveError)
    if isinstance(error, OSError) and not ours and error.filename is not None and error.strerror:
        return f"{os.fspath(error.filename)}: {error.strerror}"
    return " ".join(line.strip() for line in str(error).splitlines())


def complain(message: str) -> None:
    """The one style of error."""
    print(f"foresolve: {message}", file=sys.stderr)


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    complain(f"warning: {message}")


@contextmanager
def _logging(level: int) -> Iterator[None]:
    """The log of foresolve on stderr, as a program has it: a line each."""
    handler, before = logging.StreamHandler(sys.stderr), log.level
    handler.setFormatter(logging.Formatter("foresolve: %(message)s"))
    log.addHandler(handler)
    log.setLevel(level)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


@contextmanager
def _printable() -> Iterator[None]:
    """What the encoding of stdout lacks (names of files that are no text, letters where it is ASCII) is escaped."""
    stream, before = sys.stdout, getattr(sys.stdout, "errors", None)
    if before != "strict" or not isinstance(stream, io.TextIOWrapper):
        yield
        return
    stream.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        stream.reconfigure(errors=before)


def program_class() -> type:
    """The class of the group of all commands; typer is imported here."""
    import typer
    from typer.core import TyperGroup

    usage_error = typer.BadParameter.__mro__[1]

    class Program(TyperGroup):
        """Commands whose errors end in one line, whoever raised them."""

        def main(
            self, args: Sequence[str] | None = None, *more: Any, standalone_mode: bool = True, **extra: Any
        ) -> Any:
            if not standalone_mode:
                return super().main(args, *more, standalone_mode=False, **extra)
            words = list(sys.argv[1:] if args is None else args)
            # The option may stand before or behind the command.
            verbose = min(sum(_VERBOSE.get(word, 0) for word in words), 2)
            words = [word for word in words if word not in _VERBOSE]
            with warnings.catch_warnings(), _logging(_LEVELS[verbose]), _printable():
                warnings.showwarning = _show_warning
                try:
                    status = super().main(words, *more, standalone_mode=False, **extra)
                except Exception as error:
                    status = self._status(error)
                    if status is None:
                        raise
                    if verbose:
                        traceback.print_exception(error)
            return sys.exit(status if isinstance(status, int) else 0)

        def _status(self, error: Exception) -> int | None:
            """What the program ends with, after a line on stderr; `None` for an error that is ours to mend."""
            if isinstance(error, usage_error):
                message, context = error.format_message(), error.ctx  # type: ignore[attr-defined]
                if not message or type(error).__name__ == "NoArgsIsHelpError":
                    return WRONG  # the help is printed already
                complain(" ".join(message.replace(": Value error, ", ": ").split()))
                if context is not None:
                    print(f"Try: {context.command_path} --help", file=sys.stderr)
                return WRONG
            if isinstance(error, typer.Abort):
                return STOPPED
            if isinstance(error, ForesolveError | OSError):
                complain(told(error))
                return WRONG if isinstance(error, SettingsError) else FAILED
            return None

    return Program

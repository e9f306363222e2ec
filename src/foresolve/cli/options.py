"""Arguments that several commands share."""
# No `from __future__ import annotations`: typer reads the annotations of functions that are defined inside another.

from pathlib import Path
from typing import TYPE_CHECKING, Any

from foresolve.errors import ForesolveError, InvalidInputError

if TYPE_CHECKING:
    from foresolve.projects.run import Run


def existing(what: str, **more: Any) -> Any:
    """An option that names a file."""
    import typer

    return typer.Option(exists=True, dir_okay=False, help=what, metavar="FILE", **more)


def json_option() -> Any:
    """`--json`."""
    import typer

    return typer.Option("--json", help="One JSON document on stdout, and nothing else.")


def method_option() -> Any:
    """`--method`."""
    import typer

    return typer.Option(help="Another method whose policy was kept.", show_default="the one that was chosen")


def opened(folder: Path) -> "Run":
    """The run in a folder; a folder without one is a wrong call."""
    import typer

    from foresolve.projects.run import RECORD, Run

    try:
        return Run.open(folder)
    except ForesolveError as error:
        if (folder / RECORD).exists():  # there is one, and it is damaged
            raise
        raise typer.BadParameter(str(error), param_hint="RUN") from error


def usage(error: InvalidInputError, **options: str) -> Exception:
    """An error about an argument, as one about the option that set it; or as it is.

    `options` are the options by the names of arguments, as in `folder="'--out'"`.
    """
    import re

    import typer

    name = re.match(r"`(\w+)` ", str(error))
    if name is None or name[1] not in options:
        return error
    return typer.BadParameter(_reworded(str(error)[name.end() :], options), param_hint=options[name[1]])


def about_files(error: InvalidInputError) -> InvalidInputError:
    """An error about what a file holds, with the options that named the files; what to do without any Python."""
    from foresolve.data.frames.missing import RULES

    message = str(error)
    for python, shell in (
        ('`missing="drop"`', "--missing drop"),
        (RULES, "Fill them in, or train again with a rule for `missing` in [data]"),
        ("; a long table needs `variable=` and `value=`", ""),
    ):
        message = message.replace(python, shell)
    return InvalidInputError(_reworded(message, {"features": "'--data'", "actuals": "'--actuals'"}))


def _reworded(message: str, options: dict[str, str]) -> str:
    for name, option in options.items():
        message = message.replace(f"`{name}`", option)
    return message

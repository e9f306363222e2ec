"""Arguments that several commands share."""
# No `from __future__ import annotations`: typer reads the annotations of functions that are defined inside another.

from pathlib import Path
from typing import TYPE_CHECKING, Any

from foresolve.errors import ForesolveError, InvalidInputError, Voice

if TYPE_CHECKING:
    from foresolve.projects.run import Run

# How errors of the library mention arguments that are options here.
SHELL = Voice(
    {
        "features": "'--data'",
        "actuals": "'--actuals'",
        "resume": "--resume",
        "missing": "`missing` in [data]",
        "foresolve.data.TableFile": "[data] of foresolve.toml",
    },
    pattern="--{name} {value}",
    write=str,
)


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
    """An error of the library in the words of the shell; about an argument that an option sets, a wrong call.

    `options` are these options by the names of arguments, as in `folder="'--out'"`.
    """
    import typer

    option = options.get(error.argument)
    if option is None:
        return InvalidInputError(error.said_as(voice=SHELL)) if type(error) is InvalidInputError else error
    return typer.BadParameter(error.said_as("", voice=SHELL), param_hint=option)

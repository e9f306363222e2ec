"""The program `foresolve`: its commands, and how its errors end."""
# No `from __future__ import annotations`: typer reads the annotations of functions that are defined inside another.

import sys
from typing import TYPE_CHECKING, Annotated

from foresolve._base.extras import need
from foresolve.cli.data import data_commands
from foresolve.cli.reproduce import add_reproduce
from foresolve.errors import ForesolveError

if TYPE_CHECKING:
    from typer import Typer


def build() -> "Typer":
    """The commands; typer and rich are imported here, so that the rest of foresolve does without them."""
    for module in ("typer", "rich.console"):
        need(module, "the command line", "cli")
    import typer

    app = typer.Typer(name="foresolve", add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)

    def show_version(wanted: bool) -> None:
        if wanted:
            from foresolve import __version__

            typer.echo(f"foresolve {__version__}")
            raise typer.Exit

    @app.callback()
    def foresolve(
        version: Annotated[
            bool, typer.Option("--version", help="Print the version and exit.", callback=show_version, is_eager=True)
        ] = False,
    ) -> None:
        """Train predictive models on the decisions they lead to."""

    add_reproduce(app)
    app.add_typer(data_commands(), name="data")
    return app


def main() -> None:
    """The entry point; foresolve's own errors end in one line, not in a traceback."""
    try:
        build()()
    except (ForesolveError, OSError) as error:
        sys.exit(f"foresolve: {error}")

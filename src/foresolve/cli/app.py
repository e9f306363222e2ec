"""The program `foresolve`: its commands, and how its errors end."""
# No `from __future__ import annotations`: typer reads the annotations of functions that are defined inside another.

import sys
from typing import TYPE_CHECKING, Annotated

from foresolve._base.extras import need
from foresolve.cli.data import data_commands
from foresolve.cli.decide import add_decide
from foresolve.cli.doctor import add_doctor
from foresolve.cli.init import add_init
from foresolve.cli.judge import add_evaluate, add_monitor
from foresolve.cli.program import STOPPED, program_class
from foresolve.cli.report import add_compare, add_report
from foresolve.cli.reproduce import add_reproduce
from foresolve.cli.train import add_train
from foresolve.errors import MissingExtraError

if TYPE_CHECKING:
    from typer import Typer


def build() -> "Typer":
    """The commands; typer and rich are imported here, so that the rest of foresolve does without them."""
    for module in ("typer", "rich.console"):
        need(module, "the command line", "cli")
    import typer

    app = typer.Typer(
        name="foresolve", cls=program_class(), add_completion=False, no_args_is_help=True,
        pretty_exceptions_enable=False,
    )  # fmt: skip

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
        verbose: Annotated[
            bool,
            typer.Option("--verbose", "-v", help="Log the work, and show where errors come from; -vv: more."),
        ] = False,
    ) -> None:
        """Train predictive models on the decisions they lead to."""

    commands = (add_init, add_train, add_evaluate, add_compare, add_decide, add_monitor, add_report, add_doctor)
    for add in (*commands, add_reproduce):
        add(app)
    app.add_typer(data_commands(), name="data")
    return app


def main() -> None:
    """The entry point; foresolve's own errors end in one line, not in a traceback."""
    try:
        app = build()
    except MissingExtraError as error:
        sys.exit(f"foresolve: {error}")
    except KeyboardInterrupt:
        sys.exit(STOPPED)
    app(prog_name="foresolve")

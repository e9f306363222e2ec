"""The command line: parse, call, print."""
# No `from __future__ import annotations`: typer reads the annotations of functions that are defined inside another.

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from foresolve.errors import ForesolveError, MissingExtraError

if TYPE_CHECKING:
    from rich.console import Console
    from typer import Typer

    from foresolve.experiments.comparison import Result

PARTS = "each part's own"


class Part(StrEnum):
    """The parts of the demo."""

    MATCHING = "matching"
    BUDGET = "budget"


def build() -> "Typer":
    """The commands; typer and rich are imported here, so that the rest of foresolve does without them."""
    try:
        import rich.console  # noqa: F401
        import typer
    except ImportError as error:
        missing = error.name or "typer or rich"
        raise MissingExtraError(
            f"the command line needs {missing}. Install it with: pip install foresolve[cli]"
        ) from error

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

    @app.command()
    def demo(
        only: Annotated[Part | None, typer.Option(help="Run one part instead of all.")] = None,
        seed: Annotated[int, typer.Option(min=0, help="Seed of the data and of training.")] = 0,
        epochs: Annotated[
            int | None,
            typer.Option(
                min=1, help="Decision-focused epochs; two-stage gets a few times as many.", show_default=PARTS
            ),
        ] = None,
        hidden: Annotated[
            int | None, typer.Option(min=1, help="Width of the networks' hidden layers.", show_default=PARTS)
        ] = None,
        out: Annotated[Path, typer.Option(file_okay=False, help="Folder for the report.")] = Path("foresolve-demo"),
    ) -> None:
        """Train a matching and a budget pipeline, decision-focused against two-stage, and write a report."""
        chosen = {"seed": seed, "epochs": epochs, "hidden": hidden}
        _demo(only, {name: value for name, value in chosen.items() if value is not None}, out)

    return app


def _demo(only: Part | None, settings: dict[str, Any], out: Path) -> None:
    """Train with a progress bar, then print the tables and where the report is."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from foresolve.experiments import demo
    from foresolve.experiments.demo_report import write_report

    out.mkdir(parents=True, exist_ok=True)  # before the work, not after it
    console = Console()
    bar = Progress(
        TextColumn("{task.description:<26}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal,
    )  # fmt: skip
    with bar:
        task = bar.add_task("")
        results = demo.run_demos(
            [config(**settings) for name, config in demo.DEMOS.items() if only in (None, name)],
            lambda done, total, what: bar.update(task, completed=done, total=total, description=what),
        )
    for result in results:
        _print(console, result)
    path = write_report(results, out)
    console.print(f"Report: {path}", highlight=False, soft_wrap=True)


def _print(console: "Console", result: "Result") -> None:
    from rich.table import Table

    from foresolve.experiments.demo_report import HEADERS, table_rows, verdict

    table = Table(*HEADERS, title=result.story.title, title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for row in table_rows(result):
        table.add_row(*row)
    console.print(table)
    console.print(verdict(result), highlight=False)
    console.print()


def main() -> None:
    """The entry point; foresolve's own errors end in one line, not in a traceback."""
    try:
        build()()
    except (ForesolveError, OSError) as error:
        sys.exit(f"foresolve: {error}")


if __name__ == "__main__":
    main()

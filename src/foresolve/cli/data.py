"""`foresolve data`: real data sets, how to get them, and whether they are right."""
# No `from __future__ import annotations`: typer reads the annotations of functions that are defined inside another.

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from foresolve._base.progress import reporting
from foresolve.errors import ForesolveError

if TYPE_CHECKING:
    from typer import Typer

DATA = "FORESOLVE_DATA"


def data_commands() -> "Typer":
    """The group of commands."""
    import typer

    app = typer.Typer(no_args_is_help=True, help="Real data: list, download, check.")
    folder = typer.Option(help="Folder of real data.", show_default=DATA)
    _add_list(app)
    _add_fetch(app, folder)
    _add_check(app, folder)
    return app


def _add_list(app: "Typer") -> None:
    @app.command("list")
    def list_sources() -> None:
        """Print which data sets can be used, and on what terms."""
        from rich.console import Console

        from foresolve.data.real.registry import SOURCES

        console = Console()
        for source in SOURCES.values():
            files = ", ".join(file.title for file in source.needed)
            console.print(f"[bold]{source.name}[/bold]: {source.title}", highlight=False)
            lines = (source.description, f"Files: {source.folder}/ with {files}", f"Terms: {source.terms}", source.url)
            for line in filter(None, lines):
                console.print(f"  {line}", highlight=False, markup=False, soft_wrap=True)


def _add_fetch(app: "Typer", folder: Any) -> None:
    import typer

    @app.command()
    def fetch(
        names: Annotated[list[str], typer.Argument(help="Names from `foresolve data list`.")],
        data: Annotated[Path | None, folder] = None,
    ) -> None:
        """Download data sets, check them, and put them into the data folder."""
        from foresolve.data.real.registry import find_source
        from foresolve.data.real.sources import fetch_source

        place = _data_folder(data)
        for name in names:
            find_source(name)
        for name in names:
            with reporting(None, name, unit="bytes", patience=0.0) as progress:
                target = fetch_source(name, place, progress)
            typer.echo(f"{name}: {target}")


def _add_check(app: "Typer", folder: Any) -> None:
    import typer

    @app.command()
    def check(
        names: Annotated[
            list[str] | None, typer.Argument(help="Names from `foresolve data list`.", show_default="all")
        ] = None,
        data: Annotated[Path | None, folder] = None,
    ) -> None:
        """Check that each file is there, is the published one, and can be read; exit status 1 if not."""
        from foresolve.data.real.registry import SOURCES
        from foresolve.data.real.sources import check_source

        place = _data_folder(data)
        findings = [(name, finding) for name in names or SOURCES for finding in check_source(name, place)]
        for name, finding in findings:
            typer.echo(f"{'ok ' if finding.ok else 'BAD'}  {name}/{finding.file}: {finding.message}")
        if not all(finding.ok for _, finding in findings):
            raise typer.Exit(1)


def _data_folder(folder: Path | None) -> Path:
    if folder is None and not os.environ.get(DATA):
        raise ForesolveError("there is no data folder", remedy=f"Name one with --data, or in the variable {DATA}")
    return folder or Path(os.environ[DATA])

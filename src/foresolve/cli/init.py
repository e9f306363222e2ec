"""`foresolve init`: a project to begin with."""
# No `from __future__ import annotations`: typer reads the annotations of functions that are defined inside another.

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from foresolve.cli.output import console, print_next, quoted

if TYPE_CHECKING:
    from typer import Typer


def add_init(app: "Typer") -> None:
    """Add the command."""
    import typer

    from foresolve.projects.samples.registry import SAMPLES, init

    def known(name: str) -> str:
        from foresolve._base.checks import did_you_mean

        if name not in SAMPLES:
            raise typer.BadParameter(f"{name!r} is not one of {', '.join(SAMPLES)}. {did_you_mean(name, SAMPLES)}")
        return name

    @app.command("init")
    def init_command(
        problem: Annotated[str, typer.Argument(callback=known, help=f"One of {', '.join(SAMPLES)}.")],
        folder: Annotated[Path, typer.Argument(help="The folder; created if needed.")] = Path("."),
        force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    ) -> None:
        """Write a commented foresolve.toml and a small sample.

        Train on the sample at once, then put your own files in its place.
        """
        from foresolve.errors import InvalidInputError, Voice

        try:
            sample = init(problem, folder, force=force)
        except InvalidInputError as error:
            raise typer.BadParameter(error.said_as(voice=Voice({"force": "--force"}))) from error
        out = console()
        out.print(sample.story)
        for name in sample.names():
            out.print(f"  {folder / name}", markup=False)
        where = "" if folder == Path(".") else f"cd {quoted(folder)} && "
        print_next(f"{where}foresolve train", "foresolve decide run --data tomorrow.csv --out decisions.csv")

"""`foresolve decide`: decisions for a file of new instances."""
# No `from __future__ import annotations`: typer reads the annotations of functions that are defined inside another.

import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from foresolve._base.progress import duration, reporting
from foresolve.cli.options import existing, json_option, method_option, opened, usage
from foresolve.cli.output import console, print_json
from foresolve.errors import InvalidInputError

if TYPE_CHECKING:
    from typer import Typer


class Form(StrEnum):
    """Rows of the output."""

    LONG = "long"
    WIDE = "wide"


class EngineName(StrEnum):
    """Who decides."""

    LOCAL = "local"
    RAY = "ray"


def add_decide(app: "Typer") -> None:
    """Add the command."""
    import typer

    from foresolve._base.table_files import CHUNK

    @app.command()
    def decide(
        run: Annotated[Path, typer.Argument(help="Folder of a run.", metavar="RUN")],
        data: Annotated[Path, existing("Features, CSV or Parquet, of any size.")],
        out: Annotated[Path, typer.Option(help="Decisions, CSV or Parquet.", metavar="FILE")],
        form: Annotated[Form, typer.Option(help="A row for each nonzero variable, or for each instance.")] = Form.LONG,
        certify: Annotated[bool, typer.Option("--certify", help="Verify decisions, and write their bounds.")] = False,
        method: Annotated[str | None, method_option()] = None,
        chunk: Annotated[int, typer.Option(min=1, help="Rows that are read at a time.")] = CHUNK,
        engine: Annotated[EngineName, typer.Option(help="This process, or Ray Data.")] = EngineName.LOCAL,
        address: Annotated[
            str | None, typer.Option(help="The address of a Ray cluster.", show_default="Ray on this machine")
        ] = None,
        as_json: Annotated[bool, json_option()] = False,
    ) -> None:
        """Decide every instance of a file, and write the decisions.

        The file is written whole or not at all, and does not depend on the size of the chunks.

        An instance without a decision is named, nothing is written, and the exit status is 1.
        """
        if address is not None and engine is not EngineName.RAY:
            raise typer.BadParameter("only --engine ray has an --address", param_hint="'--address'")
        kept = opened(run)
        try:
            # Ray's news of its workers are no result.
            with redirect_stdout(sys.stderr), reporting(None, "deciding") as progress:
                if engine is EngineName.RAY:
                    from foresolve.projects.ray_deciding import decide_on_ray

                    result = decide_on_ray(
                        kept.policy_folder(method), data, out, form=form.value, certify=certify, chunk=chunk,
                        address=address, progress=progress,
                    )  # fmt: skip
                else:
                    result = kept.decide(
                        data, out, method=method, form=form.value, certify=certify, chunk=chunk, progress=progress
                    )
        except InvalidInputError as error:
            raise usage(error, out="'--out'", path="'--data'", method="'--method'") from error
        if as_json:
            print_json(asdict(result))
            return
        count = "1 instance" if result.instances == 1 else f"{result.instances:,} instances"
        console().print(f"{count} decided in {duration(result.seconds)}: {result.path}", markup=False)

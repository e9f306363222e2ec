"""`foresolve train`: from a foresolve.toml to a verdict and a policy."""
# No `from __future__ import annotations`: typer reads the annotations of functions that are defined inside another.

import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from foresolve._base.progress import duration, reporting, seconds
from foresolve.cli.options import json_option, usage
from foresolve.cli.output import console, print_json, print_next, print_table, print_text, quoted
from foresolve.cli.program import STOPPED, complain
from foresolve.errors import InvalidInputError

if TYPE_CHECKING:
    from typer import Typer

    from foresolve.projects.run import Run

STEPS = 1000  # of the bar
REPORT = "report.html"  # in the folder of the run


def add_train(app: "Typer") -> None:
    """Add the command."""
    import typer

    from foresolve.projects.toml import NAME

    @app.command()
    def train(
        settings: Annotated[Path, typer.Argument(help="The settings, or their folder.", metavar="FILE")] = Path(NAME),
        out: Annotated[Path | None, typer.Option(help="Folder of the run.", show_default="run, beside FILE")] = None,
        resume: Annotated[bool, typer.Option("--resume", help="Continue a run that was stopped.")] = False,
        budget: Annotated[
            str | None,
            typer.Option(help='Total time, such as "10 min" or 600 (seconds).', show_default="that of the settings"),
        ] = None,
        keep: Annotated[
            list[str] | None, typer.Option(help="A method whose policy is kept too; or all.", metavar="METHOD")
        ] = None,
        as_json: Annotated[bool, json_option()] = False,
    ) -> None:
        """Train, compare, say whether it pays, and keep the policy.

        Test data is used once. Finished trials are kept: --resume continues after an interruption.
        """
        from foresolve.projects.project import Project

        try:
            limit = None if budget is None else seconds(float(budget) if _is_number(budget) else budget)
        except ValueError as error:
            message = f'{budget!r} is no time such as "10 min" or 600'
            raise typer.BadParameter(message, param_hint="'--budget'") from error
        project = Project.load(settings)
        folder = project.settings.path.parent / "run" if out is None else out
        try:
            with _telling() as told:
                run = project.study(folder, resume=resume, budget=limit, keep=keep or (), progress=told)
        except KeyboardInterrupt:  # also before the first trial, when data are read and methods are timed
            again = _again(settings, folder, budget, keep or ())
            if folder.exists() and any(folder.iterdir()):
                complain(f"stopped. Finished trials are kept in {folder}; continue with: {again} --resume")
            else:
                complain(f"stopped before anything was trained; begin again with: {again}")
            raise typer.Exit(STOPPED) from None
        except InvalidInputError as error:
            raise usage(error, folder="'--out'", keep="'--keep'") from error
        from foresolve.report.pages.studies import run_page

        _show(run, as_json, run_page(run).save(run.folder / REPORT))


def _again(settings: Path, folder: Path, budget: str | None, keep: Iterable[str]) -> str:
    """The command as it was given."""
    options = [("--out", folder), *([("--budget", budget)] if budget else ()), *(("--keep", name) for name in keep)]
    return " ".join(["foresolve train", quoted(settings), *(f"{name} {quoted(value)}" for name, value in options)])


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


@contextmanager
def _telling() -> Iterator[Any]:
    """On a terminal a bar with the time left; elsewhere a line on stderr for each thing that is trained."""
    if sys.stderr.isatty():
        with reporting(None, "training", patience=0.0) as report:
            yield lambda told: report(math.floor(STEPS * told.share), STEPS, told.label)
        return
    last = ""

    def line(told: Any) -> None:
        nonlocal last
        if told.label == last:
            return
        last = told.label
        left = "" if told.seconds_left is None else f", about {duration(told.seconds_left)} left"
        count = f"{told.done} of {told.total} trials done{left}; " if told.total else ""
        print(f"{count}{told.label}", file=sys.stderr)

    yield line


def _show(run: "Run", as_json: bool, page: Path) -> None:
    study = run.study()
    if as_json:
        print_json({"run": run.folder, "report": page, "policy": run.method, "note": run.note, **study})
        return
    from foresolve.projects.tables import cautions, study_table

    out = console()
    print_table(study_table(run))
    for note in cautions(run):
        print_text(f"- {note}")
    print_text(study["verdict"]["sentence"], "bold")
    out.print(f"The policy is that of {run.method}. It is kept in {run.folder}", markup=False)
    out.print(f"Report: {page}", markup=False)
    print_next(f"foresolve decide {quoted(run.folder)} --data NEW.csv --out decisions.csv")

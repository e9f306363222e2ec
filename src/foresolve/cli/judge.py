"""`foresolve evaluate` and `monitor`: what decisions turned out to be worth."""
# No `from __future__ import annotations`: typer reads the annotations of functions that are defined inside another.

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from foresolve._base.table import Table
from foresolve.cli.options import existing, json_option, method_option, opened, usage
from foresolve.cli.output import console, print_json, print_next, print_table, print_text, quoted
from foresolve.errors import InvalidInputError

if TYPE_CHECKING:
    from typer import Typer

    from foresolve.learning.report import Report


class Missing(StrEnum):
    """Instances whose true parameters are not complete."""

    REFUSE = "refuse"
    DROP = "drop"


def _missing_option() -> Any:
    import typer

    return typer.Option(help="Instances without their whole truth.", show_default="drop, unless training refused them")


def add_evaluate(app: "Typer") -> None:
    """Add the command."""
    import typer

    @app.command()
    def evaluate(
        run: Annotated[Path, typer.Argument(help="Folder of a run.", metavar="RUN")],
        data: Annotated[Path, existing("Features, as in training.")],
        actuals: Annotated[
            Path | None,
            existing("True parameters, as in training.", show_default="in the file of --data"),
        ] = None,
        missing: Annotated[Missing | None, _missing_option()] = None,
        method: Annotated[str | None, method_option()] = None,
        as_json: Annotated[bool, json_option()] = False,
    ) -> None:
        """Score a policy on instances whose true parameters are known."""
        kept = opened(run)
        try:
            report = kept.evaluate(data, actuals, method=method, missing=missing)
        except InvalidInputError as error:
            raise usage(error, method="'--method'") from error
        units = kept.settings.values.data.units
        if as_json:
            print_json(_numbers(report, units))
            return
        print_table(report._table())
        if units:
            console().print(f"values and regret in {units}", markup=False)


def add_monitor(app: "Typer") -> None:
    """Add the command."""
    import typer

    @app.command()
    def monitor(
        run: Annotated[Path, typer.Argument(help="Folder of a run.", metavar="RUN")],
        data: Annotated[Path, existing("Features of what was decided.")],
        actuals: Annotated[Path, existing("What turned out to be true.")],
        missing: Annotated[Missing | None, _missing_option()] = None,
        method: Annotated[str | None, method_option()] = None,
        as_json: Annotated[bool, json_option()] = False,
    ) -> None:
        """Report the realized regret, drift, and whether to train again."""
        try:
            result = opened(run).monitor(data, actuals, method=method, missing=missing)
        except InvalidInputError as error:
            raise usage(error, method="'--method'") from error
        if as_json:
            print_json(result.to_dict())
            return
        table = result._table()
        print_table(Table(table.headers, table.rows))  # its title is the sentence that follows
        print_text(result.headline, "bold")
        if result.retrain:
            print_next(f"foresolve train {quoted('foresolve.toml')} --out NEW_RUN")


def _numbers(report: "Report", units: str) -> dict[str, Any]:
    names = ("value", "optimum", "regret", "normalized_regret", "relative_regret", "feasible")
    return {"instances": len(report), "units": units, **{name: getattr(report, name) for name in names},
            "intervals": {name: list(ends) for name, ends in report.intervals.items()}}  # fmt: skip

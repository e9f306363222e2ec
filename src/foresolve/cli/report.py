"""`foresolve report` and `compare`: what runs found."""
# No `from __future__ import annotations`: typer reads the annotations of functions that are defined inside another.

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from foresolve.cli.options import json_option, opened
from foresolve.cli.output import print_json, print_table, print_text
from foresolve.cli.program import complain

if TYPE_CHECKING:
    from typer import Typer


def add_report(app: "Typer") -> None:
    """Add the command."""
    import typer

    @app.command()
    def report(
        runs: Annotated[list[Path], typer.Argument(help="Folders of runs.", metavar="RUN")],
        as_json: Annotated[bool, json_option()] = False,
        as_csv: Annotated[bool, typer.Option("--csv", help="One CSV table on stdout, in full precision.")] = False,
        as_markdown: Annotated[bool, typer.Option("--markdown", help="Markdown on stdout.")] = False,
        html: Annotated[
            Path | None, typer.Option(dir_okay=False, help="Write a page about one run.", metavar="FILE")
        ] = None,
    ) -> None:
        """Print results of runs: every method on test data, and the verdict last."""
        from foresolve.projects.tables import cautions, records, records_table, study_table

        if as_json + as_csv + as_markdown > 1:
            raise typer.BadParameter("one of --json, --csv and --markdown at a time")
        if html is not None and len(runs) > 1:
            raise typer.BadParameter("a page is about one run", param_hint="'--html'")
        kept = [opened(folder) for folder in runs]
        if html is not None:
            from foresolve.report.pages.studies import run_page

            complain(f"the page is {run_page(kept[0]).save(html)}")
        if as_json:
            print_json([{"run": run.folder, "policy": run.method, "verdict": run.verdict(),
                         "cautions": cautions(run), "methods": records(run)} for run in kept])  # fmt: skip
            return
        if as_csv:
            print(records_table(kept).csv(), end="")
            return
        for run in kept:
            sentence, table, notes = run.verdict()["sentence"], study_table(run), cautions(run)
            if as_markdown:
                noted = "".join(f"- {note}\n" for note in notes) + "\n" * bool(notes)
                print(f"## {run.folder}\n\n{sentence}\n\n{table.title}\n\n{table.markdown()}\n\n{noted}", end="")
            else:
                print_table(table)
                for note in notes:
                    print_text(f"- {note}")
                print_text(f"{sentence} The policy is that of {run.method}.")


def add_compare(app: "Typer") -> None:
    """Add the command."""
    import typer

    @app.command()
    def compare(
        runs: Annotated[list[Path], typer.Argument(help="Folders of runs, the reference first.", metavar="RUN")],
        as_json: Annotated[bool, json_option()] = False,
    ) -> None:
        """Compare runs on the test instances that they have in common, paired by key."""
        from foresolve.projects.scores import compare_scores

        if len(runs) < 2 or len({str(folder) for folder in runs}) < len(runs):
            raise typer.BadParameter("two different runs or more are compared", param_hint="RUN")
        result = compare_scores({str(folder): opened(folder).scores() for folder in runs})
        if as_json:
            print_json(result.to_dict())
            return
        print_table(result._table())
        for name, count in result.left_out.items():
            if count:
                print_text(f"- {count} test instances of {name}, which others lack, are left out")

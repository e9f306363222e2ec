"""`foresolve doctor`: is all well on this machine?"""
# No `from __future__ import annotations`: typer reads the annotations of functions that are defined inside another.

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from foresolve.cli.output import console, print_json, print_table
from foresolve.cli.program import FAILED, complain

if TYPE_CHECKING:
    from typer import Typer

    from foresolve.testing.machine import MachineReport


def add_doctor(app: "Typer") -> None:
    """Add the command."""
    import typer

    @app.command()
    def doctor(
        as_json: Annotated[bool, typer.Option("--json", help="One JSON document instead of tables.")] = False,
    ) -> None:
        """Print versions, solvers and devices, and test gradients here.

        It takes less than a minute. The exit status is 1 if something is wrong.
        """
        from foresolve.testing.machine import check_machine

        report = check_machine()
        if as_json:
            print_json(_document(report))
        else:
            _show(report)
        if not report:
            complain(f"{len(report.failures)} of {len(report.findings)} tests failed on this machine")
            raise typer.Exit(FAILED)


def _show(report: "MachineReport") -> None:
    from foresolve._base.table import Table

    out = console()
    rows = [(name, version or f"not installed: {_command(name)}") for name, version in report.versions.items()]
    print_table(Table(("package", "version"), rows))
    cuda = report.devices["cuda"]
    out.print(f"GPU: {cuda}; torch works with {report.devices['threads']} threads", markup=False)
    print_table(report._table())
    for finding in report.failures:
        out.print(f"failed, {finding.promise}: {finding.detail}", markup=False)
        if finding.remedy:
            out.print(f"  What to do: {finding.remedy}", markup=False)
    out.print(f"The tests took {report.seconds:.1f} s", markup=False)


def _command(package: str) -> str:
    from foresolve.testing.machine import OPTIONAL

    return f'pip install "foresolve[{OPTIONAL[package]}]"' if package in OPTIONAL else f"pip install {package}"


def _document(report: "MachineReport") -> dict[str, Any]:
    keep = ("promise", "verdict", "measured", "tolerance", "detail")
    findings = [{name: value for name, value in asdict(finding).items() if name in keep} for finding in report.findings]
    return {"machine": report.subject, "ok": bool(report), "versions": report.versions, "devices": report.devices,
            "tests": findings, "seconds": round(report.seconds, 3)}  # fmt: skip

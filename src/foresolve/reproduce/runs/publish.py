"""From finished runs to what people look at: tables, figures, one page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from foresolve.errors import MissingExtraError
from foresolve.report import figures, tables
from foresolve.report.pages.reproduction import write_report
from foresolve.report.records import DomainInfo
from foresolve.report.view import RunView
from foresolve.reproduce.runs.folder import Run


def view(run: Run, info: DomainInfo) -> RunView:
    """A run folder as tables, figures and pages see it."""
    worked = next((session for session in run.sessions if session["jobs"]), run.environment)
    versions = {name: worked[name] for name in run.environment if name in worked}
    return RunView(run.config, versions, run.records, run.pictures(), info, run.seconds, sessions=run.sessions)


def publish(views: Sequence[RunView], folders: Sequence[Path], out: Path) -> Path:
    """Write `tables/` and `report.html` over all runs to `out`, and each run's `figures/` to its folder.

    Figures need the extra "plot"; without it there are none, and the page says so.
    """
    tables.write_tables(views, out / "tables")
    for seen, folder in zip(views, folders):
        try:
            figures.write_figures(seen, folder / "figures")
        except MissingExtraError:
            break
    return write_report(views, out / "report.html")

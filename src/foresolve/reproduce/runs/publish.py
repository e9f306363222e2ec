"""From finished runs to what people look at: tables, figures, one page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from foresolve.errors import MissingExtraError
from foresolve.report import figures, page, tables
from foresolve.report.records import DomainInfo
from foresolve.report.view import RunView
from foresolve.reproduce.runs.folder import Run

VERSIONS = ("foresolve", "torch", "numpy", "scipy", "python", "platform")


def view(run: Run, info: DomainInfo) -> RunView:
    """A run folder as tables, figures and pages see it."""
    versions = dict(run.environment)
    if run.sessions:
        first = run.sessions[0]
        versions |= {name: str(first[name]) for name in ("engine", "workers", "threads") if name in first}
    strange = {
        f"{name} {session[name]}"
        for session in run.sessions
        for name in VERSIONS
        if session[name] != run.environment[name]
    }
    if strange:
        versions["gone on with"] = ", ".join(sorted(strange))
    return RunView(run.config, versions, run.records, run.pictures(), info, run.seconds)


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
    return page.write_report(views, out / "report.html")

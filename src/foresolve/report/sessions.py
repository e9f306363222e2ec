"""When a run was worked on, on which machine, with which versions, and whether the code was the same all along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foresolve._base.progress import duration
from foresolve._base.table import Cell, Table
from foresolve._base.text import listed
from foresolve.report.formats import moment
from foresolve.report.view import RunView

PACKAGES = ("foresolve", "torch", "numpy", "scipy", "python")
HEADERS = ("run", "date", "machine", "versions", "code", "engine", "jobs", "time")


def session_table(runs: Sequence[RunView]) -> Table:
    """A row for each session of each run."""
    return Table(HEADERS, [(run.name, *_row(session)) for run in runs for session in run.sessions])


def one_code(runs: Sequence[RunView]) -> str:
    """Whether all records come from one version of the code, in a sentence; empty where there are no sessions."""
    codes = [str(session.get("code") or "") for run in runs for session in run.sessions if session.get("jobs")]
    known, silent = sorted(set(filter(None, codes))), codes.count("")
    if not codes:
        return ""
    if not known:
        return "No session noted its version of the code, so the records may come from several."
    if silent:
        return f"The records come from code {listed(known)}, and from {_sessions(silent)} that did not note theirs."
    if len(known) == 1:
        return f"All records come from one version of the code, {known[0]}."
    return f"The records come from {len(known)} versions of the code: {listed(known)}."


def _sessions(count: int) -> str:
    return "1 session" if count == 1 else f"{count} sessions"


def _row(session: Mapping[str, Any]) -> tuple[Any, ...]:
    cpus = f", {session['cpus']} cores" if "cpus" in session else ""
    crew = f" x {session['workers']}" if "workers" in session else ""
    device = f", {session['device']}" if "device" in session else ""
    return (
        Cell(moment(session.get("date")), format="{:%Y-%m-%d %H:%M:%S}".format),
        f"{session.get('platform', '')}{cpus}",
        ", ".join(f"{name} {session[name]}" for name in PACKAGES if name in session),
        str(session.get("code") or "not noted"),
        f"{session.get('engine', '')}{crew}{device}",
        session.get("jobs"),
        Cell(float(session.get("seconds", 0.0)), format=duration),
    )

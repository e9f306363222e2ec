"""Results of runs, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foresolve._base import reading
from foresolve._base.table import Table

if TYPE_CHECKING:
    from foresolve.projects.run import Run


def study_table(run: Run) -> Table:
    """Every method of a run on test data, the best first and the reference apart; the policy's method is bold."""
    with reading.understood(run.folder / "study.json"):
        return run.comparison().scores(first=run.folder.name, units=run.study()["units"], bold=run.method)


def cautions(run: Run) -> list[str]:
    """Notes for the reader of a run's table: methods that failed, settings that were cut, remarks on its policy."""
    study = run.study()
    with reading.understood(run.folder / "study.json"):
        failed = [f"{name} failed: {why}" for name, why in study.get("failures", {}).items()]
        return [note for note in (*failed, *study.get("warnings", ()), run.note) if note]


def records(run: Run) -> list[dict[str, Any]]:
    """The same numbers, in full precision, a record for each method."""
    return [
        {"run": str(run.folder), "chosen": row.name == run.method, **row.to_dict()} for row in run.comparison().rows
    ]


def records_table(runs: list[Run]) -> Table:
    """The records of runs, for a CSV file."""
    headers = ("run", "method", "family", "chosen", "value", "regret", "gained", "low", "high", "p_value")
    rows = []
    for run in runs:
        for record in records(run):
            low, high = record["interval"] or (None, None)
            rows.append((
                record["run"], record["name"], record["method"]["family"], record["chosen"], record["value"],
                record["regret"], record["gained"], low, high, record["p_value"],
            ))  # fmt: skip
    return Table(headers, rows)

"""Results of runs, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foresolve._base import reading
from foresolve._base.numbers import signed, significant
from foresolve._base.table import Cell, Table

if TYPE_CHECKING:
    from foresolve.projects.run import Run


def study_table(run: Run) -> Table:
    """Every method of a run on test data, the least regret first, against the best two-stage model, which stands apart;
    that of the policy is bold.
    """
    study = run.study()
    with reading.understood(run.folder / "study.json"):
        comparison, units = study["comparison"], study["units"]
        headers = (
            run.folder.name, f"value ({units})" if units else "value", "regret", "difference",
            f"{comparison['confidence']:.0%} interval", "p",
        )  # fmt: skip
        reference = comparison["reference"]
        ordered = sorted(comparison["rows"], key=lambda row: (row["name"] == reference, row["regret"]))
        rows = [_cells(row, reference, run.method) for row in ordered]
        counted = f" in {comparison['blocks']}" if comparison["blocks"] else ""
        title = f"{comparison['instances']} test instances{counted}; difference: regret less that of {reference}"
        return Table(headers, rows, title, apart=1)


def cautions(run: Run) -> list[str]:
    """What to mind when reading the table of a run: methods that failed, what was cut, remarks on its policy."""
    study = run.study()
    with reading.understood(run.folder / "study.json"):
        failed = [f"{name} failed: {why}" for name, why in study.get("failures", {}).items()]
        return [note for note in (*failed, *study.get("warnings", ()), run.note) if note]


def _cells(row: dict[str, Any], reference: str, chosen: str) -> tuple[Cell | str, ...]:
    interval = row["interval"]
    ends = "" if interval is None else " to ".join("..." if end is None else signed(end) for end in interval)
    p = row["p_value"] if row["holm"] is None else row["holm"]
    return (
        Cell(row["name"], bold=row["name"] == chosen), significant(row["value"]), significant(row["regret"]),
        "" if row["name"] == reference else signed(row["difference"]), ends, "" if p is None else f"{p:.2g}",
    )  # fmt: skip


def records(run: Run) -> list[dict[str, Any]]:
    """The same numbers, in full precision, a record for each method."""
    study = run.study()
    names = ("name", "role", "value", "regret", "difference", "interval", "p_value", "holm")
    with reading.understood(run.folder / "study.json"):
        return [
            {"run": str(run.folder), "chosen": row["name"] == run.method, **{name: row[name] for name in names}}
            for row in study["comparison"]["rows"]
        ]


def records_table(runs: list[Run]) -> Table:
    """The records of runs, for a CSV file."""
    headers = ("run", "method", "role", "chosen", "value", "regret", "difference", "low", "high", "p_value", "holm")
    rows = []
    for run in runs:
        for record in records(run):
            low, high = record["interval"] or (None, None)
            rows.append((
                record["run"], record["name"], record["role"], record["chosen"], record["value"], record["regret"],
                record["difference"], low, high, record["p_value"], record["holm"],
            ))  # fmt: skip
    return Table(headers, rows)

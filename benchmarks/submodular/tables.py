"""The measurements as rows and as Markdown. Standard library only."""

from __future__ import annotations

from typing import Any

from benchmarks._harness.tables import Row, as_markdown, error, failure, megabytes, ratio, seconds

LAYER = (
    "contender", "forward", "backward", "together", "forward ratio", "backward ratio", "ratio", "peak memory",
    "residual", "x error", "gradient error", "note",
)  # fmt: skip
GREEDY = ("case", "contender", "time", "ratio", "without compiling", "peak memory", "value", "note")


def note(record: dict[str, Any]) -> str:
    if record["status"] != "ok":
        return failure(record)
    if record.get("instances", record.get("batch")) != record.get("batch"):
        return f"timed on {record['instances']} instances"
    return ""


def layer_row(record: dict[str, Any], records: list[dict[str, Any]]) -> Row:
    theirs = record.get("each", {})
    ours = next((other.get("each", {}) for other in records if other["peer"] == "foresolve"), {})
    keys = ("forward", "backward", "total")
    return (
        record["peer"],
        *(seconds(theirs.get(key)) for key in keys),
        *(ratio(theirs.get(key), ours.get(key)) for key in keys),
        megabytes(record.get("peak_bytes")),
        *(error(record.get(key)) for key in ("residual", "x_error", "gradient_error")),
        note(record),
    )


def greedy_row(record: dict[str, Any], records: list[dict[str, Any]]) -> Row:
    same = [other for other in records if other["case"] == record["case"] and other["peer"] == "foresolve"]
    ours = same[0].get("seconds") if same else None
    return (
        record["case"],
        record["peer"],
        seconds(record.get("seconds")),
        ratio(record.get("seconds"), ours),
        seconds(record.get("seconds_without_compiling")),
        megabytes(record.get("peak_bytes")),
        f"{record['value']:.4f}" if "value" in record else "-",
        note(record),
    )


def layer_rows(records: list[dict[str, Any]]) -> list[Row]:
    return [LAYER, *(layer_row(record, records) for record in records)]


def greedy_rows(records: list[dict[str, Any]]) -> list[Row]:
    return [GREEDY, *(greedy_row(record, records) for record in records)]


def by_batch(report: dict[str, Any]) -> dict[int, list[Row]]:
    batches = dict.fromkeys(record["batch"] for record in report["layer"])
    return {b: layer_rows([record for record in report["layer"] if record["batch"] == b]) for b in batches}


def all_rows(report: dict[str, Any]) -> list[Row]:
    """Of the layers, with the batch in front."""
    return [("batch", *LAYER), *((str(batch), *row) for batch, rows in by_batch(report).items() for row in rows[1:])]


def page(report: dict[str, Any]) -> str:
    machine, reference = report["machine"], report["reference"]
    lines = [
        "# Submodular maximization: foresolve and others",
        "",
        f"{report['date']}, {machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, "
        f"{report['threads'] or 'the default number of'} threads. Budget allocation, "
        f"{report['items']} x {report['targets']}, k = {report['k']}, gamma {report['gamma']:g}, float64. Times are "
        "medians, per instance, cold; ratios are to foresolve's; peak memory is that of the whole call.",
        "",
    ]
    for batch, rows in by_batch(report).items():
        lines += [f"## Forward and backward, batch {batch}", "", *as_markdown(rows)]
    if report["greedy"]:
        lines += ["## Greedy, per instance", "", *as_markdown(greedy_rows(report["greedy"]))]
    lines += ["## Settings", "", *as_markdown([("contender", "settings"), *report["settings"].items()], "ll")]
    low, mean, high = reference["free_coordinates"]
    lines += [
        f"The residual is max_i of abs(x - Proj(grad F(x) / 2 gamma)); the contenders without one maximize F "
        f"alone, with x <= 0.95. The reference ({reference['instances']} instances, residual "
        f"{reference['residual']:.0e}, {low} to {high} free coordinates, {mean:.1f} on average) agrees with central "
        f"differences of itself to {reference['differences_median']:.0e} (median, relative; worst "
        f"{reference['differences_worst']:.0e}). The two NumPy recipes agree with each other to "
        f"{error(report.get('numpy_agreement'))}.",
    ]
    return "\n".join(lines) + "\n"

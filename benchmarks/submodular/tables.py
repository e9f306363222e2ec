"""The measurements as text and as Markdown. Standard library only."""

from __future__ import annotations

from typing import Any

LAYER = (
    "contender",
    "forward",
    "backward",
    "together",
    "forward ratio",
    "backward ratio",
    "ratio",
    "peak memory",
    "residual",
    "x error",
    "gradient error",
    "note",
)
GREEDY = ("case", "contender", "time", "ratio", "without compiling", "peak memory", "value", "note")


def seconds(value: float | None) -> str:
    if value is None:
        return "-"
    if value < 1e-3:
        return f"{value * 1e6:.0f} us"
    return f"{value * 1e3:.3g} ms" if value < 1.0 else f"{value:.3g} s"


def megabytes(value: int | None) -> str:
    return "-" if value is None else f"{value / 1e6:.0f} MB"


def error(value: float | None) -> str:
    return "-" if value is None else f"{value:.0e}"


def ratio(mine: float | None, ours: float | None) -> str:
    if not mine or not ours:
        return "-"
    return f"{mine / ours:,.0f}x" if mine >= 10 * ours else f"{mine / ours:.2g}x"


def note(record: dict[str, Any]) -> str:
    if record["status"] != "ok":
        return f"{record['status']}: {' '.join(str(record.get('error', '')).split())[:110]}"
    if record.get("instances", record.get("batch")) != record.get("batch"):
        return f"timed on {record['instances']} instances"
    return ""


def layer_row(record: dict[str, Any], records: list[dict[str, Any]]) -> tuple[str, ...]:
    mine = record.get("each", {})
    ours = next((other.get("each", {}) for other in records if other["peer"] == "foresolve"), {})
    keys = ("forward", "backward", "total")
    return (
        record["peer"],
        *(seconds(mine.get(key)) for key in keys),
        *(ratio(mine.get(key), ours.get(key)) for key in keys),
        megabytes(record.get("peak_bytes")),
        *(error(record.get(key)) for key in ("residual", "x_error", "gradient_error")),
        note(record),
    )


def greedy_row(record: dict[str, Any], records: list[dict[str, Any]]) -> tuple[str, ...]:
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


def as_text(title: str, rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(line[column]) for line in rows) for column in range(len(rows[0]) - 1)]
    lines = [
        "  ".join(cell.rjust(width) if at else cell.ljust(width) for at, (cell, width) in enumerate(zip(line, widths)))
        + f"  {line[-1]}"
        for line in rows
    ]
    return "\n".join([title.ljust(70), *(line.rstrip() for line in lines), ""])


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    head, *body = rows
    lines = [f"| {' | '.join(head)} |", "|---" + "|---:" * (len(head) - 2) + "|---|"]
    return [*lines, *(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in body), ""]


def layer_rows(records: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    return [LAYER, *(layer_row(record, records) for record in records)]


def greedy_rows(records: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    return [GREEDY, *(greedy_row(record, records) for record in records)]


def as_markdown(report: dict[str, Any]) -> str:
    machine, reference = report["machine"], report["reference"]
    lines = [
        "# Submodular maximisation: foresolve and others",
        "",
        f"{report['date']}, {machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, "
        f"{report['threads'] or 'the default number of'} threads. Budget allocation, "
        f"{report['items']} x {report['targets']}, k = {report['k']}, gamma {report['gamma']:g}, float64. Times are "
        "medians, per instance, cold; ratios are to foresolve's; peak memory is that of the whole call.",
        "",
    ]
    for batch in dict.fromkeys(record["batch"] for record in report["layer"]):
        records = [record for record in report["layer"] if record["batch"] == batch]
        lines += [f"## Forward and backward, batch {batch}", "", *_table(layer_rows(records))]
    if report["greedy"]:
        lines += ["## Greedy, per instance", "", *_table(greedy_rows(report["greedy"]))]
    lines += ["## Settings", "", "| contender | settings |", "|---|---|"]
    lines += [f"| {peer} | {settings} |" for peer, settings in report["settings"].items()]
    low, mean, high = reference["free_coordinates"]
    lines += [
        "",
        f"The residual is max_i of abs(x - Proj(grad F(x) / 2 gamma)); the contenders without one maximise F "
        f"alone, with x <= 0.95. The reference ({reference['instances']} instances, residual "
        f"{reference['residual']:.0e}, {low} to {high} free coordinates, {mean:.1f} on average) agrees with central "
        f"differences of itself to {reference['differences_median']:.0e} (median, relative; worst "
        f"{reference['differences_worst']:.0e}). The two NumPy recipes agree with each other to "
        f"{error(report.get('numpy_agreement'))}.",
    ]
    return "\n".join(lines) + "\n"

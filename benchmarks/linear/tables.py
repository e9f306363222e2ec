"""The measurements as text and as Markdown. Standard library only."""

from __future__ import annotations

from typing import Any

HEADER = (
    "peer",
    "forward",
    "backward",
    "fresh total",
    "ratio",
    "cold total",
    "peak memory",
    "x error",
    "gradient error: median",
    "worst",
    "note",
)


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


def total(record: dict[str, Any]) -> float | None:
    """Forward plus backward on fresh theta, or cold where time allowed for no second call."""
    times = record.get("fresh") or record.get("cold")
    return times["total"] if times else None


def ratio(record: dict[str, Any], records: list[dict[str, Any]]) -> str:
    ours = next((total(other) for other in records if other["peer"] == "foresolve"), None)
    mine = total(record)
    if ours is None or mine is None:
        return "-"
    value = mine / ours
    return f"{value:,.0f}x" if value >= 10 else f"{value:.2g}x"


def note(record: dict[str, Any]) -> str:
    parts = []
    if record["status"] != "ok":
        parts.append(f"{record['status']}: {' '.join(str(record.get('error', '')).split())[:90]}")
    elif "fresh" not in record:
        parts.append("time for one call only: the total is the cold one")
    if record.get("gradients_at_kinks"):
        parts.append(f"{record['gradients_at_kinks']} instances at kinks left out")
    return "; ".join(parts)


def row(record: dict[str, Any], records: list[dict[str, Any]]) -> tuple[str, ...]:
    fresh, cold = record.get("fresh", {}), record.get("cold", {})
    return (
        record["peer"],
        seconds(fresh.get("forward")),
        seconds(fresh.get("backward")),
        seconds(fresh.get("total")),
        ratio(record, records),
        seconds(cold.get("total")),
        megabytes(record.get("peak_bytes")),
        error(record.get("x_error")),
        error(record.get("gradient_error_median")),
        error(record.get("gradient_error_worst")),
        note(record),
    )


def as_text(records: list[dict[str, Any]]) -> str:
    rows = [HEADER, *(row(record, records) for record in records)]
    widths = [max(len(line[column]) for line in rows) for column in range(len(HEADER) - 1)]
    title = f"{records[0]['case']}, batch {records[0]['batch']}"
    lines = [
        line[0].ljust(widths[0])
        + "".join(f"  {cell.rjust(width)}" for cell, width in zip(line[1:-1], widths[1:], strict=True))
        + f"  {line[-1]}"
        for line in rows
    ]
    return "\n".join([title.ljust(70), *(line.rstrip() for line in lines), ""])


def as_markdown(report: dict[str, Any]) -> str:
    machine = report["machine"]
    lines = [
        "# Linear programs: foresolve and its peers",
        "",
        f"{report['date']}, {machine['cpu']}, {machine['cores']} cores, Python {machine['python']}. "
        "What the columns mean: `benchmarks/README.md`.",
        "",
    ]
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for record in report["records"]:
        groups.setdefault((record["case"], record["batch"]), []).append(record)
    for (case, batch), records in groups.items():
        lines += [f"## {case}, batch {batch}", "", f"| {' | '.join(HEADER)} |"]
        lines += ["|---" + "|---:" * (len(HEADER) - 2) + "|---|"]
        lines += [f"| {' | '.join(cell.replace('|', '/') for cell in row(record, records))} |" for record in records]
        lines += [""]
    lines += ["## Settings and versions", "", "| peer | settings | versions |", "|---|---|---|"]
    seen = {record["peer"]: record for record in report["records"]}
    for peer, record in seen.items():
        versions = ", ".join(f"{name} {version}" for name, version in record.get("versions", {}).items())
        lines.append(f"| {peer} | {record['settings']} | {versions} |")
    lines += [
        "",
        "## References",
        "",
        "| case | instances | polished | certified distance | Clarabel - PIQP |",
    ]
    lines += ["|---|---:|---:|---:|---:|"]
    for reference in report["references"]:
        distances = [error(reference[key]) for key in ("certified_distance", "clarabel_vs_piqp")]
        counts = [str(reference[key]) for key in ("instances", "polished")]
        lines.append(f"| {' | '.join([reference['case'], *counts, *distances])} |")
    return "\n".join(lines) + "\n"

"""The measurements as rows and as Markdown. Standard library only."""

from __future__ import annotations

from typing import Any

from benchmarks._harness.tables import Row, as_markdown, error, failure, megabytes, ratio, seconds

HEADER = (
    "peer", "forward", "backward", "fresh total", "ratio", "cold total", "peak memory", "x error",
    "gradient error: median", "worst", "note",
)  # fmt: skip

# What counts as accurate beside foresolve in the summary.
COMPARABLE_X = 1e-7
COMPARABLE_GRADIENT = 1e-5


def total(record: dict[str, Any]) -> float | None:
    """Forward plus backward on fresh theta, or cold where time allowed for no second call."""
    times = record.get("fresh") or record.get("cold")
    return times["total"] if times else None


def note(record: dict[str, Any]) -> str:
    parts = [failure(record, 90)]
    if record["status"] == "ok" and "fresh" not in record:
        parts.append("time for one call only: the total is the cold one")
    if record.get("gradients_at_kinks"):
        parts.append(f"{record['gradients_at_kinks']} instances at kinks left out")
    return "; ".join(filter(None, parts))


def row(record: dict[str, Any], ours: float | None) -> Row:
    fresh, cold = record.get("fresh", {}), record.get("cold", {})
    return (
        record["peer"],
        *(seconds(fresh.get(key)) for key in ("forward", "backward", "total")),
        ratio(total(record), ours),
        seconds(cold.get("total")),
        megabytes(record.get("peak_bytes")),
        *(error(record.get(key)) for key in ("x_error", "gradient_error_median", "gradient_error_worst")),
        note(record),
    )


def rows(records: list[dict[str, Any]]) -> list[Row]:
    """The table of one case; ratios are to foresolve's total."""
    ours = next((total(record) for record in records if record["peer"] == "foresolve"), None)
    return [HEADER, *(row(record, ours) for record in records)]


def groups(records: list[dict[str, Any]]) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """By case and batch."""
    together: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for record in records:
        together.setdefault((record["case"], record["batch"]), []).append(record)
    return together


def all_rows(records: list[dict[str, Any]]) -> list[Row]:
    body = [(case, str(batch), *line) for (case, batch), same in groups(records).items() for line in rows(same)[1:]]
    return [("case", "batch", *HEADER), *body]


def as_accurate(record: dict[str, Any]) -> bool:
    x, gradient = record.get("x_error"), record.get("gradient_error_median")
    return x is not None and gradient is not None and x <= COMPARABLE_X and gradient <= COMPARABLE_GRADIENT


def fastest(records: list[dict[str, Any]], ours: float | None) -> Row:
    """Name, time and ratio of the fastest peer among `records`."""
    done = [record for record in records if record["peer"] != "foresolve" and total(record)]
    if not done:
        return "-", "-", "-"
    best = min(done, key=lambda record: total(record) or 0.0)
    return best["peer"], seconds(total(best)), ratio(total(best), ours)


def summary(records: list[dict[str, Any]]) -> list[Row]:
    """One line for each case and batch: foresolve, the fastest peer, the fastest one that is as accurate."""
    header = ("case, batch", "foresolve", "x error", "fastest peer", "time", "ratio")
    lines: list[Row] = [(*header, "fastest as accurate", "time", "ratio")]
    for (case, batch), same in groups(records).items():
        mine = next((record for record in same if record["peer"] == "foresolve"), {})
        ours = total(mine)
        quickest = fastest(same, ours), fastest([record for record in same if as_accurate(record)], ours)
        lines.append((f"{case}, {batch}", seconds(ours), error(mine.get("x_error")), *quickest[0], *quickest[1]))
    return lines


def page(title: str, report: dict[str, Any]) -> str:
    machine = report["machine"]
    lines = [
        f"# {title}",
        "",
        f"{report['date']}, {machine['cpu']}, {machine['cores']} cores, Python {machine['python']}. "
        "What the columns mean: `benchmarks/README.md`.",
        "",
    ]
    accurate = f"x within {COMPARABLE_X:.0e}, gradient (median) within {COMPARABLE_GRADIENT:.0e}"
    lines += ["## Summary", "", f"Forward plus backward. As accurate: {accurate}.", ""]
    lines += as_markdown(summary(report["records"]), "lrrlrrlrr")
    for (case, batch), records in groups(report["records"]).items():
        lines += [f"## {case}, batch {batch}", "", *as_markdown(rows(records))]
    settings = [("peer", "settings", "versions")]
    for peer, record in {record["peer"]: record for record in report["records"]}.items():
        versions = ", ".join(f"{name} {version}" for name, version in record.get("versions", {}).items())
        settings.append((peer, record["settings"], versions))
    lines += ["## Settings and versions", "", *as_markdown(settings, "lll")]
    references: list[Row] = [("case", "instances", "polished", "certified distance", "Clarabel - PIQP")]
    for reference in report["references"]:
        distances = [error(reference[key]) for key in ("certified_distance", "clarabel_vs_piqp")]
        references.append((reference["case"], str(reference["instances"]), str(reference["polished"]), *distances))
    return "\n".join([*lines, "## References", "", *as_markdown(references, "lrrrr")])

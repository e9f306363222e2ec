"""Counts, in words and in the page."""

from __future__ import annotations

import platform
from collections import Counter
from pathlib import Path
from typing import Any

from foresolve._base.container import version
from tests.fuzz.kinds import KINDS

FINE = ("refused", "loaded", "unharmed")
BAD = ("raw", "hang", "memory", "died", "unsound", "no path", "many lines")
START, END = "<!-- figures of the last fuzzing -->", "<!-- end of the figures of fuzzing -->"


def counted(results: list[tuple[str, dict[str, Any]]], settings: dict[str, Any]) -> dict[str, Any]:
    """The record of a run: counts of verdicts by kind, and what went wrong."""
    counts: dict[str, Counter[str]] = {}
    for kind, result in results:
        counts.setdefault(kind, Counter())[result["verdict"]] += 1
    failures = [{"kind": kind, **result} for kind, result in results if result["verdict"] not in FINE]
    return {
        "settings": settings,
        "versions": {"foresolve": version(), "python": platform.python_version()},
        "counts": {kind: dict(counts[kind]) for kind in KINDS if kind in counts},
        "failures": sorted(failures, key=lambda failure: (failure["kind"], failure["seed"])),
    }


def table(record: dict[str, Any]) -> str:
    """A row for each kind, in Markdown."""
    names = (*FINE, *BAD)
    lines = [f"| kind | inputs | {' | '.join(names)} |", "|---|" + "---:|" * (len(names) + 1)]
    total: Counter[str] = Counter()
    for kind, counts in [*record["counts"].items(), ("all", total)]:
        cells = [f"{counts.get(name, 0):,}" if counts.get(name) else "" for name in names]
        lines.append(f"| {kind} | {sum(counts.values()):,} | {' | '.join(cells)} |")
        total.update(counts)
    return "\n".join(lines)


def listed(record: dict[str, Any]) -> str:
    """What went wrong, one line for each."""
    return "\n".join(
        f"{f['kind']} {f['seed']}: {f['verdict']}, {f['file']}, {f['how']}: {f['note']}" for f in record["failures"]
    )


def write_page(record: dict[str, Any], path: Path) -> None:
    """Put the table between its marks."""
    text = path.read_text(encoding="utf-8")
    head, rest = text.split(START)
    minutes, versions = record["settings"]["minutes"], record["versions"]
    total = sum(sum(counts.values()) for counts in record["counts"].values())
    told = (
        f"{total:,} inputs (seeds {record['settings']['first seed']} and on, {minutes:.1f} minutes): "
        f"{len(record['failures'])} failures. With foresolve {versions['foresolve']}, python {versions['python']}."
    )
    path.write_text(f"{head}{START}\n\n{told}\n\n{table(record)}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")

"""Counts by kind and part, as text, Markdown and JSON."""

from __future__ import annotations

import json
import platform
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.stress.kinds import KINDS
from tests.stress.outcomes import FAILURES, WARNED, Outcome
from tests.stress.runner import Result

OUTCOMES = tuple(str(outcome) for outcome in Outcome)
START, END = "<!-- figures of the last run -->", "<!-- end of the figures -->"


@dataclass
class Tally:
    """What a run counts; `failures` are the draws that must not be."""

    settings: dict[str, Any] = field(default_factory=dict)
    counts: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    instances: Counter[str] = field(default_factory=Counter)
    draws: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    far_off: list[dict[str, Any]] = field(default_factory=list)

    def add(self, result: Result) -> None:
        kind = KINDS[result.kind]
        self.draws[kind.name] += 1
        self.seconds[kind.name] += result.seconds
        self.instances[kind.name] += len({verdict.instance for verdict in result.verdicts})
        where = {"kind": kind.name, "seed": result.seed}
        if result.broken:
            self.failures.append(where | {"part": "harness", "outcome": "harness", "note": result.broken})
        for verdict in result.verdicts:
            self.counts[kind.name, verdict.part][str(verdict.outcome)] += 1
            if verdict.outcome in FAILURES or (kind.steady and verdict.outcome in WARNED):
                self.failures.append(where | verdict.record())
            elif verdict.outcome == Outcome.WARNED_OFF:
                self.far_off.append(where | verdict.record())

    def record(self) -> dict[str, Any]:
        """As JSON."""
        packages = ("foresolve", "torch", "numpy", "scipy", "highspy", "clarabel")
        return {
            "settings": self.settings,
            "versions": {name: version(name) for name in packages} | {"python": platform.python_version()},
            "instances": sum(self.instances.values()),
            "draws": sum(self.draws.values()),
            "kinds": {
                kind: {"draws": self.draws[kind], "instances": self.instances[kind],
                       "seconds": round(self.seconds[kind], 1),
                       "parts": {part: dict(counts) for (name, part), counts in self.counts.items() if name == kind}}
                for kind in KINDS if kind in self.draws
            },
            "failures": self.failures,
            "warned, far off": self.far_off,
        }  # fmt: skip


def rows(record: Mapping[str, Any]) -> list[list[str]]:
    """One line for each part over all kinds, then one for each kind and part; empty cells are zeros."""
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    lines = []
    for kind, entry in record["kinds"].items():
        for part, counts in entry["parts"].items():
            totals[part].update(counts)
            lines.append([kind, part, *_cells(counts)])
    head = [["all", part, *_cells(counts)] for part, counts in totals.items()]
    return [["kind", "checked", *OUTCOMES], *head, *lines]


def as_text(record: Mapping[str, Any]) -> str:
    table = rows(record)
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if i < 2 else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths))
        )
        for line in table
    ]
    return "\n".join([*lines, "", summary(record)])


def summary(record: Mapping[str, Any]) -> str:
    failures = record["failures"]
    seeds = f"seeds {record['settings'].get('first seed', 0)} and on"
    return (
        f"{record['instances']:,} instances in {record['draws']:,} draws ({seeds}, "
        f"{record['settings'].get('minutes', 0):.1f} minutes): {len(failures)} failures, "
        f"{len(record['warned, far off'])} warned and far off"
    )


def listed(record: Mapping[str, Any], most: int = 40) -> str:
    """The failures, a line for each draw, part and outcome, with what replays them."""
    draws: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for entry in record["failures"]:
        draws[entry["outcome"], entry["part"], entry["kind"], str(entry["seed"])].append(entry)
    lines = []
    for (outcome, part, kind, seed), entries in list(draws.items())[:most]:
        note = str(entries[0].get("note", "")).strip().replace("\n", "\n      ")
        lines.append(f"  {outcome:<16}{part:<10} --kind {kind!r} --replay {seed}")
        lines.append(f"      {len(entries)} instances; {entries[0].get('instance', 0)}: {note}")
    left = len(draws) - most
    return "\n".join([*lines, *([f"  and {left} more in the JSON file"] if left > 0 else [])])


def as_markdown(record: Mapping[str, Any]) -> str:
    """Two tables: all kinds by what was checked, and all checks by kind."""
    parts: dict[str, Counter[str]] = defaultdict(Counter)
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for kind, entry in record["kinds"].items():
        for part, counts in entry["parts"].items():
            parts[part].update(counts)
            kinds[kind].update(counts)
    sizes = {kind: entry["instances"] for kind, entry in record["kinds"].items()}
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    by_part = [[part, "", *_cells(counts)] for part, counts in parts.items()]
    by_kind = [[kind, f"{sizes[kind]:,}", *_cells(counts)] for kind, counts in kinds.items()]
    lines = [f"{summary(record)}. With {versions}.", ""]
    lines += _markdown(["checked, all kinds", "", *OUTCOMES], by_part)
    return "\n".join([*lines, "", *_markdown(["kind, all checks", "instances", *OUTCOMES], by_kind)])


def _cells(counts: Mapping[str, int]) -> list[str]:
    return [f"{counts[outcome]:,}" if counts.get(outcome) else "" for outcome in OUTCOMES]


def _markdown(head: list[str], body: list[list[str]]) -> list[str]:
    rule = "|---|" + "---:|" * (len(head) - 1)
    return ["| " + " | ".join(head) + " |", rule, *("| " + " | ".join(line) + " |" for line in body)]


def write_page(record: Mapping[str, Any], page: Path) -> None:
    """Put the figures between the two marks of a page."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{START}\n\n{as_markdown(record)}\n\n{END}{after}", encoding="utf-8")


def save(record: Mapping[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def chosen(names: Sequence[str]) -> list[str]:
    """Kinds by parts of their names; all of them where none is given."""
    return [kind for kind in KINDS if not names or any(name in kind for name in names)]

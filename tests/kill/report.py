"""The figures of a run, as a table and as JSON."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import torch

import foresolve
from foresolve._base.table import Table
from tests.kill.campaign import Outcome

BEGIN, END = "<!-- figures of the last kills -->", "<!-- end of the figures of kills -->"
HEADERS = ("killed", "folders", "kills", "of workers", "while writing", "seconds", "lost, other or litter")


def record(names: list[str], outcomes: list[Outcome], first_seed: int, seconds: float) -> dict[str, Any]:
    """Fit for JSON."""
    rows = []
    for name in names:
        own = [outcome for outcome in outcomes if outcome.victim == name]
        rows.append({
            "victim": name, "folders": len(own), "kills": sum(o.kills for o in own),
            "workers": sum(o.workers for o in own), "writing": sum(o.writing for o in own),
            "seconds": round(sum(o.seconds for o in own), 1), "seeds": [o.seed for o in own],
            "failures": sum(bool(o.failures) for o in own),
        })  # fmt: skip
    failures = [f"{o.victim}, seed {o.seed}: {'; '.join(o.failures)}" for o in outcomes if o.failures]
    versions = {"foresolve": foresolve.__version__, "torch": torch.__version__, "python": platform.python_version()}
    return {
        "rows": rows, "failures": failures, "first seed": first_seed, "minutes": round(seconds / 60, 1),
        "versions": versions,
    }  # fmt: skip


def save(document: dict[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def table(document: dict[str, Any]) -> Table:
    rows = [
        (row["victim"], str(row["folders"]), str(row["kills"]), str(row["workers"]), str(row["writing"]),
         f"{row['seconds']:.0f}", str(row["failures"]))
        for row in document["rows"]
    ]  # fmt: skip
    return Table(HEADERS, rows)


def summary(document: dict[str, Any]) -> str:
    kills = sum(row["kills"] + row["workers"] for row in document["rows"])
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    return (
        f"{kills} kills (seeds {document['first seed']} and on, {document['minutes']} minutes): "
        f"{len(document['failures'])} failures. With {versions}."
    )


def as_text(document: dict[str, Any]) -> str:
    return "\n".join([table(document).text(), "", summary(document), *document["failures"]])


def write_page(document: dict[str, Any], page: Path) -> None:
    """Replace the figures between the two marks of a page."""
    text = page.read_text(encoding="utf-8")
    before, after = text.index(BEGIN) + len(BEGIN), text.index(END)
    figures = f"\n\n{summary(document)}\n\n{table(document).markdown()}\n\n"
    page.write_text(text[:before] + figures + text[after:], encoding="utf-8")

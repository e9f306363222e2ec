"""Coverage of each floor: `python tools/floor_coverage.py coverage.json`, the file that `coverage json` writes."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path


def floor(path: str) -> str:
    """The first folder below the package; "top" for its own modules."""
    parts = path.replace("\\", "/").split("foresolve/")[-1].split("/")
    return parts[0] if len(parts) > 1 else "top"


def main(path: str) -> None:
    files = json.loads(Path(path).read_text(encoding="utf-8"))["files"]
    floors: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, entry in files.items():
        summary = entry["summary"]
        covered = summary["covered_lines"] + summary.get("covered_branches", 0)
        total = summary["num_statements"] + summary.get("num_branches", 0)
        for key in (floor(name), "all"):
            floors[key][0] += covered
            floors[key][1] += total
    print(f"{'floor':<12}{'lines and branches':>20}{'covered':>10}")
    for name in [*sorted(set(floors) - {"all"}), "all"]:
        covered, total = floors[name]
        print(f"{name:<12}{total:>20,}{covered / max(total, 1):>10.1%}")


if __name__ == "__main__":
    main(sys.argv[1])

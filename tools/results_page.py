"""Put the tables and figures of a finished run into docs/results.md: `python tools/results_page.py RUNS`.

`RUNS` is the folder that `foresolve reproduce all --protocol both --out RUNS` wrote. The page has a pair of comments
around each table, `<!-- table1 -->` and `<!-- /table1 -->`; what lies between them is replaced. Text is left alone.
"""

from __future__ import annotations

import argparse
import re
import shutil
import textwrap
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "results.md"
TABLES = ("reproduced", "claims", "table1", "table2", "differences")
FIGURES = ("values", "heat-maps", "out-weights")
WIDTH = 120


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, help="folder of the folders DOMAIN-PROTOCOL and all-both")
    parser.add_argument("--page", type=Path, default=PAGE)
    given = parser.parse_args()
    report, results = given.runs / "all-both", given.page.with_suffix("")
    results.mkdir(exist_ok=True)
    text = given.page.read_text(encoding="utf-8")
    for name in TABLES:
        text = filled(text, name, (report / "tables" / f"{name}.md").read_text(encoding="utf-8"))
        shutil.copyfile(report / "tables" / f"{name}.csv", results / f"{name}.csv")
    for folder in sorted(given.runs.glob("*-*/figures")):
        for name in FIGURES:
            if (folder / f"{name}.png").exists():
                shutil.copyfile(folder / f"{name}.png", results / f"{folder.parent.name}-{name}.png")
    given.page.write_text(text, encoding="utf-8")


def filled(page: str, name: str, table: str) -> str:
    """The page with a table between its comments; lines of prose are wrapped, those of tables and lists are not."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if len(pattern.findall(page)) != 1:
        raise SystemExit(f"the page must have one pair of comments <!-- {name} --> and <!-- /{name} -->")
    lines = [line if line.startswith("|") else textwrap.fill(line, WIDTH) for line in table.strip().splitlines()]
    content = "\n".join(lines)
    return pattern.sub(lambda match: f"{match[1]}\n{content}\n\n{match[2]}", page)


if __name__ == "__main__":
    main()

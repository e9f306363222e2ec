"""Put the settings of foresolve.toml into docs/shell.md, as a test demands: `python tools/settings_page.py`."""

from __future__ import annotations

import argparse
from pathlib import Path

from foresolve.projects.schema import tables

try:
    from tools.results_page import filled
except ModuleNotFoundError:  # a script sees its own folder
    from results_page import filled

PAGE = Path(__file__).parents[1] / "docs" / "shell.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", type=Path, default=PAGE)
    page = parser.parse_args().page
    page.write_text(page_with_settings(page.read_text(encoding="utf-8")), encoding="utf-8")


def page_with_settings(text: str) -> str:
    """The page with a table for each section."""
    return filled(text, "settings", "\n".join(lines()))


def lines() -> list[str]:
    """A heading and a table for each section."""
    told = []
    for section, words, rows in tables():
        told += [f"### `[{section}]`", "", words, "", "| key | what it says | value |", "|---|---|---|"]
        told += [f"| {key} | {says} | {kind} |" for key, kind, says in rows] + [""]
    return told[:-1]


if __name__ == "__main__":
    main()

"""Notebooks from tutorials: `python tools/notebooks.py FOLDER` writes one for each page of docs/tutorials.

Every `python` block becomes a cell of code, and all that lies between becomes text, a cell for each section. Blocks
that need another package (`python needs ray`) are code too; those that are not to be run (`python no-run`) stay text.
Links lead to the pages of the site.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

try:
    from tools.markdown_links import resolved, with_links
except ModuleNotFoundError:  # a script sees its own folder
    from markdown_links import resolved, with_links

ROOT = Path(__file__).parents[1]
TUTORIALS = ROOT / "docs" / "tutorials"
BLOCK = re.compile(r"^```python(?: needs \w+)? *\n(.*?)^```$\n?", re.MULTILINE | re.DOTALL)
PLAIN = re.compile(r"^```python *\n(.*?)^```$\n?", re.MULTILINE | re.DOTALL)  # what needs no more packages
SECTION = re.compile(r"^(?=## )", re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for page in tutorials():
        (folder / page.name).with_suffix(".ipynb").write_text(from_page(page), encoding="utf-8")


def tutorials() -> list[Path]:
    return sorted(page for page in TUTORIALS.glob("*.md") if page.name != "index.md")


def from_page(page: Path) -> str:
    here = page.relative_to(ROOT).as_posix()
    return notebook(with_links(page.read_text(encoding="utf-8"), lambda target: on_the_site(here, target)))


def on_the_site(page: str, target: str) -> str:
    """A link as it is from anywhere: to the site for pages, to the source for other files."""
    path, anchor = resolved(page, target)
    place = PurePosixPath(path)
    if place.parts[0] == "docs":
        inside = place.relative_to("docs")
        address = f"{urls()['Documentation']}/{inside.with_suffix('.html') if inside.suffix == '.md' else inside}"
    else:
        address = f"{urls()['Source']}/blob/main/{path}"
    return f"{address}#{anchor}" if anchor else address


def urls() -> dict[str, str]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]


def notebook(text: str) -> str:
    """A page as the JSON of a notebook, format 4.5; the same page gives the same bytes."""
    cells = [cell(kind, source, number) for number, (kind, source) in enumerate(parts(text))]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    document = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def parts(text: str) -> list[tuple[str, str]]:
    """Kinds and sources of cells."""
    pieces = BLOCK.split(text)  # text and code in turns
    cells = [
        ("code" if index % 2 else "markdown", source)
        for index, piece in enumerate(pieces)
        for source in ([piece] if index % 2 else SECTION.split(piece))
    ]
    return [(kind, source.strip("\n")) for kind, source in cells if source.strip()]


def cell(kind: str, source: str, number: int) -> dict[str, Any]:
    key = hashlib.sha256(f"{number}\n{source}".encode()).hexdigest()[:8]
    body = {"cell_type": kind, "id": key, "metadata": {}, "source": source.splitlines(keepends=True)}
    return body | {"execution_count": None, "outputs": []} if kind == "code" else body


if __name__ == "__main__":
    main()

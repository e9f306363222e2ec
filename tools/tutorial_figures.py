"""Draw the figures of the tutorials by running their code: `python tools/tutorial_figures.py [NAME ...]`.

A tutorial saves `NAME.png` and displays `figures/NAME.png`; this runs its blocks in a folder of their own and copies
what it displays into docs/tutorials/figures. Minutes for all of them.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import shutil
import tempfile
from pathlib import Path

import matplotlib

try:
    from tools.notebooks import PLAIN, TUTORIALS, tutorials
except ModuleNotFoundError:  # a script sees its own folder
    from notebooks import PLAIN, TUTORIALS, tutorials

DISPLAYED = re.compile(r"\]\(figures/([\w-]+\.png)\)")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="of tutorials, such as matching; by default all")
    names = parser.parse_args().names
    matplotlib.use("Agg")
    for page in tutorials():
        if not names or page.stem in names:
            for figure in draw(page, TUTORIALS / "figures"):
                print(figure)


def draw(page: Path, folder: Path) -> list[Path]:
    """The figures of a page, where they are now."""
    text = page.read_text(encoding="utf-8")
    displayed = DISPLAYED.findall(text)
    if not displayed:
        return []
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        namespace = {"__name__": "__main__"}
        for code in PLAIN.findall(text):
            exec(compile(code, str(page), "exec"), namespace)
        return [Path(shutil.copy(name, folder / name)) for name in displayed]


if __name__ == "__main__":
    main()

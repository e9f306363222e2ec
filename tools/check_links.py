"""Do the links of README and docs lead somewhere, anchors included? `python tools/check_links.py` asks no network."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

try:
    from tools.markdown_links import anchors, links, resolved
except ModuleNotFoundError:  # a script sees its own folder
    from markdown_links import anchors, links, resolved

ROOT = Path(__file__).parents[1]
PAGES = ("*.md", "docs/**/*.md", "benchmarks/**/*.md", "examples/**/*.md", ".github/**/*.md")
PASSED_OVER = {".envs", ".runs", ".cases", "node_modules"}


def main() -> None:
    problems = list(broken(ROOT))
    for problem in problems:
        print(problem, file=sys.stderr)
    pages = len(pages_of(ROOT))
    print(f"{pages} pages, {len(problems)} broken links")
    sys.exit(bool(problems))


def pages_of(root: Path) -> list[Path]:
    pages = {path for pattern in PAGES for path in root.glob(pattern)}
    return sorted(path for path in pages if not PASSED_OVER & set(path.relative_to(root).parts))


def broken(root: Path) -> Iterator[str]:
    """A line for each link that leads nowhere."""
    for page in pages_of(root):
        here = page.relative_to(root).as_posix()
        for line, target in links(page.read_text(encoding="utf-8")):
            try:
                path, anchor = resolved(here, target)
            except ValueError as error:
                yield f"{here}:{line}: {error}"
                continue
            if not (root / path).exists():
                yield f"{here}:{line}: {target} does not exist"
            elif anchor and path.endswith(".md") and anchor not in anchors((root / path).read_text(encoding="utf-8")):
                yield f"{here}:{line}: {target}: no heading of that name"


if __name__ == "__main__":
    main()

"""The description on PyPI: the README, with links and pictures that also lead somewhere from there."""

from __future__ import annotations

from pathlib import Path

from tools.markdown_links import with_links
from tools.notebooks import on_the_site

ROOT = Path(__file__).parents[1]


def description() -> str:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return with_links(text, lambda target: target if target.startswith("#") else on_the_site("README.md", target))

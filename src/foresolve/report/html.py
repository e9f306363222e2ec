"""A page of HTML that needs nothing else: headings, text, pieces that scroll or fold."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.35rem; margin-top: 2.5rem; } h3 { font-size: 1.05rem; margin-top: 1.8rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child { text-align: left; }
svg { width: 100%; height: auto; }
figure { margin: 1.5rem 0; } figure svg { width: auto; max-width: 100%; }
figcaption, .note { color: #555; font-size: .9rem; }
.aside { display: block; color: #777; font-size: .85em; font-weight: normal; }
.wide { overflow-x: auto; } .figures td { white-space: nowrap; } .words th, .words td { text-align: left; }
caption { text-align: left; font-weight: bold; padding: 1rem 0 .3rem; }
pre { background: #f5f5f5; padding: .6rem; white-space: pre-wrap; }
details { margin: 1rem 0; } summary { cursor: pointer; } td { vertical-align: top; }
"""


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def bullets(texts: Sequence[str]) -> str:
    """A list of plain text."""
    return "<ul>\n" + "\n".join(f"<li>{escape(text)}</li>" for text in texts) + "\n</ul>"


def numbered(texts: Sequence[str]) -> str:
    """A list of plain text with numbers from 1; nothing where it is empty."""
    return "<ol>\n" + "\n".join(f"<li>{escape(text)}</li>" for text in texts) + "\n</ol>" if texts else ""


def code(text: str) -> str:
    """A line to be typed."""
    return f"<pre><code>{escape(text)}</code></pre>"


def figure(drawing: str, caption: str) -> str:
    """A drawing, already HTML, over its caption."""
    return f"<figure>\n{drawing}\n<figcaption>{escape(caption)}</figcaption>\n</figure>"


def scrolled(piece: str) -> str:
    """A wide piece that scrolls by itself on a narrow screen."""
    return f'<div class="wide">{piece}</div>'


def folded(summary: str, pieces: Sequence[str]) -> str:
    """Pieces that show when the reader asks for them."""
    body = "\n".join(pieces)
    return f"<details>\n<summary>{escape(summary)}</summary>\n{body}\n</details>"


def subheading(text: str) -> str:
    """A heading within a section."""
    return f"<h3>{escape(text)}</h3>"


def page(title: str, sections: Sequence[tuple[str, Sequence[str]]]) -> str:
    """A whole document from headings and their pieces of HTML."""
    body = "\n".join(f"<h2>{escape(heading)}</h2>\n" + "\n".join(pieces) for heading, pieces in sections)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n<title>{escape(title)}</title>\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )

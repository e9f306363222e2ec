"""A page of HTML that needs nothing else: tables, line charts as inline SVG, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

COLOURS = ("#0b6e99", "#c2571a", "#5a7d2a", "#7a4fa3")
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.35rem; margin-top: 2.5rem; } h3 { font-size: 1.05rem; margin-top: 1.8rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child { text-align: left; }
svg { width: 100%; height: auto; } .chart text { font: 12px system-ui, sans-serif; fill: #444; }
figure { margin: 1.5rem 0; } figure svg { width: auto; max-width: 100%; }
figcaption, .note { color: #555; font-size: .9rem; }
.paper { display: block; color: #777; font-size: .85em; font-weight: normal; }
.wide { overflow-x: auto; } .figures td { white-space: nowrap; }
pre { background: #f5f5f5; padding: .6rem; white-space: pre-wrap; }
details { margin: 1rem 0; } summary { cursor: pointer; } td { vertical-align: top; }
"""


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """An HTML table of plain text cells."""

    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "\n".join(line(row, "td") for row in rows)
    return f"<table>\n<thead>{line(headers, 'th')}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def bullets(texts: Sequence[str]) -> str:
    """A list of plain text."""
    return "<ul>\n" + "\n".join(f"<li>{escape(text)}</li>" for text in texts) + "\n</ul>"


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


def line_chart(
    series: Mapping[str, Sequence[float]], levels: Mapping[str, float], *, x_label: str, y_label: str
) -> str:
    """Curves over 1, 2, 3, ... and dashed horizontal levels, as SVG; names are written at the right."""
    width, height, left, right, top, bottom = 720, 320, 62, 150, 16, 44
    longest = max(len(values) for values in series.values())
    numbers = [v for values in series.values() for v in values] + list(levels.values())
    low, high = min(numbers), max(numbers)
    span = (high - low) or 1.0
    low, high = low - 0.05 * span, high + 0.05 * span

    def px(step: float) -> float:
        return left + (width - left - right) * (step - 1) / max(longest - 1, 1)

    def py(value: float) -> float:
        return top + (height - top - bottom) * (high - value) / (high - low)

    parts = [f'<rect x="{left}" y="{top}" width="{width - left - right}" height="{height - top - bottom}" '
             'fill="none" stroke="#bbb"/>']  # fmt: skip
    for i in range(5):
        value = low + (high - low) * i / 4
        parts.append(f'<text x="{left - 6}" y="{py(value) + 4:.1f}" text-anchor="end">{value:.4g}</text>')
    for step in sorted({1, (1 + longest) // 2, longest}):
        parts.append(f'<text x="{px(step):.1f}" y="{height - bottom + 16}" text-anchor="middle">{step}</text>')
    labels: list[tuple[float, str, str]] = []
    for name, value in levels.items():
        y = py(value)
        parts.append(f'<line x1="{left}" x2="{width - right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#888" '
                     'stroke-dasharray="4 4"/>')  # fmt: skip
        labels.append((y, name, "#666"))
    for (name, values), colour in zip(series.items(), COLOURS):
        points = " ".join(f"{px(i):.1f},{py(v):.1f}" for i, v in enumerate(values, 1))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        labels.append((py(values[-1]), name, colour))
    y = float(top)
    for wanted, name, colour in sorted(labels):
        y = max(y + 14, wanted)  # names keep their distance
        parts.append(f'<text x="{width - right + 6}" y="{y:.1f}" style="fill:{colour}">{escape(name)}</text>')
    middle = (top + height - bottom) / 2
    parts.append(
        f'<text x="{(left + width - right) / 2}" y="{height - 8}" text-anchor="middle">{escape(x_label)}</text>'
    )
    parts.append(f'<text transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>')
    drawn = "\n".join(parts)
    title = escape(f"{y_label} against {x_label}")
    return f'<svg class="chart" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">\n{drawn}\n</svg>'


def page(title: str, sections: Sequence[tuple[str, Sequence[str]]]) -> str:
    """A whole document from headings and their pieces of HTML."""
    body = "\n".join(f"<h2>{escape(heading)}</h2>\n" + "\n".join(pieces) for heading, pieces in sections)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n<title>{escape(title)}</title>\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def write_whole(path: Path, content: str | bytes) -> Path:
    """Write a file whole or not at all; an older file stays until the new one is complete."""
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)  # mkstemp's own mode hides the file from everyone else
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path

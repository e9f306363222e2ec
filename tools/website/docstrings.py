"""From the docstrings of the source, which `help()` shows as they are, to Markdown for the pages of the site.

Docstrings have formulas in the notation of Sphinx and sections in that of NumPy, whose items are `name: text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent, indent

INLINE = re.compile(r":math:`([^`]+)`")
DISPLAYED = re.compile(r"^( *)\.\. math::[ ]*([^\n]*)\n?((?:\n*\1 +[^\n]+(?:\n|\Z))*)", re.MULTILINE)
UNDERLINE = re.compile(r"-{3,}\s*")
ITEM = re.compile(r"((?:\*{0,2}[\w.]+(?:\[[^\]]*\])?(?:, )?)+): *(.*)")
# Sections that may start with items.
LISTS = ("Parameters", "Attributes", "Raises", "Warns", "Returns", "Shapes")


def as_markdown(docstring: str) -> str:
    text = INLINE.sub(lambda match: rf"\({' '.join(match[1].split())}\)", DISPLAYED.sub(displayed, docstring))
    parts = []
    for title, body in sections(text):
        if title:
            parts.append(f"**{title}**")
        items, rest = items_of(body) if title in LISTS else ([], body)
        parts += [definitions(items), fenced(rest)]
    return re.sub(r"\n{3,}", "\n\n", "\n\n".join(part for part in parts if part.strip()))


def displayed(match: re.Match[str]) -> str:
    """A formula on lines of its own."""
    lines = "\n".join(part for part in (match[2].strip(), dedent(match[3]).strip()) if part)
    formula = "\n".join(line for line in lines.splitlines() if line.strip())
    return "\n" + indent(f"\\[\n{formula}\n\\]", match[1]) + "\n\n"


def sections(text: str) -> Iterator[tuple[str, str]]:
    """Titles and bodies; what comes before the first title has an empty one."""
    title, body = "", list[str]()
    lines = text.splitlines()
    for line, after in zip(lines, [*lines[1:], ""]):
        if line and not line.startswith(" ") and len(line) <= 30 and UNDERLINE.fullmatch(after):
            yield title, "\n".join(body)
            title, body = line.strip(), []
        elif not (UNDERLINE.fullmatch(line) and title and not body):
            body.append(line)
    yield title, "\n".join(body)


def items_of(body: str) -> tuple[list[tuple[str, str]], str]:
    """Names and texts of the items that a section starts with, and what comes after them."""
    items: list[list[str]] = []
    lines = body.strip("\n").splitlines()
    for number, line in enumerate(lines):
        start = ITEM.fullmatch(line)
        if start:
            items.append([start[1], start[2]])
        elif items and (not line.strip() or line.startswith("    ")):
            items[-1].append(line.removeprefix("    "))
        else:
            return split_items(items), "\n".join(lines[number:])
    return split_items(items), ""


def split_items(items: list[list[str]]) -> list[tuple[str, str]]:
    return [(names, "\n".join(text).strip()) for names, *text in items]


def definitions(items: list[tuple[str, str]]) -> str:
    """A definition list."""
    parts = []
    for names, text in items:
        term = ", ".join(f"`{name}`" for name in names.split(", "))
        parts.append(f"{term}\n:   {indent(fenced(text), '    ').lstrip()}")
    return "\n\n".join(parts)


def fenced(text: str) -> str:
    """With fences around the sessions that start with `>>>`, each up to the next empty line."""
    lines, session, fence = list[str](), False, ""
    for line in [*text.splitlines(), ""]:
        margin = line[: len(line) - len(line.lstrip())]
        if line.lstrip().startswith(">>> ") and not session:
            session, fence = True, margin
            lines.append(f"{margin}```pycon")
        elif session and not line.strip():
            session = False
            lines.append(f"{fence}```")
        lines.append(re.sub(r"\s+# doctest: .*$", "", line) if session else line)
    return "\n".join(lines).strip("\n")

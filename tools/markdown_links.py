"""What Markdown pages link to, and what can be linked to in them: as GitHub reads them, without the network."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

FENCE = re.compile(r"^ *(`{3,}|~{3,})")
CODE = re.compile(r"`+[^`]*`+")
LINK = re.compile(r"(?<=\]\()[^)\s]+(?=[)\s])|(?<=\]: )\S+$")
ATTRIBUTE = re.compile(r"(?<=\bhref=\")[^\"]+(?=\")|(?<=\bsrc=\")[^\"]+(?=\")|(?<=\bsrcset=\")[^\"]+(?=\")")
HEADING = re.compile(r"^#{1,6} +(.*?)(?: +#+)?$")
NAMED = re.compile(r"<a (?:id|name)=\"([^\"]+)\"")
ELSEWHERE = re.compile(r"^(?:[a-z]+:|//)", re.IGNORECASE)


def prose(text: str) -> Iterator[tuple[int, str, bool]]:
    """Numbers and texts of all lines, and whether they are text rather than code."""
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        start = FENCE.match(line)
        if fence:
            if start and start[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
            yield number, line, False
        elif start:
            fence = start[1]
            yield number, line, False
        else:
            yield number, line, True


def links(text: str) -> Iterator[tuple[int, str]]:
    """Lines and targets of all links that lead to files or anchors of the project."""
    for number, line, is_text in prose(text):
        if is_text:
            line = CODE.sub(lambda match: "`" * len(match[0]), line)
            for pattern in (LINK, ATTRIBUTE):
                yield from ((number, match[0]) for match in pattern.finditer(line) if not ELSEWHERE.match(match[0]))


def with_links(text: str, change: Callable[[str], str]) -> str:
    """The page with each link into the project replaced."""

    def replaced(match: re.Match[str]) -> str:
        return match[0] if ELSEWHERE.match(match[0]) else change(match[0])

    def changed(line: str) -> str:
        spans = [match[0] for match in CODE.finditer(line)]
        line = CODE.sub("\0", line)
        line = ATTRIBUTE.sub(replaced, LINK.sub(replaced, line))
        return re.sub("\0", lambda _: spans.pop(0), line)

    return "\n".join(changed(line) if is_text else line for _, line, is_text in prose(text)) + "\n"


def anchors(text: str) -> set[str]:
    """The anchors of headings, and those that are written out."""
    names, count = set[str](), dict[str, int]()
    for _, line, is_text in prose(text):
        if is_text:
            names |= set(NAMED.findall(line))
            if heading := HEADING.match(line):
                name = slug(heading[1])
                again = count[name] = count.get(name, -1) + 1
                names.add(f"{name}-{again}" if again else name)
    return names


def slug(heading: str) -> str:
    """The anchor of a heading."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def resolved(page: str, target: str) -> tuple[str, str]:
    """A link of a page (its path in the project): the path in the project that it leads to, and the anchor."""
    path, _, anchor = target.partition("#")
    if not path:
        return page, anchor
    parts = list(Path(page).parent.parts)
    for part in path.split("/"):
        if part == "..":
            if not parts:
                raise ValueError(f"{page}: {target} leads out of the project")
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts), anchor

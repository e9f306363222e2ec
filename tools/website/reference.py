"""The API reference: a page for each public name, and for each floor a page with a line for each of its names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from types import FunctionType

from tools.public_names import FLOORS, PublicName, about, public_names

NAV = list[dict[str, "str | NAV"]]
CODE = re.compile(r"<code>((?:foresolve\.)?[\w.]+)</code>")
PAGE = re.compile(r"\bdocs/(\w+)\.md\b")  # docstrings name pages by their files
# Where code is no place for a link.
CLOSED = re.compile(r"(<a\b.*?</a>|<h[1-6]\b.*?</h[1-6]>|<pre\b.*?</pre>|<nav\b.*?</nav>)", re.DOTALL)


class Reference:
    def __init__(self) -> None:
        self.names = {floor: public_names(floor) for floor in FLOORS}
        every = [name for names in self.names.values() for name in names]
        self.by_place = {place(name): name for name in every}
        self.by_class = {name.thing: name for name in every if name.is_class}
        spoken = [name.name for name in every]
        classes = {name.name: name for name in every if name.name[0].isupper() and spoken.count(name.name) == 1}
        self.by_word = classes | {name.address: name for name in every} | {name.short: name for name in every}

    def pages(self) -> Iterator[tuple[str, str]]:
        """Places and texts of all pages."""
        yield "api/index.md", self._front()
        for floor, names in self.names.items():
            yield f"api/{floor}/index.md", floor_page(floor, names)
            for name in names:
                yield place(name), name_page(name, self.by_class)

    def nav(self) -> NAV:
        floors: NAV = [
            {floor: [f"api/{floor}/index.md", *({name.name: place(name)} for name in names)]}  # type: ignore[list-item]
            for floor, names in self.names.items()
        ]
        return ["api/index.md", *floors]  # type: ignore[list-item]

    def with_import(self, html: str, place_of_page: str) -> str:
        """The page of a name, with the line that imports it below its title."""
        name = self.by_place.get(place_of_page)
        if name is None:
            return html
        module, _, spoken = name.short.rpartition(".")
        title, end, rest = html.partition("</h1>")
        return f"{title}{end}<p><code>from {module} import {spoken}</code></p>{rest}"

    def linked(self, html: str, root: str) -> str:
        """With links from names of classes, full addresses and pages of docs to their pages; `root` leads there."""

        def link(match: re.Match[str]) -> str:
            name = self.by_word.get(match[1])
            return match[0] if name is None else f'<a href="{root}{url(name)}">{match[0]}</a>'

        def open_part(text: str) -> str:
            return PAGE.sub(rf'<a href="{root}\1.html">\g<0></a>', CODE.sub(link, text))

        parts = CLOSED.split(html)
        return "".join(part if index % 2 else open_part(part) for index, part in enumerate(parts))

    def _front(self) -> str:
        lines = ["# API", "", "Every public name has a page, and every floor of the package its list.", ""]
        top = sorted({name.short: name for name in self.by_word.values()}.items(), key=lambda pair: pair[0].lower())
        for floor, names in self.names.items():
            lines.append(f"- [`foresolve.{floor}`]({floor}/index.md), {len(names)} names. {about(floor)}")
        lines += ["", "## At the top", "", "What the first hour needs can be imported from `foresolve` itself.", ""]
        lines += table([name for short, name in top if short.count(".") == 1], "")
        return "\n".join(lines) + "\n"


def place(name: PublicName) -> str:
    # Files of names that differ in case alone, such as `Study` and `study`, would be the same on some systems.
    return f"api/{name.floor}/{name.name if name.name[0].isupper() else f'{name.name}-function'}.md"


def url(name: PublicName) -> str:
    return place(name).removesuffix(".md") + ".html"


def floor_page(floor: str, names: list[PublicName]) -> str:
    lines = ["---", f"title: {floor}", "---", "", f"# `foresolve.{floor}`", "", about(floor), ""]
    return "\n".join([*lines, *table(names, f"api/{floor}/")]) + "\n"


def table(names: list[PublicName], below: str) -> list[str]:
    """A line for each name; links are relative to the folder `below` of the reference."""
    rows = ["| name | |", "|---|---|"]
    for name in names:
        there = place(name).removeprefix(below or "api/")
        rows.append(f"| [`{name.name}`]({there}) | {name.summary.replace('|', chr(92) + '|')} |")
    return rows


def name_page(name: PublicName, public: Mapping[type, PublicName]) -> str:
    lines = ["---", f"title: {name.name}", f"description: {name.summary!r}", "search:", "  boost: 2", "---", ""]
    lines.append(f"::: {name.address}")
    shown, elsewhere = inherited(name.thing, public) if name.is_class else ([], {})
    options = [f"inherited_members: {json.dumps(shown)}"] if shown else []
    options += ["show_attribute_values: false"] if isinstance(name.thing, dict) else []
    if options:
        lines += ["    options:", *(f"      {option}" for option in options)]
    for base, members in elsewhere.items():
        there = ", ".join(f"[`{member}`][{base.address}.{member}]" for member in members)
        lines += ["", f"Inherited from [`{base.name}`][{base.address}]: {there}."]
    return "\n".join(lines) + "\n"


def inherited(thing: type, public: Mapping[type, PublicName]) -> tuple[list[str], dict[PublicName, list[str]]]:
    """Members from bases that have no page, to be shown; and those of bases that have one, which are linked."""
    seen = set(vars(thing))
    shown, elsewhere = list[str](), dict[PublicName, list[str]]()
    page: PublicName | None = None
    for base in thing.__mro__[1:]:
        # What a base without a page brings is on the page of the first public class below it.
        page = public.get(base, page)
        if not base.__module__.startswith("foresolve."):
            continue
        members = [member for member in documented(base) if member not in seen]
        seen |= set(vars(base))
        if page is None:
            shown += members
        elif members:
            elsewhere.setdefault(page, []).extend(members)
    return shown, elsewhere


def documented(kind: type) -> list[str]:
    """Public methods and properties that have a docstring of their own."""
    return [
        name
        for name, value in vars(kind).items()
        if not name.startswith("_")
        and isinstance(value, FunctionType | classmethod | staticmethod | property | cached_property)
        and getattr(value, "__doc__", None)
    ]

"""Pages by templates: escaped, explained where a name first appears, in one file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from itertools import count
from typing import Any

from foresolve._base.drawing.palette import VARIABLES
from foresolve._base.drawing.rendering import for_page
from foresolve._base.extras import need
from foresolve.report.pages.document import Page

# Characters that HTML has no place for, and those that turn the text behind them around.
UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
# From right to left: Hebrew, Arabic and their neighbors, with the spaces and signs between two such letters.
LEFTWARD = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]"
LEFTWARD_RUN = re.compile(f"{LEFTWARD}(?:[^\\w<>&]*{LEFTWARD})*")


def render(page: Page) -> str:
    """The page as one document of HTML."""
    templates = _environment()
    prose = _Prose(page.terms, need("markupsafe", "a page", "report").Markup)
    pictures = count(1)
    text = templates.get_template("page.html").render(
        page=page, prose=prose, style=prose.markup(_colors() + _asset("page.css")),
        script=prose.markup(_asset("page.js")), theme=prose.markup(_asset("theme.js")),
        embedded=lambda svg: prose.markup(for_page(svg, f"p{next(pictures)}-")),
    )  # fmt: skip
    return UNSEEN.sub("\ufffd", re.sub(r"\n\s*\n+", "\n", text))


def _colors() -> str:
    """The colors of figures as variables. The theme gives the colors of text and background."""
    return f":root {{ {' '.join(f'{name}: {color};' for color, name in VARIABLES.items())} }}\n"


@cache
def _environment() -> Any:
    jinja2 = need("jinja2", "a page", "report")
    return jinja2.Environment(
        loader=jinja2.DictLoader(dict(_templates())), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip


def _templates() -> Iterator[tuple[str, str]]:
    for folder, prefix in ((_folder(), ""), (_folder() / "blocks", "blocks/")):
        for path in folder.iterdir():
            if path.name.endswith(".html"):
                yield prefix + path.name, path.read_text(encoding="utf-8")


def _folder() -> Any:
    return resources.files("foresolve.report.pages") / "templates"


def _asset(name: str) -> str:
    return (_folder() / name).read_text(encoding="utf-8")


class _Prose:
    """Text as markup: names of methods with what they stand for, `code`, and everything else escaped.

    Names that are words of everyday language ("forest") are marked only where they stand alone.
    """

    def __init__(self, terms: Any, markup: Any) -> None:
        self.terms, self.markup = dict(terms), markup
        self.explained: set[str] = set()
        names = sorted((name for name in self.terms if re.search(r"[A-Z0-9+]", name)), key=len, reverse=True)
        pattern = "|".join(re.escape(name) for name in names)
        self.pattern = re.compile(rf"`([^`]+)`|(?<![\w-])({pattern})(?![\w+-])" if names else r"`([^`]+)`()")

    def __call__(self, text: str) -> Any:
        """A text, with the names in it explained."""
        if text in self.terms:
            return self.term(text)
        pieces, end = [], 0
        for match in self.pattern.finditer(text):
            pieces.append(self.plain(text[end : match.start()]))
            code = self.markup("<code>{}</code>").format(match[1]) if match[1] else ""
            pieces.append(code or self.term(match[2]))
            end = match.end()
        return self.markup("").join([*pieces, self.plain(text[end:])])

    def plain(self, text: str) -> Any:
        """A text without names, escaped; a minus sign is one, and numbers do not join what is written leftward."""
        escaped = self.markup.escape(re.sub(r"(?<![\w.-])-(?=\d)", "−", text))
        return self.markup(LEFTWARD_RUN.sub(r"<bdi>\g<0></bdi>", str(escaped)))

    def term(self, name: str) -> Any:
        """A name, and on demand what it stands for."""
        meaning = self.terms.get(name)
        if meaning is None:
            return self.plain(name)
        return self.markup('<span class="term" tabindex="0" data-meaning="{}">{}</span>').format(meaning, name)

    def new(self, names: Any) -> list[tuple[str, str]]:
        """Those of these names that were not explained before, with what they stand for."""
        fresh = [name for name in dict.fromkeys(names) if name in self.terms and name not in self.explained]
        self.explained.update(fresh)
        return [(name, self.terms[name]) for name in fresh]

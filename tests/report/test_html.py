"""Text cannot become markup, and a page is well formed."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from foresolve.report import html

EVIL = '<script>alert("x & y")</script>'


@pytest.mark.parametrize(
    "piece",
    [
        html.paragraph(EVIL),
        html.bullets([EVIL, "second"]),
        html.numbered([EVIL, "second"]),
        html.code(EVIL),
        html.figure("<svg/>", EVIL),
        html.folded(EVIL, [html.paragraph(EVIL)]),
        html.subheading(EVIL),
        html.scrolled(html.code(EVIL)),
    ],
)
def test_text_stays_text(piece: str) -> None:
    root = ElementTree.fromstring(piece)
    assert root.find(".//script") is None
    assert EVIL in "".join(root.itertext())


def test_a_page_is_one_document_that_loads_nothing() -> None:
    document = html.page(f"A {EVIL}", [("First & last", [html.paragraph("a < b"), html.scrolled("<table></table>")])])
    root = ElementTree.fromstring(document.removeprefix("<!DOCTYPE html>\n"))
    assert root.findtext("head/title") == root.findtext("body/h1") == f"A {EVIL}"
    assert root.findtext("body/h2") == "First & last"
    assert root.findtext("body/p") == "a < b"
    for loading in ("script", "link", "img", "iframe"):
        assert root.find(f".//{loading}") is None
    assert "url(" not in document
    assert "@import" not in document

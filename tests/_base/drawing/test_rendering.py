from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from foresolve._base.drawing.canvas import new_figure, shortened
from foresolve._base.drawing.palette import COLORS, PAPER, VARIABLES
from foresolve._base.drawing.rendering import as_image, for_page, to_png, to_svg, with_picture
from foresolve.errors import MissingExtraError

EVIL = 'id="b" href="#c" url(#d) stroke: #000000; </text><script>'


def figure(title: str = "a title") -> Any:
    drawn = new_figure(3, 2)
    axes = drawn.subplots()
    axes.plot([0, 1], [1, 0], color=COLORS["decision-focused"], marker="o", markerfacecolor=PAPER)
    axes.axvspan(0, 1, color="#123456", hatch="//")
    axes.imshow([[0.0, 1.0]])
    axes.set_title(title)
    return drawn


def element(title: str = "a title", prefix: str = "a-") -> ElementTree.Element:
    return ElementTree.fromstring(for_page(to_svg(figure(title)), prefix))


def declarations(root: ElementTree.Element) -> set[str]:
    return {part.strip() for node in root.iter() for part in node.get("style", "").split(";")}


def test_a_file_has_its_own_colors_and_is_the_same_each_time() -> None:
    svg = to_svg(figure())
    assert svg == to_svg(figure())
    root = ElementTree.fromstring(svg)
    assert "a title" in "".join(root.itertext())  # text stays text
    assert "var(" not in svg
    assert f"stroke: {COLORS['decision-focused']}" in declarations(root)


def test_colors_of_the_palette_are_variables_of_a_page() -> None:
    root = element()
    found = declarations(root)
    assert {"stroke: var(--blue, #1f7fc4)", "fill: var(--back, #ffffff)", "stroke: var(--text, #000000)"} <= found
    assert "fill: #123456" in found  # of nobody's palette
    assert "fill: var(--text, #000000)" in root.attrib["style"]  # of text that has no color of its own
    known = {f"{what}: {color}" for what in ("fill", "stroke") for color in VARIABLES}
    assert not known & found


def test_a_figure_brings_no_style_sheet_and_no_font_of_its_own() -> None:
    root = element()
    assert not [node for node in root.iter() if node.tag in ("style", "metadata")]
    assert not [part for part in declarations(root) if "sans" in part.lower()]
    older = "<svg width='72pt' height='36pt'><text style=\"font: italic 10px 'DejaVu Sans', Arial\">a</text></svg>"
    assert '<text style="font-size: 10px">a</text>' in for_page(older, "a-")


def test_names_are_its_own_and_lead_somewhere() -> None:
    root = element()
    names = [node.attrib["id"] for node in root.iter() if "id" in node.attrib]
    values = [value for node in root.iter() for value in node.attrib.values()]
    links = [name for value in values for name in re.findall(r"url\(#([^)]+)\)", value)]
    links += [value[1:] for node in root.iter() if (value := node.get("href", "")).startswith("#")]
    assert set(links) == set(names)
    assert len(links) > 3 < len(names)
    assert all(name.startswith("a-") for name in names)
    assert {node.attrib["id"] for node in element(prefix="b-").iter() if "id" in node.attrib}.isdisjoint(names)


def test_text_that_looks_like_markup_stays_as_it_is() -> None:
    assert EVIL in "".join(element(EVIL).itertext())
    assert "<script>" not in for_page(to_svg(figure(EVIL)), "a-")


@pytest.mark.parametrize("name", ["日本語", "\u202eevil שלום", "\x00\x1b", "می‌خواهم"])
def test_names_in_any_script_can_be_drawn(name: str) -> None:
    assert shortened(name) in "".join(element(shortened(name)).itertext())


def test_png_and_image() -> None:
    assert to_png(figure()).startswith(b"\x89PNG")
    assert '<img alt="a &lt;b&gt;"' in as_image(figure(), "a <b>")


def test_a_picture_stands_behind_html_where_there_is_one() -> None:
    def missing() -> Any:
        raise MissingExtraError("no matplotlib")

    assert with_picture("<p>a</p>", "alt", lambda: figure().axes[0]).startswith("<p>a</p>\n<div><img")
    assert with_picture("<p>a</p>", "alt", None) == with_picture("<p>a</p>", "alt", missing) == "<p>a</p>"
    with pytest.raises(ZeroDivisionError):
        with_picture("", "", lambda: 1 / 0)  # type: ignore[arg-type, return-value]

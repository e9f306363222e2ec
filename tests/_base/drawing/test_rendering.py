from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from foresolve._base.drawing.canvas import new_figure
from foresolve._base.drawing.rendering import as_image, prefixed, to_png, to_svg, with_picture
from foresolve.errors import MissingExtraError


def figure() -> Any:
    drawn = new_figure(3, 2)
    axes = drawn.subplots()
    axes.plot([0, 1], [1, 0], color="#1f7fc4", marker="o")
    axes.imshow([[0.0, 1.0]])
    axes.set_title("a title")
    return drawn


def test_svg_is_sound_repeatable_and_its_names_are_its_own() -> None:
    texts = [prefixed(to_svg(figure()), "a-") for _ in range(2)]
    assert texts[0] == texts[1]
    tree = ElementTree.fromstring(texts[0])
    names = [node.get("id", "a-") for node in tree.iter()]
    assert all(name.startswith("a-") for name in names)
    links = [value for node in tree.iter() for key, value in node.attrib.items() if key.endswith("href")]
    assert all(link[1:] in names for link in links if link.startswith("#"))
    assert "a title" in "".join(tree.itertext())  # text stays text


def test_svg_takes_the_color_of_the_page() -> None:
    svg = to_svg(figure())
    assert svg.startswith('<svg fill="currentColor"')
    assert "#000000" not in svg
    assert "stroke: currentColor" in svg
    assert "#ffffff" not in svg  # no background
    assert "#1f7fc4" in svg


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

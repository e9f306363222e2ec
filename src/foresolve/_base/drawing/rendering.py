"""Figures as PNG, as SVG, as an element of a page, and as an image in a notebook."""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from foresolve._base.drawing.palette import INK, VARIABLES
from foresolve._base.extras import need
from foresolve.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 160
REM, LEAST = 7.2, 5.0  # the width of an inch in a page, and the least: letters of 8 points have 13 pixels, or 9


def to_png(figure: Figure, dpi: int = DPI) -> bytes:
    """The figure as PNG, on white."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=dpi, metadata={"Software": None})
    return stream.getvalue()


def to_svg(figure: Figure) -> str:
    """The figure as an SVG file: transparent, its text as text, the same for the same figure."""
    matplotlib = need("matplotlib", "a figure", "plot")
    stream = io.StringIO()
    # Names of shapes come from the shapes rather than from chance.
    names = matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "foresolve"})
    with names, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # the viewer's font may have it
        figure.savefig(stream, format="svg", dpi=DPI, transparent=True, metadata={"Date": None, "Creator": None})
    return stream.getvalue()


def for_page(svg: str, prefix: str) -> str:
    """A file of `to_svg` as an element of a page, which gives the colors of the palette and the font.

    A color of the palette becomes a variable with itself in reserve: `stroke: var(--blue, #1f7fc4)`. Text without a
    color becomes ink. Names within the picture begin with `prefix`: those of two pictures on a page must differ.
    """
    root = ElementTree.fromstring(svg)
    for parent in list(root.iter()):
        for child in list(parent):
            if _name(child.tag) in ("metadata", "style"):  # a style sheet in a page is one for the whole page
                parent.remove(child)
    links = [value for node in root.iter() for name, value in node.attrib.items() if name != "id"]
    used = {name for value in links for name in re.findall(r"(?:^|url\()#([^)]+)", value)}
    for node in root.iter():
        node.tag, node.tail = _name(node.tag), None
        if node.text and not node.text.strip():
            node.text = None
        known = {name: value for name, value in node.attrib.items() if name != "id" or value in used}
        node.attrib = {_name(name): _attribute(_name(name), value, prefix) for name, value in known.items()
                       if not value.startswith("rotate(-0 ")}  # fmt: skip
    for node in reversed(list(root.iter())):  # groups that say nothing go, the innermost first
        node[:] = [part for child in node for part in (child if child.tag == "g" and not child.attrib else [child])]
    width = float(root.attrib.pop("width").removesuffix("pt")) / 72
    del root.attrib["height"]
    size = f"width: {REM * width:.4g}rem; min-width: {LEAST * width:.4g}rem"
    root.attrib |= {"stroke-linejoin": "round", "style": f"{size}; fill: {_variable(INK)}"}
    return ElementTree.tostring(root, encoding="unicode")


def _name(name: str) -> str:
    """Without its namespace, which an element of a page has from its place."""
    return name.rpartition("}")[2]


def _attribute(name: str, value: str, prefix: str) -> str:
    if name == "id":
        return prefix + value
    if name == "href":
        return f"#{prefix}{value[1:]}" if value.startswith("#") else "".join(value.split())
    if name == "style":
        return "; ".join(filter(None, (_declaration(part, prefix) for part in value.split(";") if part.strip())))
    return " ".join(value.replace("url(#", f"url(#{prefix}").split())


def _declaration(text: str, prefix: str) -> str:
    name, value = (part.strip() for part in text.split(":", 1))
    if name == "font-family":
        return ""
    if name == "font":  # of older versions: "italic 10px 'DejaVu Sans', ..."
        return f"font-size: {value.partition('px')[0].split()[-1]}px"
    if name in ("fill", "stroke"):
        value = _variable(value).replace("url(#", f"url(#{prefix}")
    return f"{name}: {value}"


def _variable(color: str) -> str:
    return f"var({VARIABLES[color]}, {color})" if color in VARIABLES else color


def as_image(figure: Figure, alt: str) -> str:
    """An `<img>` with the picture inside, for a notebook."""
    data = base64.b64encode(to_png(figure, 110)).decode()
    return f'<img alt="{escape(alt)}" style="max-width: 100%" src="data:image/png;base64,{data}">'


def with_picture(html: str, alt: str, draw: Callable[[], Axes] | None) -> str:
    """HTML with a picture behind it; as it is where there is nothing to draw, or no matplotlib."""
    if draw is None:
        return html
    try:
        figure = draw().get_figure(root=True)
    except MissingExtraError:
        return html
    assert figure is not None
    return f"{html}\n<div>{as_image(figure, alt)}</div>"

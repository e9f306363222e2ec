"""Figures as PNG, as SVG for a page, and as an image in a notebook."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

from foresolve._base.drawing.palette import INK
from foresolve._base.extras import need
from foresolve.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 160


def to_png(figure: Figure, dpi: int = DPI) -> bytes:
    """The figure as PNG, on white."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=dpi, metadata={"Software": None})
    return stream.getvalue()


def to_svg(figure: Figure) -> str:
    """The figure as an SVG element that can stand in a page: transparent, its black the color of the page's text."""
    matplotlib = need("matplotlib", "a figure", "plot")
    stream = io.StringIO()
    # Text stays text, and names of shapes come from the shapes rather than from chance.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "foresolve"}):
        figure.savefig(stream, format="svg", dpi=DPI, transparent=True, metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # What matplotlib leaves unsaid is black.
    text = re.sub(rf"((?:fill|stroke): ){INK}", r"\1currentColor", text)
    text = text.replace("<svg ", '<svg fill="currentColor" ', 1)
    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', text))
    return re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", text)


def prefixed(svg: str, prefix: str) -> str:
    """With a prefix before every name in it: the names of two figures on a page must differ."""
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}", svg)


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

"""Colors and markers, the same in every picture: a color is a role, never a mood.

All colors are safe for the color-blind, and stand out from white and from a dark page alike: their contrast is
at least 3 with both. In a page each is a variable of the style sheet (`rendering.for_page`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from foresolve._base.extras import need

if TYPE_CHECKING:
    from matplotlib.colors import Colormap

Role = Literal["decision-focused", "two-stage", "heuristic", "choice", "reference", "bound"]
ROLES: tuple[Role, ...] = get_args(Role)

INK = "#000000"
PAPER = "#ffffff"  # what is behind: the face of a hollow marker
GRAY = "#7f858c"
FAINT = "#7f858c59"  # grids, and what is there but not chosen
COLORS: dict[Role, str] = {
    "decision-focused": "#1f7fc4",
    "two-stage": "#d0611a",
    "heuristic": "#2e9a6e",
    "choice": "#7d5ba6",
    "reference": "#7f858c",
    "bound": INK,
}
MARKERS: dict[Role, str] = {
    "decision-focused": "o", "two-stage": "s", "heuristic": "^", "choice": "p", "reference": "v", "bound": "D",
}  # fmt: skip
# Of pictures of one decision: what is chosen, and what the model or the truth says.
CHOSEN, GIVEN = COLORS["decision-focused"], COLORS["two-stage"]
SEQUENCE = (CHOSEN, GIVEN, COLORS["heuristic"], "#a76cc4", "#a98307")
# The variable of a page for each color: ink and paper are the colors of its text and of its background.
VARIABLES = {
    INK: "--text", PAPER: "--back", GRAY: "--gray", CHOSEN: "--blue", GIVEN: "--orange", COLORS["heuristic"]: "--green",
    COLORS["choice"]: "--violet", SEQUENCE[3]: "--purple", SEQUENCE[4]: "--gold",
}  # fmt: skip
MAP = "Greys"  # of numbers; dark is high


def color_of(role: Role | None) -> str:
    """The color of a role; gray where none is known."""
    return GRAY if role is None else COLORS[role]


def marker_of(role: Role | None) -> str:
    """The marker of a role."""
    return "o" if role is None else MARKERS[role]


def shades(color: str, least: float = 0.35) -> Colormap:
    """From a color that is transparent but for `least` to the color itself: for numbers, on any background."""
    colors: Any = need("matplotlib.colors", "a picture", "plot")
    return colors.LinearSegmentedColormap.from_list(
        "shades", [(*colors.to_rgb(color), alpha) for alpha in (least, 1.0)]
    )

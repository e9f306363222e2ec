"""Legends: what each color, marker and line of a picture means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from foresolve._base.drawing.palette import COLORS, INK, MARKERS, ROLES, Role
from foresolve._base.extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WORDS: dict[Role, str] = {
    "decision-focused": "trained on decisions",
    "two-stage": "two-stage: trained to predict",
    "heuristic": "heuristic, nothing learned",
    "choice": "choice: the best on validation data",
    "reference": "reference",
    "bound": "best decisions known",
}


def mark(label: str, color: str, marker: str = "o", *, hollow: bool = False, line: Any = "") -> Any:
    """An entry: a marker, a line, or both."""
    lines = need("matplotlib.lines", "a picture", "plot")
    return lines.Line2D(
        [], [], color=color, marker=marker, linestyle=line, label=label, markersize=6,
        markerfacecolor="none" if hollow else color,
    )  # fmt: skip


def patch(label: str, color: Any, edge: str = "none") -> Any:
    """An entry: a filled box."""
    return need("matplotlib.patches", "a picture", "plot").Patch(facecolor=color, edgecolor=edge, label=label)


def role_marks(roles: Iterable[Role | None]) -> list[Any]:
    """An entry for each role that is there, in the one order of roles; the bound is a dashed line."""
    present = set(roles)
    return [
        mark(WORDS[role], INK, "", line="--") if role == "bound" else mark(WORDS[role], COLORS[role], MARKERS[role])
        for role in ROLES
        if role in present
    ]


def below(figure: Figure, entries: Sequence[Any]) -> None:
    """One legend for a whole figure, below it, where it hides nothing, in as many columns as fit."""
    longest = max(len(str(entry.get_label())) for entry in entries)
    columns = int(figure.get_figwidth() / (0.7 + 0.066 * longest))
    figure.legend(
        handles=list(entries), loc="outside lower center", ncols=max(1, min(columns, len(entries))), frameon=False,
        fontsize=8, handlelength=3.2,
    )  # fmt: skip


def under(ax: Axes, entries: Sequence[Any], columns: int = 4) -> None:
    """The legend of axes, which may be part of the caller's figure: under them and their labels."""
    if not entries:
        return
    transforms: Any = need("matplotlib.transforms", "a picture", "plot")
    labelled = any(text.get_text() for text in ax.get_xticklabels()) if ax.get_xticks().size else False
    room = 2 + 15 * labelled + 13 * bool(ax.get_xlabel())  # points
    figure = ax.get_figure(root=True)
    assert figure is not None
    place = ax.transAxes + transforms.ScaledTranslation(0, -room / 72, figure.dpi_scale_trans)
    ax.legend(
        handles=list(entries), loc="upper center", bbox_to_anchor=(0.5, 0.0), bbox_transform=place, fontsize=8,
        ncols=min(columns, len(entries)), frameon=False, borderaxespad=0.3,
    )  # fmt: skip

"""Colors that everyone can tell apart, on white and on a dark page."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from foresolve._base.drawing.palette import (
    COLORS,
    GRAY,
    INK,
    MARKERS,
    ROLES,
    SEQUENCE,
    VARIABLES,
    color_of,
    marker_of,
    shades,
)

DARK = "#15181c"
# Machado, Oliveira and Fernandes (2009), at full severity, of linear RGB.
DEFICIENCIES = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
}  # fmt: skip


def linear(color: str) -> np.ndarray:
    rgb = np.array(to_rgb(color))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(first: str, second: str) -> float:
    a, b = sorted(float(linear(color) @ [0.2126, 0.7152, 0.0722]) + 0.05 for color in (first, second))
    return b / a


@pytest.mark.parametrize("color", sorted({*COLORS.values(), *SEQUENCE, GRAY} - {INK}))
def test_colors_stand_out_from_white_and_from_a_dark_page(color: str) -> None:
    assert contrast(color, "#ffffff") >= 3
    assert contrast(color, DARK) >= 3


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_roles_can_be_spelled_out_by_the_color_blind(deficiency: str) -> None:
    seen = {
        role: np.clip(np.array(DEFICIENCIES[deficiency]) @ linear(COLORS[role]), 0, 1) ** (1 / 2.2) for role in ROLES
    }
    for first, second in combinations(ROLES, 2):
        apart = np.abs(seen[first] - seen[second]).max()
        assert apart > 0.12 or MARKERS[first] != MARKERS[second]
        assert apart > 0.05, (first, second)


def test_every_role_has_its_own_marker_and_color() -> None:
    assert len(set(MARKERS.values())) == len(set(COLORS.values())) == len(ROLES)
    assert color_of(None) == GRAY
    assert marker_of("two-stage") == "s"


def test_every_color_has_a_variable_of_its_own() -> None:
    assert {*COLORS.values(), *SEQUENCE, GRAY, INK} < set(VARIABLES)
    assert len(set(VARIABLES.values())) == len(VARIABLES)


def test_shades_end_in_the_color() -> None:
    assert shades(GRAY)(1.0) == pytest.approx((*to_rgb(GRAY), 1.0))
    assert shades(GRAY, 0.2)(0.0)[3] == pytest.approx(0.2)

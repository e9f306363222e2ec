from __future__ import annotations

import pytest

from foresolve.solvers.exact.outcome import Limits
from mistakes import mistake


def test_some_limits_changed() -> None:
    assert Limits().but(nodes=None, seconds=None) == Limits()
    assert Limits(nodes=5).but(gap=0.1) == Limits(nodes=5, gap=0.1)


@pytest.mark.parametrize(
    ("limits", "about"),
    [
        ({"nodes": 0}, ("nodes", ">= 1", "got 0")),
        ({"nodes": 1.5}, ("nodes", "1.5")),
        ({"gap": -0.1}, ("gap", "-0.1")),
        ({"seconds": 0.0}, ("seconds", "0.0")),
    ],
)
def test_bad_limits(limits: dict, about: tuple[str, ...]) -> None:
    with mistake(*about):
        Limits(**limits)

from __future__ import annotations

import pytest

from foresolve.errors import InvalidInputError
from foresolve.solvers.exact.outcome import Limits


def test_some_limits_changed() -> None:
    assert Limits().but(nodes=None, seconds=None) == Limits()
    assert Limits(nodes=5).but(gap=0.1) == Limits(nodes=5, gap=0.1)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"nodes": 0}, "`nodes` must be an integer >= 1; got 0"),
        ({"nodes": 1.5}, "`nodes` must be an integer"),
        ({"gap": -0.1}, r"`gap` must be in \[0, inf\); got -0.1"),
        ({"seconds": 0.0}, "`seconds` must be a finite number > 0; got 0.0"),
    ],
)
def test_bad_limits(limits: dict, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Limits(**limits)

from __future__ import annotations

import math
from typing import Any

import pytest

from foresolve.projects import kinds


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (kinds.DURATION, 90, 90.0),
        (kinds.DURATION, "90 s", 90.0),
        (kinds.DURATION, "1.5h", 5400.0),
        (kinds.DURATION, " 2 Minutes ", 120.0),
        (kinds.SPLIT, [0.5, 0.25, 0.25], (0.5, 0.25, 0.25)),
        (kinds.WIDTHS, "auto", "auto"),
        (kinds.WIDTHS, [64, 32], (64, 32)),
        (kinds.WIDTHS, [], ()),
        (kinds.WIDTHS, 64, (64,)),
        (kinds.COLUMNS, "a", "a"),
        (kinds.COLUMNS, ["a", "b"], ("a", "b")),
        (kinds.LABEL, 7, 7),
        (kinds.NUMBERS, [1, 2.5], (1.0, 2.5)),
        (kinds.BLOCK, 7, 7),
        (kinds.SHARE, 0.95, 0.95),
    ],
)
def test_what_is_read(kind: kinds.Kind, value: Any, expected: Any) -> None:
    assert kind.read(value) == expected


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (kinds.TEXT, [1, "", None, ["a"], True]),
        (kinds.TEXTS, ["a", [], ["a", "a"], ["a", 1]]),
        (kinds.COLUMNS, [[], 3, {}]),
        (kinds.COUNT, [0, -1, 1.5, "3", True, 2.0]),
        (kinds.SEED, [-1, "0", False]),
        (kinds.SHARE, [0, 1, -0.5, 1.5, "0.5", math.nan]),
        (kinds.DURATION, [0, -3, "ten minutes", "10 parsecs", "min", "1.2.3 s", math.inf, True]),
        (kinds.SPLIT, [[0.6, 0.4], [0.6, 0.2, 0.1], [1.0, 0.0, 0.0], 0.6, ["a", "b", "c"]]),
        (kinds.WIDTHS, ["big", [0], [1.5], None]),
        (kinds.NUMBERS, ["3", [], [1, "a"], True]),
        (kinds.choice("a", "b"), ["c", 1, ["a"]]),
        (kinds.table_of(kinds.TEXT, "columns"), ["a", {"x": 1}]),
    ],
)
def test_what_is_refused(kind: kinds.Kind, values: list[Any]) -> None:
    for value in values:
        with pytest.raises((ValueError, TypeError)):
            kind.read(value)

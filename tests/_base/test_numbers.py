from __future__ import annotations

import math

import pytest

from foresolve._base.numbers import signed, significant


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (-0.0, "0"), (1234.0, "1234"), (12_345.0, "12,340"), (9_999.9, "10,000"), (-2.5e6, "-2,500,000"),
     (1e15, "1e+15"), (0.000123, "0.000123"), (1.5e-9, "1.5e-09"), (math.inf, "inf"), (math.nan, "nan")],
)  # fmt: skip
def test_large_numbers_are_written_out(value: float, text: str) -> None:
    assert significant(value) == text


def test_signs() -> None:
    assert [signed(v, 6) for v in (500_000.0, 12_345.6, 9_999.0)] == ["+500,000", "+12,345.6", "+9999"]
    assert [signed(v) for v in (3.0, -643_127.0, 0.0, 1e6)] == ["+3", "-643,000", "0", "+1,000,000"]

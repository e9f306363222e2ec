from __future__ import annotations

import pytest

from foresolve.schedules import geometric, linear
from mistakes import mistake


@pytest.mark.parametrize("schedule", [geometric, linear])
def test_from_start_to_stop_and_no_further(schedule) -> None:
    for start, stop in ((10.0, 0.1), (0.1, 10.0)):
        values = schedule(start, stop)
        assert values(0.0) == values(-1.0) == pytest.approx(start)
        assert values(1.0) == values(2.0) == pytest.approx(stop)
    for argument, bad in (("start", (0.0, 1.0)), ("stop", (1.0, -1.0)), ("stop", (1.0, float("inf")))):
        with mistake(argument, "> 0"):
            schedule(*bad)


def test_equal_ratios_and_equal_differences() -> None:
    shares = [i / 4 for i in range(5)]
    assert [geometric(16, 1)(share) for share in shares] == pytest.approx([16, 8, 4, 2, 1])
    assert [linear(9, 1)(share) for share in shares] == pytest.approx([9, 7, 5, 3, 1])

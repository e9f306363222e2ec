from __future__ import annotations

import pytest

from foresolve._base.items import read_items

pandas = pytest.importorskip("pandas")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["10", "9", "10"], ["9", "10"]),
        (["01", "1", "1"], ["01", "1"]),
        (["1", "01", "1"], ["01", "1"]),
        (["1", "²", "1"], ["1", "²"]),
        (["--5", "3", "3"], ["--5", "3"]),
        (["b", "a"], ["b", "a"]),
    ],
)
def test_repeated_names_are_sorted_whatever_they_look_like(names: list[str], expected: list[str]) -> None:
    assert read_items("items", pandas.DataFrame({"item": names}), "item").names == expected

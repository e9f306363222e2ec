from __future__ import annotations

import pytest

from foresolve.report.formats import listed, number, percent, title
from report.views import published_run
from reproduce.fakes import fake_run


@pytest.mark.parametrize(
    ("value", "text"), [(9.94, "+9.9 %"), (9.96, "+10 %"), (-0.04, "-0.0 %"), (-12.5, "-12 %"), (406.9, "+407 %")]
)
def test_percent(value: float, text: str) -> None:
    assert percent(value) == text


def test_number() -> None:
    assert number(None, None) == ""
    assert number(6.149, None) == "6.15"
    assert number(0.008673, 1.83e-4, 4, 100.0) == "0.8673 ± 0.0183"


def test_listed() -> None:
    assert [listed(list(text)) for text in ("a", "ab", "abc")] == ["a", "a and b", "a, b and c"]


def test_titles_name_protocol_data_and_size() -> None:
    assert title(published_run("matching", "exact", data="d")) == (
        "Bipartite matching (protocol exact, real data, 30 splits)"
    )
    assert title(fake_run(quick=True, splits=1)) == (
        "Bipartite matching (protocol exact, generated data, quick, 1 split)"
    )

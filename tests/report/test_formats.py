from __future__ import annotations

import pytest

from foresolve.report.formats import mean_cell, moment, number, percent, title
from foresolve.report.published import Published
from foresolve.report.summary import estimate
from report.views import published_run
from reproduce.fakes import fake_run


@pytest.mark.parametrize(
    ("value", "text"), [(9.94, "+9.9 %"), (9.96, "+10 %"), (-0.04, "-0.0 %"), (-12.5, "-12 %"), (406.9, "+407 %")]
)
def test_percent(value: float, text: str) -> None:
    assert percent(value) == text


def test_number() -> None:
    assert number(None) == ""
    assert number(estimate([6.149])) == "6.15"
    assert number(Published(0.008673, 1.83e-4), 4, 100.0) == "0.8673 ± 0.0183"
    assert mean_cell(Published(0.008673, 1.83e-4), 4, 100.0).value == pytest.approx(0.8673)


def test_moments_are_read_and_what_is_none_is_none() -> None:
    assert moment("2026-11-16T10:00:00+00:00") == moment("2026-11-16T11:00:00+01:00")
    assert moment("2026-11-16T10:00:00") == moment("2026-11-16T10:00:00+00:00")  # of a machine that noted no zone
    assert [moment(text) for text in (None, "", "yesterday", 5)] == [None] * 4


def test_titles_name_protocol_data_and_size() -> None:
    assert title(published_run("matching", "exact", data="d")) == (
        "Bipartite matching (protocol exact, real data, 30 splits)"
    )
    assert title(fake_run(quick=True, splits=1)) == (
        "Bipartite matching (protocol exact, generated data, quick, 1 split)"
    )

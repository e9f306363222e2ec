"""All figures of a run: which there are, what they say of themselves, and how they are written."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from drawn import labels, overlaps
from foresolve.errors import MissingExtraError
from foresolve.report.figures import captions, draw, svgs, to_svg, write_figures
from foresolve.report.view import RunView
from reproduce.fakes import fake_run, picture

NAMES = ["differences", "shares", "values", "cost", "learning", "heat-maps", "out-weights"]


@pytest.fixture(scope="module", params=["budget", "matching"])
def run(request: pytest.FixtureRequest) -> RunView:
    return fake_run(request.param, splits=3)


def test_every_figure_has_a_legend_and_a_caption(run: RunView) -> None:
    drawn = draw(run)
    assert list(drawn) == NAMES
    assert set(drawn) <= set(captions(run))
    for name, figure in drawn.items():
        explained = labels(figure.legends[0]) if figure.legends else []
        if name == "heat-maps":  # a bar of its scale
            bars = [image.colorbar for axis in figure.axes for image in axis.images if image.colorbar is not None]
            assert len(bars) == 1
            explained = [bar.ax.get_ylabel() for bar in bars if "theta" in bar.ax.get_ylabel()]
        assert explained, name


def test_texts_stay_apart(run: RunView) -> None:
    assert {name: found for name, figure in draw(run).items() if (found := overlaps(figure))} == {}


def test_captions_are_true_of_the_run() -> None:
    assert "published" in captions(fake_run("budget", splits=2))["values"]
    assert "published" not in captions(fake_run("budget", splits=2, quick=True))["values"]
    assert "k = 10" in captions(fake_run("budget", splits=2))["cost"]
    assert "k =" not in captions(fake_run("matching", splits=2))["cost"]


def test_files(tmp_path: Path) -> None:
    paths = write_figures(fake_run(splits=2), tmp_path)
    assert [path.name for path in paths] == [f"{name}.{ending}" for name in NAMES for ending in ("png", "svg")]
    assert all(path.stat().st_size > 1000 for path in paths)


def test_figures_are_the_same_for_the_same_run() -> None:
    first, second = (svgs(fake_run(splits=2, pictures=False)) for _ in range(2))
    assert first == second


def test_what_is_missing_is_not_drawn() -> None:
    run = fake_run(splits=2, pictures=False)
    assert list(draw(run)) == NAMES[:5]
    assert draw(replace(run, records=[])) == {}
    half = replace(run, pictures={"NN2-Decision": picture("matching", "NN2-Decision")})
    assert list(draw(half)) == NAMES
    alone = replace(run, records=[r for r in run.records if r.method in ("NN1-Decision", "OPT")])
    assert list(draw(alone)) == ["values", "learning"]
    earlier = fake_run(splits=2, pictures=False, curves=False)
    assert list(draw(earlier)) == NAMES[:4]


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"foresolve\[plot\]"):
        draw(fake_run(splits=2))


def test_pyplot_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # importing it is now an error
    for figure in draw(fake_run(splits=2)).values():
        assert to_svg(figure)

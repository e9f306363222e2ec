"""The figures, by what is drawn rather than by pixels."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from foresolve.errors import InvalidInputError, MissingExtraError
from foresolve.report.figures import (
    BLUE,
    ORANGE,
    draw,
    heat_maps,
    out_weights,
    prefixed,
    r_squared,
    to_png,
    to_svg,
    value_chart,
    write_figures,
)
from reproduce.fakes import fake_run, picture, record

METHODS = ("NN2-2Stage", "NN2-Decision")


@pytest.fixture(scope="module")
def pictures() -> dict[str, dict[str, np.ndarray]]:
    return {method: picture("matching", method) for method in METHODS}


def test_heat_maps_show_truth_and_predictions_in_one_order(pictures: dict[str, dict[str, np.ndarray]]) -> None:
    figure = heat_maps(pictures, rows="papers", columns="others")
    maps = [axis for axis in figure.axes if axis.images]
    assert [axis.get_title() for axis in maps] == ["truth", *METHODS]
    order = np.argsort(-pictures[METHODS[0]]["theta"].sum(1), kind="stable")
    shown = [np.asarray(axis.images[0].get_array()) for axis in maps]
    np.testing.assert_array_equal(shown[0], pictures[METHODS[0]]["theta"][order])
    np.testing.assert_array_equal(shown[2], pictures[METHODS[1]]["theta_hat"][order])
    colors = maps[0].images[0].get_cmap()
    assert sum(colors(1.0)[:3]) < sum(colors(0.0)[:3])  # dark is high


@pytest.mark.parametrize(
    ("alive", "limits"), [(0, (0.0, 1.0)), (1, (0.0, 0.3)), (300, (0.0, 0.3))], ids=["none", "too few", "enough"]
)
def test_a_map_of_dead_outputs_is_white(alive: int, limits: tuple[float, float]) -> None:
    theta_hat = np.zeros((20, 40))
    theta_hat.ravel()[:alive] = 0.3
    figure = heat_maps({"NN1": {"theta": np.eye(20, 40), "theta_hat": theta_hat}}, rows="a", columns="b")
    assert [axis for axis in figure.axes if axis.images][1].images[0].get_clim() == limits


def test_wide_matrices_are_stacked() -> None:
    wide = heat_maps({"NN1-2Stage": picture("budget", "NN1-2Stage")}, rows="channels", columns="customers")
    assert wide.get_figheight() > 0.5 * wide.get_figwidth()
    first, second = [axis.get_position().y0 for axis in wide.axes if axis.images]
    assert first > second


def test_shapes_must_agree(pictures: dict[str, dict[str, np.ndarray]]) -> None:
    wrong = {**pictures["NN2-2Stage"], "theta_hat": np.zeros(2500)}
    with pytest.raises(InvalidInputError, match=r"theta_hat of NN2-2Stage.*\(50, 50\)"):
        heat_maps({"NN2-2Stage": wrong}, rows="papers", columns="others")
    wrong = {**pictures["NN2-2Stage"], "predicted_weight": np.zeros(3)}
    with pytest.raises(InvalidInputError, match="predicted_weight of NN2-2Stage"):
        out_weights({"NN2-2Stage": wrong}, rows="papers")


def test_out_weights_print_r2(pictures: dict[str, dict[str, np.ndarray]]) -> None:
    figure = out_weights(pictures, rows="papers")
    for axis, (method, drawn) in zip(figure.axes, pictures.items()):
        r = np.corrcoef(drawn["true_weight"].ravel(), drawn["predicted_weight"].ravel())[0, 1]
        assert axis.get_title() == f"{method}: r² = {r**2:.2f}"
        points = np.asarray(axis.collections[0].get_offsets())
        np.testing.assert_allclose(points[:, 0], drawn["true_weight"].ravel())


def test_r_squared() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random(50), rng.random(50)
    assert r_squared(x, y) == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)
    assert r_squared(x, 100 - 3 * x) == pytest.approx(1.0)
    assert r_squared(x, np.full(50, 0.1)) is None
    assert r_squared(np.zeros(50), y) is None


def test_a_constant_prediction_is_drawn_too() -> None:
    constant = {"true_weight": np.arange(4.0).reshape(1, 4), "predicted_weight": np.ones((1, 4))}
    assert out_weights({"NN1-2Stage": constant}, rows="papers").axes[0].get_title() == "NN1-2Stage: all equal"


def test_the_chart_has_means_intervals_and_published_figures() -> None:
    run = fake_run("budget")
    figure = value_chart(run)
    assert [axis.get_title() for axis in figure.axes] == ["k = 5", "k = 10", "k = 20"]
    lines = figure.axes[1].get_lines()
    row, best = run.row("NN1-Decision", 10), run.row("OPT", 10)
    assert row is not None
    assert best is not None
    assert list(np.asarray(lines[0].get_xdata())) == [row.value.low, row.value.high]
    assert list(np.asarray(lines[1].get_xdata())) == [row.value.mean]
    assert to_rgba(lines[1].get_color()) == to_rgba(BLUE)  # type: ignore[arg-type]
    assert list(np.asarray(lines[2].get_xdata())) == [72.62]
    assert next(iter(np.asarray(lines[-1].get_xdata()))) == best.value.mean
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()][:2] == ["NN1-Decision", "NN2-Decision"]
    quick = value_chart(fake_run("budget", quick=True, splits=2))
    assert len(quick.axes[0].get_lines()) == len(lines) - 6  # the paper has six rows


def test_variants_are_drawn_like_the_training_that_they_vary() -> None:
    run = fake_run(splits=2)
    more = [
        record(i, name, 3.0 + i) for i in range(2) for name in ("NN2-2Stage (2 epochs)", "NN2-Decision (exact layer)")
    ]
    axis = value_chart(replace(run, records=[*run.records, *more])).axes[0]
    colors = dict.fromkeys([BLUE, ORANGE])
    for color, name in zip((ORANGE, BLUE), ("NN2-2Stage (2 epochs)", "NN2-Decision (exact layer)")):
        height = [text.get_text() for text in axis.get_yticklabels()].index(name)
        colors[color] = {line.get_color() for line in axis.get_lines() if list(line.get_ydata()) == [height]}
    assert colors == {BLUE: {BLUE}, ORANGE: {ORANGE}}


def test_svg_is_sound_repeatable_and_its_names_are_its_own(pictures: dict[str, dict[str, np.ndarray]]) -> None:
    texts = [prefixed(to_svg(heat_maps(pictures, rows="papers", columns="others")), "a-") for _ in range(2)]
    assert texts[0] == texts[1]
    tree = ElementTree.fromstring(texts[0])
    names = [node.get("id", "a-") for node in tree.iter()]
    assert all(name.startswith("a-") for name in names)
    links = [value for node in tree.iter() for key, value in node.attrib.items() if key.endswith("href")]
    assert all(link[1:] in names for link in links if link.startswith("#"))
    assert "truth" in "".join(tree.itertext())  # text stays text
    assert to_png(heat_maps(pictures, rows="papers", columns="others")).startswith(b"\x89PNG")


def test_files(tmp_path: Path) -> None:
    paths = write_figures(fake_run(splits=2), tmp_path)
    names = ("values", "heat-maps", "out-weights")
    assert [path.name for path in paths] == [f"{name}.{ending}" for name in names for ending in ("png", "svg")]
    assert all(path.stat().st_size > 1000 for path in paths)


def test_what_is_missing_is_not_drawn() -> None:
    run = fake_run(splits=2, pictures=False)
    assert list(draw(run)) == ["values"]
    assert draw(replace(run, records=[])) == {}
    half = replace(run, pictures={"NN2-Decision": picture("matching", "NN2-Decision")})
    assert list(draw(half)) == ["values", "heat-maps", "out-weights"]


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"foresolve\[plot\]"):
        draw(fake_run(splits=2))


def test_pyplot_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # importing it is now an error
    for figure in draw(fake_run(splits=2)).values():
        assert to_svg(figure)

from __future__ import annotations

import csv
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tools.settings_page import commented

from foresolve.errors import InvalidInputError
from foresolve.projects import schema
from foresolve.projects.columns import check_columns
from foresolve.projects.samples.registry import SAMPLES, init
from foresolve.projects.settings import Settings
from foresolve.projects.toml import NAME
from mistakes import mistake


def text_of(kind: str, name: str = NAME) -> str:
    return dict(SAMPLES[kind].files())[name].decode()


@pytest.mark.parametrize("kind", SAMPLES)
def test_a_sample_is_complete(kind: str, tmp_path: Path) -> None:
    sample = init(kind, tmp_path / "new")
    assert {path.name for path in (tmp_path / "new").iterdir()} == set(sample.names())
    settings = Settings.read(tmp_path / "new")
    check_columns(settings)
    assert settings.problem == kind
    for name, content in sample.files():
        if name.endswith(".csv"):
            widths = {len(row) for row in csv.reader(content.decode().splitlines())}
            assert len(widths) == 1


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_settings_show_every_key(kind: str) -> None:
    """As the models describe it: `python tools/settings_page.py` writes the comments."""
    assert text_of(kind) == commented(text_of(kind))
    models = schema.tables(kind)
    for model in models.values():
        for key in model.model_fields:
            assert re.search(rf"^(# )?\[?(data\.)?{key}\b", text_of(kind), re.MULTILINE), key


@pytest.mark.parametrize("kind", SAMPLES)
def test_comments_with_keys_can_be_uncommented(kind: str) -> None:
    """All at once."""
    text = re.sub(r"^# (?=\w+ = )", "", text_of(kind), flags=re.MULTILINE)
    settings = Settings.parse(text, Path(NAME), files=False)
    assert settings.values.data.encode == {"weekday": "category"}
    assert settings.values.training == schema.Training(budget="1 min")


@pytest.mark.parametrize("kind", SAMPLES)
def test_tomorrow_has_the_same_features_and_no_truth(kind: str) -> None:
    data: dict[str, Any] = tomllib.loads(text_of(kind))["data"]
    past, new, truth = (
        text_of(kind, name).splitlines()[0].split(",")
        for name in (data["features"], "tomorrow.csv", "later_actuals.csv")
    )
    assert [name for name in past if name != data.get("value")] == new
    assert data["key"] in new
    assert data["key"] in truth


def test_low_streets_are_slow_in_heavy_rain() -> None:
    features, times = (
        list(csv.reader(text_of("shortest-path", name).splitlines())) for name in SAMPLES["shortest-path"].tables[1:]
    )
    rain = {row[0]: float(row[2]) for row in features[1:]}
    for column in range(1, len(times[0])):
        wet = [float(row[column]) for row in times[1:] if rain[row[0]] > 6]
        dry = [float(row[column]) for row in times[1:] if rain[row[0]] == 0]
        ratio = (sum(wet) / len(wet)) / (sum(dry) / len(dry))
        assert ratio < 1.3 or ratio > 1.5  # high streets, low streets


def test_encodings_of_a_sample_stay() -> None:
    text = text_of("top-k").replace('# weekday = "category"', '"week day" = "category"')
    assert tomllib.loads(commented(text))["data"]["encode"] == {"week day": "category"}


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "roads.csv").write_text("mine")
    with mistake("", "roads.csv", "`force`"):
        init("shortest-path", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["roads.csv"]
    init("shortest-path", tmp_path, force=True)
    assert (tmp_path / "roads.csv").read_text() != "mine"
    with mistake("folder"):
        init("knapsack", tmp_path / "roads.csv")
    with mistake("problem", "'top-k'", kind=InvalidInputError):
        init("topk", tmp_path)

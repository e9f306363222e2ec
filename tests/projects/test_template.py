from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from foresolve.projects.samples.registry import SAMPLES
from foresolve.projects.schema import SETTINGS, settings_of
from foresolve.projects.settings import NAME, Settings
from foresolve.projects.template import template


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_file_is_sound_and_shows_every_key(kind: str) -> None:
    sample = SAMPLES[kind]()
    text = sample.documents()[NAME]
    settings = Settings.parse(text, Path(NAME), files=False)
    assert settings.problem == kind
    assert max(map(len, text.splitlines())) <= 125
    for setting in SETTINGS:
        if setting.name in settings_of(setting.section, kind) and setting.section not in (
            "data.encode",
            "data.missing",
        ):
            assert re.search(rf"^(# )?\[?{setting.name}\b|^\[data\.{setting.name}\]", text, re.MULTILINE), setting.name


@pytest.mark.parametrize("kind", SAMPLES)
def test_what_stands_in_comments_is_sound_too(kind: str) -> None:
    """Lines with keys can be uncommented, all at once."""
    text = SAMPLES[kind]().documents()[NAME]
    settings = Settings.parse(re.sub(r"^# (?=\w+ = )", "", text, flags=re.MULTILINE), Path(NAME), files=False)
    assert settings.values["data"]["encode"] == {"weekday": "category"}
    assert settings.values["training"]["budget"] == 60  # a sample says one minute


def test_tables_and_names_that_need_quotes() -> None:
    values = {
        "problem": {"kind": "top-k", "file": "a.csv", "k": 2},
        "data": {"features": "f.csv", "parameters": "p.csv", "key": ["a", "b"], "encode": {"week day": "category"}},
        "data.missing": {"features": "mean"},
    }
    text = template("top-k", values)
    document = tomllib.loads(text)
    assert document["data"]["encode"] == {"week day": "category"}
    assert document["data"]["missing"] == {"features": "mean"}
    assert document["data"]["key"] == ["a", "b"]

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from foresolve.errors import InvalidInputError
from foresolve.projects.columns import check_columns
from foresolve.projects.samples.registry import SAMPLES, init
from foresolve.projects.settings import Settings


@pytest.mark.parametrize("kind", SAMPLES)
def test_a_sample_is_small_and_the_same_each_time(kind: str, tmp_path: Path) -> None:
    sample = init(kind, tmp_path / "new")
    documents = sample.documents()
    assert documents == SAMPLES[kind]().documents()
    assert {path.name for path in (tmp_path / "new").iterdir()} == set(documents)
    assert all(len(text) < 150_000 for text in documents.values())
    check_columns(Settings.read(tmp_path / "new"))
    for name, text in documents.items():
        if name.endswith(".csv"):
            widths = {len(row) for row in csv.reader(text.splitlines())}
            assert len(widths) == 1


@pytest.mark.parametrize("kind", SAMPLES)
def test_tomorrow_has_the_same_features_and_no_truth(kind: str) -> None:
    sample = SAMPLES[kind]()
    past, new, truth = (sample.files[name].splitlines()[0].split(",") for name in (
        sample.values["data"]["features"], "tomorrow.csv", "later_actuals.csv"))  # fmt: skip
    value = sample.values["data"].get("value")
    assert [name for name in past if name != value] == new
    assert sample.values["data"]["key"] in new
    assert sample.values["data"]["key"] in truth


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "roads.csv").write_text("mine")
    with pytest.raises(InvalidInputError, match=r"has roads.csv already; nothing was written"):
        init("shortest-path", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["roads.csv"]
    init("shortest-path", tmp_path, force=True)
    assert (tmp_path / "roads.csv").read_text() != "mine"
    with pytest.raises(InvalidInputError, match="`folder` must be a folder"):
        init("knapsack", tmp_path / "roads.csv")
    with pytest.raises(InvalidInputError, match="Did you mean 'top-k'"):
        init("topk", tmp_path)

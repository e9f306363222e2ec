from __future__ import annotations

from pathlib import Path

import pytest

from foresolve.projects import Project, SettingsError
from projects.runs import change, quick_project


@pytest.mark.parametrize(
    ("kind", "key", "value", "told"),
    [
        ("shortest-path", "tail", '"form"', "roads.csv has no column `form`. Did you mean `from`?"),
        ("shortest-path", "name", '"raod"', "roads.csv has no column `raod`. Did you mean `road`?"),
        ("shortest-path", "columns", '["rain", "wnd"]', "features.csv has no column `wnd`. It has"),
        ("shortest-path", "dates", '"dat"', "features.csv has no column `dat`. Did you mean `date`?"),
        ("knapsack", "weight", '["weight", "size"]', "items.csv has no column `size`. It has"),
        ("knapsack", "variable", '"itme"', "history.csv has no column `itme`. Did you mean `item`?"),
        ("knapsack", "value", '"eraned"', "history.csv has no column `eraned`. Did you mean `earned`?"),
    ],
)
def test_columns_that_are_not_there(kind: str, key: str, value: str, told: str, tmp_path: Path) -> None:
    """With the line of the key that names them, before any work is done."""
    folder = quick_project(tmp_path, kind)
    change(folder, {key: value})
    lines = (folder / "foresolve.toml").read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if text.startswith(f"{key} ="))
    with pytest.raises(SettingsError) as caught:
        Project.load(folder)
    assert f"foresolve.toml, line {line}: `{key}`: " in str(caught.value)
    assert told in str(caught.value)


def test_the_sense_of_costs_is_no_column(tmp_path: Path) -> None:
    folder = quick_project(tmp_path, "top-k")
    change(folder, {"sense": '"min"'})
    assert Project.load(folder).problem().sense == "min"


def test_encodings_are_told_by_their_own_line(tmp_path: Path) -> None:
    folder = quick_project(tmp_path)
    path = folder / "foresolve.toml"
    path.write_text(path.read_text().replace("[data.encode]", '[data.encode]\nweekdy = "category"'))
    line = path.read_text().splitlines().index('weekdy = "category"') + 1
    with pytest.raises(SettingsError, match=rf"line {line}: `encode`: features.csv has no column `weekdy`. Did you"):
        Project.load(folder)


@pytest.mark.parametrize("sense", ["max", "min"])
def test_only_columns_are_looked_for(sense: str, tmp_path: Path) -> None:
    folder = quick_project(tmp_path, "top-k")
    path = folder / "foresolve.toml"
    path.write_text(path.read_text().replace("[data]", f'sense = "{sense}"\n[data]', 1))
    assert Project.load(folder).data().problem.sense == sense

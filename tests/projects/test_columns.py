from __future__ import annotations

from pathlib import Path

import pytest

from foresolve.projects import Project, SettingsError
from mistakes import mistake
from projects.runs import change, quick_project


@pytest.mark.parametrize(
    ("kind", "key", "value", "facts"),
    [
        ("shortest-path", "tail", '"form"', ("roads.csv", "'form'", "`from`")),
        ("shortest-path", "name", '"raod"', ("roads.csv", "'raod'", "`road`")),
        ("shortest-path", "columns", '["rain", "wnd"]', ("features.csv", "'wnd'")),
        ("shortest-path", "dates", '"dat"', ("features.csv", "'dat'", "`date`")),
        ("coverage", "worth", '"poeple"', ("customers.csv", "'poeple'", "`people`")),
        ("knapsack", "weight", '["weight", "size"]', ("items.csv", "'size'")),
        ("knapsack", "variable", '"itme"', ("history.csv", "'itme'", "`item`")),
        ("knapsack", "value", '"eraned"', ("history.csv", "'eraned'", "`earned`")),
    ],
)
def test_columns_that_are_not_there(kind: str, key: str, value: str, facts: tuple[str, ...], tmp_path: Path) -> None:
    """Before any work is done."""
    folder = quick_project(tmp_path, kind)
    change(folder, {key: value})
    with mistake(key, *facts, kind=SettingsError):
        Project.load(folder)


def test_the_sense_of_costs_is_no_column(tmp_path: Path) -> None:
    folder = quick_project(tmp_path, "top-k")
    change(folder, {"sense": '"min"'})
    assert Project.load(folder).problem().sense == "min"


def test_encodings_of_a_column_that_is_not_there(tmp_path: Path) -> None:
    folder = quick_project(tmp_path)
    path = folder / "foresolve.toml"
    path.write_text(path.read_text().replace("[data.encode]", '[data.encode]\nweekdy = "category"'))
    with mistake("encode", "features.csv", "'weekdy'", "`weekday`", kind=SettingsError):
        Project.load(folder)


@pytest.mark.parametrize("sense", ["max", "min"])
def test_only_columns_are_looked_for(sense: str, tmp_path: Path) -> None:
    folder = quick_project(tmp_path, "top-k")
    path = folder / "foresolve.toml"
    path.write_text(path.read_text().replace("[data]", f'sense = "{sense}"\n[data]', 1))
    assert Project.load(folder).data().problem.sense == sense

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import pytest

from foresolve._base.progress import seconds
from foresolve.projects import schema
from foresolve.projects.settings import Settings
from foresolve.projects.toml import SettingsError, toml
from mistakes import mistake

GOOD = """\
[problem]
kind = "shortest-path"
file = "roads.csv"
source = "A"
target = "B"

[data]
features = "features.csv"
parameters = "times.csv"
key = "date"

[data.encode]
weekday = "category"

[training]
budget = "10 min"
"""
PATH = Path("foresolve.toml")
# A line that is replaced, by which one; the message.
BROKEN = [
    ('source = "A"', 'sorce = "A"', "[problem] sorce is not a key of this table. Did you mean `source`?"),
    ('source = "A"', "", "[problem] source is missing: the node where the path or flow begins"),
    ('source = "A"', "source = 1.5", "[problem] source must be a name, as text or a whole number; got 1.5"),
    ('kind = "shortest-path"', "", "[problem] kind is missing: the kind of problem"),
    ('kind = "shortest-path"', 'kind = "shortest_path"',
     '[problem] kind must be one of "shortest-path", "matching", "assignment", "knapsack", "top-k", "coverage", '
     '"max-flow", "min-cost-flow", "mps"; got "shortest_path". Did you mean `shortest-path`?'),
    ('target = "B"', 'target = "B"\nk = 3', "[problem] k is not a key of this table. It belongs to top-k, coverage"),
    ('target = "B"', 'target = "B"\nkey = "c"', "[problem] key is not a key of this table. It belongs into [data]"),
    ("[data]", "[dta]", "there is no table [dta]. Did you mean `data`?"),
    ("[training]", "[model.hiden]\n[training]", "[model] hiden is not a key of this table. Did you mean `hidden`?"),
    ("[problem]", "seed = 1\n[problem]", "seed stands outside of all tables. It belongs into [training]"),
    ("[data]", "[[data]]", "data must be a table, [data]; got a list of tables"),
    ('budget = "10 min"', 'budget = "ten min"',
     '[training] budget must be seconds, or text such as "10 min"; got "ten min"'),
    ('budget = "10 min"', "split = [0.6, 0.3]",
     "[training] split must be three shares above 0 that add up to 1, as [0.6, 0.2, 0.2]; got [0.6, 0.3]"),
    ('weekday = "category"', 'weekday = "categry"',
     '[data.encode] weekday must be one of "category", "number", "date", "trend", "ignore"; got "categry". '
     "Did you mean `category`?"),
    ('key = "date"', 'key = ["a", "a"]',
     '[data] key must be a column, as text, or a list of columns, as ["a", "b"]; got ["a", "a"]'),
    ('key = "date"', 'key = "date"\nmissing = "mena"',
     '[data] missing must be one of "refuse", "drop", "mean", "median", "previous", or a table of them by file; '
     'got "mena". Did you mean `mean`?'),
    ('key = "date"', 'key = "date"\nmissing = { theta = "drop" }',
     "[data.missing] theta is not a key of this table. Its keys: features, parameters"),
    ('key = "date"', 'key = "date"\nvalue = "v"', "[data] value needs `variable` too, in a long file"),
    ('parameters = "times.csv"', "",
     "[data] parameters is missing: a file; or `variable` and `value` of one long file"),
    ('source = "A"', "source = A", "not valid TOML: Invalid value (at line 4, column 10)"),
]  # fmt: skip
REFUSED: list[tuple[str, str, list[Any]]] = [
    ("data", "value", [1, "", ["a"], True]),
    ("data", "columns", ["a", [], ["a", "a"], ["a", 1]]),
    ("data", "key", [[], 3, {"a": 1}, [""]]),
    ("data", "dates", [True, 3]),
    ("data", "encode", ["category", [1]]),
    ("problem", "weight", [[], 1, {"a": 1}]),
    ("problem", "capacity", ["3", [], [1, "a"], True, math.inf, math.nan]),
    ("training", "trials", [0, -1, 1.5, "3", True, 2.0]),
    ("training", "seed", [-1, "0", False]),
    ("training", "confidence", [0, 1, -0.5, 1.5, "0.5", math.nan]),
    ("training", "budget", [0, -3, "ten minutes", "10 parsecs", "min", "1.2.3 s", math.inf, True]),
    ("training", "split", [[0.6, 0.4], [0.6, 0.2, 0.1], [1.0, 0.0, 0.0], 0.6, ["a", "b", "c"]]),
    ("training", "block", [0, "weekly", 1.5, True]),
    ("model", "hidden", ["big", [0], [1.5], True]),
    ("model", "head", ["fre", 1, ["free"]]),
]
READ: list[tuple[str, str, Any, Any]] = [
    ("training", "budget", "1.5 h", 5400.0),
    ("training", "split", [0.5, 0.25, 0.25], (0.5, 0.25, 0.25)),
    ("training", "block", 7, 7),
    ("model", "hidden", "auto", "auto"),
    ("model", "hidden", [64, 32], (64, 32)),
    ("model", "hidden", [], ()),
    ("model", "hidden", 64, (64,)),
    ("data", "key", "a", "a"),
    ("data", "key", ["a", "b"], ("a", "b")),
    ("data", "dates", False, False),
    ("problem", "weight", ["a", "b"], ("a", "b")),
    ("problem", "capacity", [1, 2.5], (1.0, 2.5)),
    ("problem", "capacity", 7, 7.0),
]


def parsed(old: str = "", new: str = "") -> Settings:
    assert old in GOOD
    return Settings.parse(GOOD.replace(old, new, 1), PATH, files=False)


def knapsack(table: str, key: str, value: Any) -> schema.Document:
    """A document that is sound but for one value."""
    document: dict[str, dict[str, Any]] = {
        "problem": {"kind": "knapsack", "file": "items.csv", "capacity": 3},
        "data": {"features": "f.csv", "parameters": "p.csv", "key": "day"},
        "model": {},
        "training": {},
    }
    document[table][key] = value
    if key == "value":
        document["data"]["variable"] = "name"
    return schema.checked(document, PATH)


@pytest.mark.parametrize(("old", "new", "message"), BROKEN, ids=[new for _, new, _ in BROKEN])
def test_messages_name_table_and_key(old: str, new: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parsed(old, new)
    assert str(caught.value) == f"foresolve.toml: {message}"


def test_errors_have_fields() -> None:
    with mistake("trials", kind=SettingsError) as caught:
        parsed('budget = "10 min"', "trials = 0")
    error = caught.value
    assert isinstance(error, SettingsError)
    assert (error.path, error.table, error.key) == (PATH, "training", "trials")
    assert (error.expected, error.got) == ("a whole number >= 1", "0")


@pytest.mark.parametrize(("table", "key", "value"), [(t, k, value) for t, k, values in REFUSED for value in values])
def test_values_of_another_kind_are_errors(table: str, key: str, value: Any) -> None:
    with mistake(key, kind=SettingsError) as caught:
        knapsack(table, key, value)
    assert isinstance(caught.value, SettingsError)
    assert caught.value.table == table


@pytest.mark.parametrize(("table", "key", "value", "expected"), READ)
def test_values_are_read(table: str, key: str, value: Any, expected: Any) -> None:
    assert getattr(getattr(knapsack(table, key, value), table), key) == expected


def test_times_in_words() -> None:
    assert [seconds(text) for text in ("90 s", "1.5h", " 2 Minutes ")] == [90.0, 5400.0, 120.0]


def test_what_is_not_said_has_its_default() -> None:
    values = parsed().values
    assert isinstance(values.problem, schema.ShortestPath)
    assert values.problem.tail == "from"
    assert values.data.missing == schema.Missing(features="refuse", parameters="refuse")
    assert values.data.encode == {"weekday": "category"}
    assert values.training.budget == 600.0
    assert values.training.split == (0.6, 0.2, 0.2)
    assert (values.model.hidden, values.model.head) == ("auto", "auto")


def test_missing_values_by_table() -> None:
    values = parsed("[training]", '[data.missing]\nfeatures = "median"\n[training]').values
    assert values.data.missing == schema.Missing(features="median", parameters="refuse")


def test_descriptions_fit_into_comments() -> None:
    for model in (*schema.PROBLEMS.values(), *schema.tables().values(), schema.Missing):
        for key, field in model.model_fields.items():
            assert field.description, (model, key)
            assert field.description[0].islower()
            assert not field.description.endswith(".")
            assert schema.kind_of(field).words


def test_values_as_toml_are_read_back() -> None:
    for value in ("a", 'a "quoted" \\ word', 3, 0.5, [0.6, 0.2], ["a", "b"]):
        assert tomllib.loads(f"x = {toml(value)}")["x"] == value


def test_files_are_sought_beside_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "foresolve.toml").write_text(GOOD)
    for name in ("roads.csv", "features.csv"):
        (folder / name).write_text("a\n1\n")
    with mistake("parameters", "'times.csv', which is not there", kind=SettingsError):
        Settings.read(folder)
    (folder / "times.csv").write_text("a\n1\n")
    (folder / "foresolve.toml").write_text("\ufeff" + GOOD.replace("\n", "\r\n"), newline="")  # as Windows writes it
    settings = Settings.read(folder / "foresolve.toml")
    assert settings.file("data", "parameters") == folder / "times.csv"


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with mistake("", "`foresolve init`", kind=SettingsError):
        Settings.read(tmp_path)
    (tmp_path / "foresolve.toml").write_bytes(b"\xff\xfe")
    with mistake("", "UTF-8", kind=SettingsError):
        Settings.read(tmp_path)

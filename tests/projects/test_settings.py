from __future__ import annotations

import re
from pathlib import Path

import pytest

from foresolve.errors import InvalidInputError
from foresolve.projects.settings import Settings, SettingsError

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
# What is replaced by what, the line, and what is said of it.
BROKEN = [
    ('source = "A"', 'sorce = "A"', 4, "unknown key `sorce` in [problem]. Did you mean `source`?"),
    ('source = "A"', "", 1, "the key `source` is missing in [problem]: the node where the path or flow begins"),
    ('source = "A"', "source = 1.5", 4, "`source` must be a name, as text or a whole number; got 1.5"),
    ('kind = "shortest-path"', "", 1, "the key `kind` is missing in [problem]: the kind of problem"),
    ('"shortest-path"', '"shortest_path"', 2,
     "`kind` must be one of ...; got \"shortest_path\". Did you mean `shortest-path`?"),
    ('target = "B"', 'target = "B"\ncapacity = "c"', 6,
     "unknown key `capacity` in [problem] for shortest-path. It belongs to max-flow, min-cost-flow, knapsack."),
    ('target = "B"', 'target = "B"\nkey = "c"', 6, "unknown key `key` in [problem]. It belongs into [data]."),
    ("[data]", "[dta]", 7, "unknown table [dta]. Did you mean `data`?"),
    ("[problem]", "seed = 1\n[problem]", 1, "unknown key `seed`. It belongs into [training]."),
    ("[training]", "[training]\ntrails = 3", 16, "unknown key `trails` in [training]. Did you mean `trials`?"),
    ('budget = "10 min"', 'budget = "ten min"', 16,
     "`budget` must be seconds, or text such as \"10 min\"; got \"ten min\""),
    ('budget = "10 min"', "trials = 0", 16, "`trials` must be a whole number >= 1; got 0"),
    ('budget = "10 min"', "split = [0.6, 0.3]", 16,
     "`split` must be three shares above 0 that add up to 1, ...; got [0.6, 0.3]"),
    ('budget = "10 min"', "seed = true", 16, "`seed` must be a whole number >= 0; got True"),
    ('"category"', '"categry"', 13, "`weekday` must be one of ...; got \"categry\". Did you mean `category`?"),
    ('key = "date"', "key = 3", 10, "`key` must be a column, as text, or a list of columns, as [\"a\", \"b\"]; got 3"),
    ('key = "date"', 'key = "date"\nmissing = "mena"', 11,
     "`missing` must be one of ...; got \"mena\". Did you mean `mean`?"),
    ('key = "date"', 'key = "date"\nmissing = { featurs = "mean" }', 11,
     "unknown key `featurs` in [data.missing]. Did you mean `features`?"),
    ('key = "date"', 'key = "date"\nmissing = { theta = "drop" }', 11,
     "unknown key `theta` in [data.missing]. Its keys: features, parameters."),
    ('key = "date"', 'key = "date"\nvalue = "v"', 11, "`value` of a long file needs `variable` too, in [data]"),
    ('parameters = "times.csv"', "", 7, "the key `parameters` is missing in [data]: a file; or ..."),
    ('file = "roads.csv"', 'file = "roads.csv', 3, "..."),
    ("[data.encode]", "[data.encode", 12, "..."),
    ("[problem]", "problem = 3\n[other]", 1, "`problem` must be a table, [problem]; got 3"),
    ('source = "A"', 'source = "A"\nsource = "C"', 5, "..."),
    ('source = "A"', "source = A", 4, "Invalid value: source = A"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "message"), BROKEN, ids=[f"{new} {line}" for _, new, line, _ in BROKEN])
def test_what_is_wrong_is_told_with_its_line(old: str, new: str, line: int, message: str) -> None:
    assert old in GOOD
    pattern = re.escape(f"foresolve.toml, line {line}: {message}").replace(r"\.\.\.", ".*")
    with pytest.raises(SettingsError, match=f"^{pattern}$") as error:
        Settings.parse(GOOD.replace(old, new, 1), PATH, files=False)
    assert isinstance(error.value, InvalidInputError)


def test_what_is_not_said_has_its_default() -> None:
    values = Settings.parse(GOOD, PATH, files=False).values
    assert values["problem"]["tail"] == "from"
    assert values["data"]["missing"] == {"features": "refuse", "parameters": "refuse"}
    assert values["data"]["encode"] == {"weekday": "category"}
    assert values["training"]["budget"] == 600.0
    assert values["training"]["split"] == (0.6, 0.2, 0.2)
    assert values["model"] == {"hidden": "auto", "head": "auto"}


def test_missing_values_by_table() -> None:
    text = GOOD.replace("[training]", '[data.missing]\nfeatures = "median"\n[training]')
    values = Settings.parse(text, PATH, files=False).values
    assert values["data"]["missing"] == {"features": "median", "parameters": "refuse"}


def test_files_are_sought_beside_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "foresolve.toml").write_text(GOOD)
    for name in ("roads.csv", "features.csv"):
        (folder / name).write_text("a\n1\n")
    with pytest.raises(SettingsError, match=r"foresolve.toml, line 9: the file 'times.csv' is not there"):
        Settings.read(folder)
    (folder / "times.csv").write_text("a\n1\n")
    (folder / "foresolve.toml").write_text("\ufeff" + GOOD.replace("\n", "\r\n"), newline="")  # as Windows writes it
    settings = Settings.read(folder / "foresolve.toml")
    assert settings.file("data", "parameters") == folder / "times.csv"


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"is not there\. `foresolve init` writes one"):
        Settings.read(tmp_path)
    (tmp_path / "foresolve.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="no text in UTF-8"):
        Settings.read(tmp_path)


def test_keys_of_many_parts(tmp_path: Path) -> None:
    for key in (".".join(["a"] * 100_000), " . ".join(['"b c"', "'d'"] * 1000), "x = {" + "a." * 50 + "b"):
        with pytest.raises(SettingsError, match=r"line 3: a key of more than 20 parts"):
            Settings.parse(f"# a.b\n\n{key} = 1\n", tmp_path / PATH)
    Settings.parse(GOOD + "# " + "a, " * 50 + "1.5 " * 50, tmp_path / PATH, files=False)

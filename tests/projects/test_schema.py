from __future__ import annotations

import tomllib

from foresolve.projects.schema import PROBLEMS, SECTIONS, SETTINGS, settings_of, tables, toml


def test_each_key_has_one_meaning_for_each_problem() -> None:
    for problem in PROBLEMS:
        for section in SECTIONS:
            names = [s.name for s in SETTINGS if s.section == section and (not s.problems or problem in s.problems)]
            assert len(names) == len(set(names)), (problem, section)


def test_defaults_are_of_their_kind() -> None:
    for setting in SETTINGS:
        assert not (setting.required and setting.default is not None)
        if setting.default not in (None, ""):
            setting.kind.read(setting.default)


def test_problems_of_settings_exist() -> None:
    for setting in SETTINGS:
        assert set(setting.problems) <= set(PROBLEMS)
        assert setting.section in SECTIONS
        assert setting.words[0].islower()
        assert not setting.words.endswith(".")


def test_every_kind_of_problem_needs_a_file() -> None:
    for problem in PROBLEMS:
        assert settings_of("problem", problem)["file"].required


def test_values_as_toml_are_read_back() -> None:
    for value in ("a", 'a "quoted" \\ word', 3, 0.5, [0.6, 0.2], ["a", "b"]):
        assert tomllib.loads(f"x = {toml(value)}")["x"] == value


def test_the_tables_have_every_setting() -> None:
    rows = [(section, row[0]) for section, _, rows in tables() for row in rows]
    assert len(rows) == len(SETTINGS)

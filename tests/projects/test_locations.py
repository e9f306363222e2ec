from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foresolve.projects.locations import Locations

TEXT = """# a comment with [table] and key = 1
top = 1

[data]  # a comment
key = ["a",   # of several lines
       "b = 3",
       "[no table]"]
"my column" = 'it''s
""".replace("'it''s", "'[x]'")
FULL = (
    TEXT
    + '''
note = """
[not.a.table]
key = 1
it ends in a quote""""
missing.features = "mean"
encode = { weekday = "category", "a b" = "number" }

[ data . deep ]
x = 1
[[list]]
y = { z = [1, 2,
  3] }
after = 2
'''
)


def test_lines_of_tables_and_keys() -> None:
    tomllib.loads(FULL)
    lines = Locations(FULL)
    expected = {
        ("top",): "top = 1", ("data",): "[data]", ("data", "key"): "key = [", ("data", "my column"): '"my column"',
        ("data", "note"): "note =", ("data", "missing"): "missing.", ("data", "missing", "features"): "missing.",
        ("data", "encode"): "encode =", ("data", "encode", "weekday"): "encode =", ("data", "deep"): "[ data",
        ("data", "deep", "x"): "x = 1", ("list",): "[[list]]", ("list", "y"): "y =", ("list", "after"): "after",
    }  # fmt: skip
    for path, beginning in expected.items():
        assert FULL.splitlines()[lines.line(path) - 1].startswith(beginning), path


def test_what_is_not_there_is_where_it_would_be() -> None:
    lines = Locations(FULL)
    assert lines.line(("data", "value")) == lines.line(("data",))
    assert lines.line(("model", "hidden")) == 1
    assert lines.line(()) == 1


def test_line_ends_of_windows() -> None:
    assert Locations(FULL.replace("\n", "\r\n")).line(("list", "after")) == Locations(FULL).line(("list", "after"))


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing", "[a]", "a=1"])
def test_short_files(text: str) -> None:
    assert Locations(text).line(("b",)) == 1


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b-c", '"d e"', "'f.g'", "h.i"]),
            st.sampled_from(
                ["1", '"x # y"', "'[t]'", "[1,\n 2]", '["]", "["]', '"\\""', "{ u = 1, v = '}' }", '"""\nw\n"""']
            ),
        ),
        unique_by=lambda pair: pair[0],
    )
)
def test_every_key_is_found_where_it_was_written(pairs: list[tuple[str, str]]) -> None:
    text, expected = "[table]\n", {}
    for key, value in pairs:
        path = tuple(key.split(".")) if key[0] not in "\"'" else (key[1:-1],)
        expected["table", *path] = text.count("\n") + 1
        text += f"{key} = {value}\n"
    tomllib.loads(text)
    lines = Locations(text)
    assert {path: lines.line(path) for path in expected} == expected

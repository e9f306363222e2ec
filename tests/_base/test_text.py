from __future__ import annotations

from foresolve._base.text import line_of, listed, some_of


def test_all_parts_are_listed() -> None:
    assert [listed(list(text)) for text in ("a", "ab", "abc")] == ["a", "a and b", "a, b and c"]


def test_the_first_names_stand_for_many() -> None:
    assert [some_of(["a", "b", "c"][:count], 2) for count in range(4)] == ["", "a", "a, b", "a, b and 1 more"]
    assert some_of(["a, b", "c", "d"], 2, "; ") == "a, b; c and 1 more"


def test_lines_of_errors_without_words_are_empty() -> None:
    error = RuntimeError("\nfirst line\nsecond\nlast\n")
    assert (line_of(error), line_of(error, -1)) == ("first line", "last")
    assert line_of(AssertionError()) == line_of(AssertionError(), -1) == ""

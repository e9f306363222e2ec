from __future__ import annotations

import re
import sys
from itertools import pairwise

import pytest

import foresolve
from cli.calls import invoke
from foresolve import MissingExtraError
from foresolve.cli import build, main
from mistakes import mistake

COMMANDS = ("init", "train", "evaluate", "compare", "decide", "monitor", "report", "doctor", "reproduce", "data")


def test_version() -> None:
    result = invoke("--version")
    assert result.exit_code == 0
    assert result.stdout == f"foresolve {foresolve.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["data"]])
def test_without_a_command_there_is_help_and_the_status_of_a_wrong_call(arguments: list[str]) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert "Usage:" in result.output
    assert "Commands" in result.output


@pytest.mark.parametrize("missing", ["typer", "rich.console"])
def test_a_missing_extra_is_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with mistake("", "foresolve[cli]", kind=MissingExtraError):
        build()
    with pytest.raises(SystemExit) as left:
        main()
    assert "foresolve[cli]" in str(left.value)


def test_all_commands_are_there() -> None:
    commands = invoke("--help").stdout.partition("Commands")[2]
    named = re.findall(r"^│ (\w+) ", commands, re.MULTILINE)
    assert named == list(COMMANDS)


@pytest.mark.parametrize("command", [(), *[(name,) for name in COMMANDS]])
def test_help_breaks_no_words_at_80_columns(command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every word that help has on a wide terminal is there on a narrow one, in the same order."""
    monkeypatch.delenv("FORESOLVE_DATA", raising=False)
    texts = {}
    for width in (80, 300):
        monkeypatch.setenv("COLUMNS", str(width))
        result = invoke(*command, "--help")
        assert result.exit_code == 0
        assert all(len(line.rstrip()) <= width for line in result.stdout.splitlines())
        texts[width] = result.stdout
    words = {width: set(re.sub(r"[│╭╮╰╯─]", " ", text).split()) for width, text in texts.items()}
    assert words[80] == words[300]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_paragraph_of_help_has_a_line_that_ends_early(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a docstring breaks is not broken again."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = [line.rstrip() for line in invoke(command, "--help").stdout.splitlines()]
    for line, following in pairwise(lines):
        plain = line and following and not any(mark in line + following for mark in "│╭╮╰╯")
        if plain and "Usage:" not in line:
            assert len(line) + 1 + len(following.split()[0]) > 79, line

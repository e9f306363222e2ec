from __future__ import annotations

import pytest

pytest.importorskip("rich")

from rich.console import Console

from foresolve.cli import output


@pytest.mark.parametrize("terminal", [True, False])
def test_sentences_break_between_words(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal of 80 columns; a pipe gets whole lines."""
    made = Console(force_terminal=terminal, width=80, soft_wrap=True, highlight=False, color_system=None)
    monkeypatch.setattr(output, "console", lambda: made)
    text = "Training on decisions pays: [spo+] saves 1.31 minutes [0.84, 1.8] an instance against ridge, a lot. " * 2
    output.print_text(text.strip())
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(line.strip() for line in lines) == text.strip()
    assert (max(map(len, lines)) <= 80) == terminal
    assert (len(lines) > 1) == terminal

from __future__ import annotations

import math
import sys

import pytest

from foresolve._base.extras import need
from foresolve.errors import MissingExtraError


def test_the_module_itself() -> None:
    assert need("math", "counting", "learn") is math


@pytest.mark.parametrize(
    ("module", "extra", "expected"),
    [
        ("rich.table", "cli", 'a table needs rich. Install it with: pip install "foresolve[cli]"'),
        ("sklearn", "learn", 'a table needs scikit-learn. Install it with: pip install "foresolve[learn]"'),
    ],
)
def test_the_extra_is_quoted_for_the_shell(
    module: str, extra: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError) as caught:
        need(module, "a table", extra)
    assert str(caught.value) == expected
    assert isinstance(caught.value, ImportError)


def test_what_comes_with_foresolve_but_cannot_be_imported_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(
        MissingExtraError, match=r"needs highspy, which cannot be imported \(.+\)\. .*pip install highspy\. Close it"
    ):
        need("highspy", "solving", note="Close it")

"""The meanings of methods' names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from foresolve._base.text import listed
from foresolve.learning.study.methods import Family
from foresolve.report.view import RunView


def terms(runs: Iterable[RunView]) -> dict[str, str]:
    """The names of all methods of these runs."""
    known = {method: run.method(method).words for run in runs for method in run.methods}
    return {name: text for name, text in known.items() if text}


def settings_words(settings: Mapping[str, Any], family: Family) -> str:
    """The settings of a trial; those of a decision-focused network are of the two-stage network that it begins with.

    >>> settings_words({"hidden": [64, 32], "lr": 0.01, "loss": "mse"}, Family.DECISION_FOCUSED)
    'from the two-stage network with hidden layers of 64 and 32, lr 0.01, loss mse'
    >>> settings_words({"depth": 3, "transform": None}, Family.TWO_STAGE)
    'depth 3, no transform'
    """
    told = ", ".join(_setting(name, value) for name, value in settings.items()) or "none"
    begun = family is Family.DECISION_FOCUSED and "hidden" in settings
    return f"from the two-stage network with {told}" if begun else told


def _setting(name: str, value: Any) -> str:
    if name == "hidden":
        return f"hidden layers of {listed([str(width) for width in value])}" if value else "no hidden layers"
    return f"no {name}" if value is None else f"{name} {value}"


def of_blocks(blocks: str) -> str:
    """A sentence about groups or blocks, if a page counts any."""
    told = "Test instances of a group or block, such as neighboring days, may depend on each other: it counts as one."
    return told if blocks else ""

"""Instances to look at: the true parameters, each method's prediction and decision, and the cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from foresolve._base.numbers import significant
from foresolve._base.table import Cell
from foresolve.learning.examples import LEAST
from foresolve.report.pages.document import Block, Folded, Grid, Line, Role, Text, line

WHOLE = 5e-4  # that a part of an item may be away from 1


def example_blocks(examples: Mapping[str, Any], roles: Mapping[str, Role], *, unit: str = "") -> tuple[Block, ...]:
    """The instances of `foresolve.learning.examples`, one below the other; the first on which methods differ is open.

    Parameters
    ----------
    roles: of the methods, for their colors.
    unit: of the values.
    """
    instances = examples.get("instances", ())
    first = next((place for place, example in enumerate(instances) if _told_apart(example)), 0)
    folded = [
        Folded(f"Instance {example['label']}", _tables(example, examples, roles, unit), place == first, printed=False)
        for place, example in enumerate(instances)
    ]
    return (Text((examples.get("picked", ""),)), *folded) if folded else ()


def _told_apart(example: Mapping[str, Any]) -> bool:
    return len({significant(choice["cost"]) for choice in example["choices"]}) > 1


def _tables(
    example: Mapping[str, Any], known: Mapping[str, Any], roles: Mapping[str, Role], unit: str
) -> tuple[Block, ...]:
    return _methods(example, roles, unit), *([_items(example, known)] if example["items"] else [])


def _methods(example: Mapping[str, Any], roles: Mapping[str, Role], unit: str) -> Grid:
    """The decisions and their costs, the cheapest first, the best decision known apart."""
    choices = sorted(example["choices"], key=lambda choice: choice["cost"])
    lines = [_decided(c["method"], c["value"], c["cost"], c["words"], roles.get(c["method"])) for c in choices]
    lines.append(_decided("best decision known", example["optimum"], 0.0, example["best_words"], apart=True))
    headers = ("method", f"value ({unit})" if unit else "value", "cost against the best decision", "decision")
    if not any(row.cells[-1].figure for row in lines):
        headers, lines = headers[:-1], [Line(row.cells[:-1], row.role, row.apart) for row in lines]
    return Grid("Decisions", headers, tuple(lines))


def _decided(name: str, value: float, cost: float, words: str, role: Role | None = None, apart: bool = False) -> Line:
    return line([name, _number(value), _number(cost), words], role, apart)


def _items(example: Mapping[str, Any], known: Mapping[str, Any]) -> Grid:
    """The predictions, item by item, marked where the decision of the method has the item."""
    shown = [choice for choice in example["choices"] if choice["predictions"] or choice["chosen"]]
    item, parameter = known.get("item", "item"), known.get("parameter", "parameter")
    lines = tuple(
        line([
            name, _number(example["truth"][place]), _chosen(_at(example["best"], place)),
            *(_number(_at(c["predictions"], place), _chosen(_at(c["chosen"], place)).figure) for c in shown),
        ])
        for place, name in enumerate(example["items"])
    )  # fmt: skip
    headers = (item, f"true {parameter}", "best decision", *(choice["method"] for choice in shown))
    left = example["left_out"]
    caption = "✓, and bold: chosen; the number before it says how much, where it is not 1."
    caption += f" {left} more, which matter less here, are left out." if left else ""
    return Grid("Predictions", headers, lines, caption)


def _at(numbers: Sequence[float], place: int) -> float | None:
    return numbers[place] if numbers else None


def _chosen(part: float | None) -> Cell:
    return Cell(None if part is None or abs(part) <= LEAST else part, format=_mark)


def _mark(part: float) -> str:
    return "✓" if abs(part - 1.0) <= WHOLE else f"{significant(part)} ✓"


def _number(value: float | None, chosen: str = "") -> Cell:
    """Six digits sort a column, and keep the page small; a number that is not finite is not known."""
    if value is None or not math.isfinite(value):
        return Cell(chosen)
    return Cell(float(f"{value:.6g}"), bold=bool(chosen), format=lambda value: f"{chosen} {significant(value)}".strip())

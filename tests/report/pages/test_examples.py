"""Instances to look at, as tables that fold."""

from __future__ import annotations

from typing import Any

from foresolve.report.pages.document import Block, Folded, Grid, Text
from foresolve.report.pages.examples import example_blocks


def choice(method: str, cost: float, predictions: list[float], chosen: list[float], words: str = "") -> dict[str, Any]:
    return {"method": method, "value": 3.0 - cost, "cost": cost, "words": words, "predictions": predictions,
            "chosen": chosen}  # fmt: skip


def instance(label: str, *choices: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"label": label, "optimum": 3.0, "items": ["tea", "rum"], "truth": [2.0, 3.0], "best": [0.0, 1.0],
            "best_words": "", "left_out": 0, "choices": choices, **changes}  # fmt: skip


def made(*instances: dict[str, Any], unit: str = "") -> tuple[Block, ...]:
    document = {"item": "drink", "parameter": "price", "picked": "Evenly.", "instances": instances}
    return example_blocks(document, {"spo+": "decision-focused"}, unit=unit)


def texts(grid: Block) -> list[list[str]]:
    assert isinstance(grid, Grid)
    return [[cell.text for cell in row.cells] for row in grid.lines]


WRONG = choice("mean", 1.0, [2.5, float("nan")], [1.0, 0.0])
RIGHT = choice("spo+", 0.0, [1.0, 7.0], [0.25, 0.75])


def test_the_first_instance_that_tells_methods_apart_is_open() -> None:
    picked, *folded = made(instance("a", RIGHT, RIGHT), instance("b", WRONG, RIGHT), instance("c", WRONG, RIGHT))
    assert picked == Text(("Evenly.",))
    assert [(one.summary, one.open, one.printed) for one in folded if isinstance(one, Folded)] == [
        ("Instance a", False, False), ("Instance b", True, False), ("Instance c", False, False),
    ]  # fmt: skip
    same = made(instance("a", RIGHT, RIGHT), instance("b", RIGHT, RIGHT))[1:]
    assert [one.open for one in same if isinstance(one, Folded)] == [True, False]


def test_tables_have_the_costs_and_mark_the_items_that_are_chosen() -> None:
    (_, folded) = made(instance("a", WRONG, RIGHT, left_out=3), unit="euros")
    assert isinstance(folded, Folded)
    methods, items = folded.blocks
    assert isinstance(methods, Grid)
    assert isinstance(items, Grid)
    assert methods.headers == ("method", "value (euros)", "cost against the best decision")
    assert texts(methods) == [["spo+", "3", "0"], ["mean", "2", "1"], ["best decision known", "3", "0"]]
    assert [row.role for row in methods.lines] == ["decision-focused", None, None]
    assert methods.references == [methods.lines[-1]]
    assert items.headers == ("drink", "true price", "best decision", "mean", "spo+")
    assert texts(items) == [["tea", "2", "", "✓ 2.5", "0.25 ✓ 1"], ["rum", "3", "✓", "", "0.75 ✓ 7"]]
    assert [[cell.bold for cell in row.cells[3:]] for row in items.lines] == [[True, True], [False, True]]
    assert "3 more" in items.caption


def test_amounts_are_told_unless_they_are_one() -> None:
    (_, folded) = made(instance("a", choice("mean", 1.0, [2.5, 1.0], [3.0, -0.5]), best=[1.0, 0.0]))
    assert isinstance(folded, Folded)
    assert [row[2:] for row in texts(folded.blocks[1])] == [["✓", "3 ✓ 2.5"], ["", "-0.5 ✓ 1"]]


def test_decisions_in_words_and_no_items() -> None:
    bare = instance("a", choice("mean", 1.0, [], [], "tea"), items=[], truth=[], best=[], best_words="rum")
    (_, folded) = made(bare)
    assert isinstance(folded, Folded)
    (methods,) = folded.blocks
    assert [row[-1] for row in texts(methods)] == ["tea", "rum"]


def test_without_instances_there_is_nothing() -> None:
    assert example_blocks({}, {}) == example_blocks({"instances": []}, {}) == ()

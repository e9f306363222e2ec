"""One instance to look at: the truth, each method's prediction and decision, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from foresolve.report.pages.document import Block, Role

VALUES = ("value", "cost", "optimum")


@dataclass(frozen=True)
class Choice:
    """What one method decided.

    Attributes
    ----------
    value: of the decision under the truth, in the problem's own sense.
    cost: what it lost against the best decision.
    words: the decision, where it says more than its items: a path.
    predictions: of each item; `None` where it has none.
    chosen: how much of each item is in the decision.
    """

    method: str
    value: float
    cost: float
    words: str = ""
    predictions: tuple[float | None, ...] = ()
    chosen: tuple[float, ...] = ()
    role: Role | None = "decision-focused"


@dataclass(frozen=True)
class Instance:
    """An instance and what methods made of it.

    Attributes
    ----------
    items: what is chosen among, those that matter here; `truth` is their true parameter.
    best: how much of each item is in the best decision known, worth `optimum`.
    left_out: how many other items there are.
    """

    label: str
    optimum: float
    items: tuple[str, ...]
    truth: tuple[float | None, ...]
    best: tuple[float, ...]
    choices: tuple[Choice, ...]
    best_words: str = ""
    left_out: int = 0


@dataclass(frozen=True)
class Picker(Block):
    """Instances, one of which shows at a time.

    Attributes
    ----------
    item, parameter: what an item and its parameter are called.
    unit: of the values.
    picked: how these instances were picked.
    """

    kind: ClassVar[str] = "picker"
    title: str
    instances: tuple[Instance, ...]
    item: str = "item"
    parameter: str = "parameter"
    unit: str = ""
    picked: str = ""

    def document(self) -> dict[str, Any]:
        """What the page's script reads."""
        return {"item": self.item, "parameter": self.parameter, "unit": self.unit,
                "instances": [_rounded(asdict(instance)) for instance in self.instances]}  # fmt: skip


def picker_of(
    examples: Mapping[str, Any], roles: Mapping[str, Role], *, unit: str = "", title: str = ""
) -> Picker | None:
    """From what `foresolve.learning.examples` says of instances; `None` where there are none."""
    instances = [_instance(example, roles) for example in examples.get("instances", ())]
    if not instances:
        return None
    return Picker(
        title, tuple(instances), examples.get("item", "item"), examples.get("parameter", "parameter"), unit,
        examples.get("picked", ""),
    )  # fmt: skip


def _instance(example: Mapping[str, Any], roles: Mapping[str, Role]) -> Instance:
    choices = [Choice(
        one["method"], one["value"], one["cost"], one["words"], tuple(one["predictions"]), tuple(one["chosen"]),
        roles.get(one["method"]),
    ) for one in example["choices"]]  # fmt: skip
    return Instance(
        example["label"], example["optimum"], tuple(example["items"]), tuple(example["truth"]), tuple(example["best"]),
        tuple(choices), example["best_words"], example["left_out"],
    )  # fmt: skip


def _rounded(value: Any, digits: int = 5) -> Any:
    """Five digits are enough to look at, and keep the page small; values have more: costs are their small differences.
    What is not finite is not known.
    """
    if isinstance(value, dict):
        return {name: _rounded(part, 9 if name in VALUES else 5) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    if isinstance(value, float):
        return float(f"{value:.{digits}g}") if value - value == 0 else None
    return value

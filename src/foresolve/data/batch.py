"""What a loss is minimized on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor
from torch.utils.data import default_collate
from torch.utils.data._utils.collate import default_collate_fn_map

from foresolve._base import checks, devices
from foresolve.problems.base import Problem


@dataclass(frozen=True)
class Batch:
    """Some instances of a data set; every tensor is `(B, ...)`.

    Attributes
    ----------
    features: what the model sees, a tensor or whatever else it takes.
    theta: the true parameters.
    problem: what is decided, shared by the instances or with one feasible set for each.
    decision: the best decision under the truth, where it was asked for.
    value: its objective.
    index: the instances' positions in the data set: the key of whatever a loss remembers about them.
    """

    features: Any
    theta: Tensor
    problem: Problem
    decision: Tensor | None = None
    value: Tensor | None = None
    index: Tensor | None = None

    def __len__(self) -> int:
        return len(self.theta)

    def to(self, device: torch.device | str) -> Self:
        """The same batch on another device; what is there already is kept as it is."""
        target = devices.canonical(device)

        def moved(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: moved(part) for key, part in value.items()}
            if isinstance(value, tuple | list):
                return type(value)(moved(part) for part in value)
            return value.to(target) if hasattr(value, "to") else value

        names = ("features", "theta", "problem", "decision", "value", "index")
        return replace(self, **{name: moved(getattr(self, name)) for name in names})

    def best(self) -> tuple[Tensor, Tensor]:
        """The best decision and its value; worked out here where the batch does not carry them."""
        decision = self.problem.solve(self.theta) if self.decision is None else self.decision
        value = self.problem.objective(decision, self.theta) if self.value is None else self.value
        return decision, value

    def check_prediction(self, theta_hat: Tensor) -> None:
        """`theta_hat` must have the shape of `theta`."""
        if not isinstance(theta_hat, Tensor) or theta_hat.shape != self.theta.shape:
            shape = str(tuple(theta_hat.shape)) if isinstance(theta_hat, Tensor) else type(theta_hat).__name__
            expected = f"{tuple(self.theta.shape)} to match the true parameters"
            raise checks.fail("theta_hat", expected, shape, "Check the output shape of the model")


def collate(batches: Sequence[Batch], *, collate_fn_map: Mapping[Any, Any] | None = None) -> Batch:
    """What a `DataLoader` makes of batches: the one that a data set made whole, or single instances side by side."""
    first = batches[0]
    if len(batches) == 1:
        return first if first.index is None or first.index.ndim else _stacked(batches)
    if any(batch.problem is not first.problem for batch in batches):
        raise checks.fail(
            "problem",
            "shared, for instances to be put side by side",
            "one for each",
            "Let the data set make its batches: `data.loader(batch_size)`, or a `DataLoader` of the data set itself",
        )
    return _stacked(batches)


def _stacked(batches: Sequence[Batch]) -> Batch:
    def column(name: str) -> Any:
        values = [getattr(batch, name) for batch in batches]
        return None if any(value is None for value in values) else default_collate(values)

    columns = {name: column(name) for name in ("features", "theta", "decision", "value", "index")}
    return Batch(problem=batches[0].problem, **columns)


default_collate_fn_map[Batch] = collate  # torch's way to teach its `DataLoader` a type

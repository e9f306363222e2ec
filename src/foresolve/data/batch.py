"""What a loss is minimized on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor
from torch.utils.data import default_collate
from torch.utils.data._utils.collate import default_collate_fn_map

from foresolve._base import checks, devices
from foresolve.errors import ForesolveError
from foresolve.problems.base import Problem

# What may be missing, and what every instance has an entry of.
TABLES = ("features", "theta", "decision", "value", "index", "weight")


class NoThetaError(ForesolveError, AttributeError):
    """The true parameters are asked for where decisions alone are known; so that `hasattr(batch, "theta")` is False."""

    def __init__(self, owner: str) -> None:
        super().__init__(
            f"the true parameters are not known: {owner} holds decisions alone. Losses that need only decisions have "
            "`uses_theta = False` (FenchelYoung, CaVE, Imitation); where parameters are on record, make the data set "
            "as `DecisionDataset(features, theta, problem)`"
        )


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Batch:
    """Some instances of a data set; every tensor is `(B, ...)`.

    Attributes
    ----------
    features: what the model sees, a tensor or whatever else it takes.
    theta: the true parameters. `None` is given where only decisions are known; asking for them is an error then.
    problem: what is decided, shared by the instances or with one feasible set for each.
    decision: the best decision under the truth, where it was asked for, or the one on record.
    value: its objective.
    index: the instances' positions in the data set: the key of whatever a loss remembers about them.
    weight: how much each instance counts; `None` where all count alike.

    Examples
    --------
    >>> import torch, foresolve
    >>> batch = foresolve.Batch(features=torch.zeros(2, 5), theta=torch.eye(2), problem=foresolve.TopK(2, k=1))
    >>> foresolve.MSE()(torch.zeros(2, 2), batch)
    tensor([0.5000, 0.5000])
    """

    features: Any
    theta: Tensor
    problem: Problem
    decision: Tensor | None
    value: Tensor | None
    index: Tensor | None
    weight: Tensor | None

    def __init__(
        self,
        features: Any,
        theta: Tensor | None,
        problem: Problem,
        decision: Tensor | None = None,
        value: Tensor | None = None,
        index: Tensor | None = None,
        weight: Tensor | None = None,
    ) -> None:
        if theta is None and decision is None:
            raise checks.fail("decision", "given where `theta` is not", "None", "One of them is to be learned from")
        vars(self).update(
            features=features, problem=problem, decision=decision, value=value, index=index, weight=weight
        )
        if theta is not None:
            vars(self)["theta"] = theta

    if not TYPE_CHECKING:  # for a type checker `theta` is a tensor, and no other name is an attribute

        def __getattr__(self, name: str) -> Any:
            if name == "theta":
                raise NoThetaError("this batch")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        known = ", ".join(name for name in TABLES if self._table(name) is not None)
        return f"{type(self).__name__}({known}; {self.problem!r})"

    def __len__(self) -> int:
        return len(self._leading_table())

    def _table(self, name: str) -> Any:
        return vars(self).get(name)

    def _leading_table(self) -> Tensor:
        """What there always is: the truth, or else the decisions."""
        return self._table("decision") if self._table("theta") is None else self.theta

    @property
    def has_theta(self) -> bool:
        """Whether the true parameters are known, or decisions alone."""
        return self._table("theta") is not None

    @property
    def device(self) -> torch.device:
        """Where the truth is, or else the decisions."""
        return self._leading_table().device

    def replaced(self, **parts: Any) -> Self:
        """The same batch with other parts; `theta` may be missing, which `dataclasses.replace` does not take."""
        whole: dict[str, Any] = {"theta": None, **vars(self), **parts}
        return type(self)(**whole)

    def to(self, device: torch.device | str) -> Self:
        """The same batch on another device; what is there already is kept as it is."""
        target = devices.canonical(device)

        def moved(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: moved(part) for key, part in value.items()}
            if isinstance(value, tuple | list):
                return type(value)(moved(part) for part in value)
            return value.to(target) if hasattr(value, "to") else value

        return self.replaced(**{name: moved(part) for name, part in vars(self).items()})

    def target(self) -> Tensor:
        """The decision to learn: the one that the batch carries, or the best under the truth, worked out here."""
        return self.problem.solve(self.theta) if self.decision is None else self.decision

    def best(self) -> tuple[Tensor, Tensor]:
        """The best decision and its value; worked out here where the batch does not carry them."""
        decision = self.target()
        value = self.problem.objective(decision, self.theta) if self.value is None else self.value
        return decision, value

    def check_prediction(self, theta_hat: Tensor) -> None:
        """`theta_hat` must have the shape of `theta`, or, where that is not known, of the problem's parameters."""
        sizes: tuple[int | None, ...] = (len(self), *self.problem.theta_shape)
        what = "the problem"
        if self.has_theta:
            sizes, what = tuple(self.theta.shape), "the true parameters"
        shape = tuple(theta_hat.shape) if isinstance(theta_hat, Tensor) else None
        if shape is None or len(shape) != len(sizes) or any(s not in (None, d) for s, d in zip(sizes, shape)):
            expected = f"({', '.join('...' if size is None else str(size) for size in sizes)}) to match {what}"
            got = type(theta_hat).__name__ if shape is None else str(shape)
            raise checks.fail("theta_hat", expected, got, "Check the output shape of the model")


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
        values = [vars(batch).get(name) for batch in batches]
        return None if any(value is None for value in values) else default_collate(values)

    return Batch(problem=batches[0].problem, **{name: column(name) for name in TABLES})


default_collate_fn_map[Batch] = collate  # torch's way to teach its `DataLoader` a type

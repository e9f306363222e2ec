"""The tables of a data set: what each instance has, by its position."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, SupportsIndex

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from foresolve._base import checks, devices
from foresolve.data.batch import Batch, NoThetaError
from foresolve.data.frames.alignment import align
from foresolve.data.frames.keys import Keys
from foresolve.data.frames.origin import Origin
from foresolve.data.frames.reader import FrameReader
from foresolve.data.inputs import as_table, by_name, check_some_weight, column_names, map_tables, table_for
from foresolve.problems.base import Problem
from foresolve.problems.feasibility import feasibility_tolerance


class Instances(Dataset[Batch]):
    """Features, true parameters or decisions, weights, labels and a problem, which follow their instances into parts.

    `DecisionDataset` documents the arguments.
    """

    skipped: tuple[int, ...] = ()
    origin: Origin | None = None
    features: Any

    def __init__(
        self,
        features: Any,
        theta: Any = None,
        problem: Problem | None = None,
        *,
        decisions: Any = None,
        values: Any = None,
        cache: str | Path | None = None,
        labels: Mapping[str, Any] | None = None,
        weights: Any = None,
        check: bool = True,
    ) -> None:
        if not isinstance(problem, Problem):
            raise checks.fail("problem", "a foresolve Problem", type(problem).__name__)
        self.problem, self._check = problem, check
        named = {f"labels[{name!r}]": table for name, table in (labels or {}).items()}
        given = {"features": features, "theta": theta, "decisions": decisions, "values": values, "weights": weights}
        tables, self.origin = align(given | named)
        features, theta, decisions, values, weights = (tables.pop(name) for name in given)
        labels = dict(zip(labels or {}, tables.values()))
        theta, decisions = by_name("theta", theta, problem.theta_names), by_name("decisions", decisions, problem.names)
        device = devices.canonical(problem.device)
        self._theta: Tensor | None = None
        self._decisions: Tensor | None = None
        if theta is None:
            self._decisions = self._recorded(decisions, values)
        else:
            self._theta = problem.check_theta(_floating("theta", theta, device))
        self._take_features(features)
        self._check_batch()
        if theta is not None and decisions is not None:
            self._decisions = self._decided(self._table("decisions", decisions))
        elif theta is None and check and "fixed" in problem.traits:  # a set that moves with `theta` is not known
            self._check_feasible()
        self.labels = {name: self._table("labels", table) for name, table in labels.items()}
        self.cache = None if cache is None else checks.path("cache", cache)
        self._values = None if values is None else self._column("values", values)
        self.weights = None if weights is None else self._checked_weights(weights)
        self.positions = torch.arange(len(self), device=self.device)

    # -- what is given -----------------------------------------------------------------------------------------------

    def _recorded(self, decisions: Any, values: Any) -> Tensor:
        """The decisions of a data set that has nothing else to learn from."""
        if decisions is None:
            remedy = "Give the true parameters, `theta`, or `decisions=` to learn from decisions alone"
            raise checks.fail("theta", "given where `decisions` are not", "None", remedy)
        if values is not None:
            raise checks.fail("values", "left out where `theta` is", "a table", "Decisions alone have no known value")
        return self._decided(_floating("decisions", decisions, devices.canonical(self.problem.device)))

    def _take_features(self, features: Any) -> None:
        self.features = map_tables(lambda part: self._table("features", part), features)
        self.feature_names = column_names(features)

    def _table(self, name: str, value: Any) -> Tensor:
        """`value` with an entry for each instance."""
        return table_for(
            name, value, self._leading_table(), self.device, "decisions" if self._theta is None else "theta"
        )

    def _column(self, name: str, value: Any) -> Tensor:
        """A number for each instance."""
        column = self._table(name, value).to(self._leading_table())
        if column.ndim != 1:
            raise checks.fail(name, f"({len(self)},)", str(tuple(column.shape)))
        return column

    def _checked_weights(self, weights: Any) -> Tensor:
        column = self._column("weights", weights)
        checks.non_negative("weights", column)
        check_some_weight("weights", column)
        return column

    def _check_batch(self) -> None:
        """One shared feasible set, or one for each instance."""
        shape, count = tuple(self.problem.batch_shape), len(self)
        if shape not in {(), (count,)}:
            expected = f"shared by all instances or with a batch of ({count},), one for each"
            raise checks.fail("problem", expected, f"a batch of {shape}")
        if self._theta is None:
            return
        batch = tuple(self.problem.batch_for(self._theta))
        if batch != (count,):
            taken = f"{tuple(self._theta.shape)}, which it takes for a batch of {batch}"
            raise checks.fail("theta", "one instance of the problem per entry (N, *shape)", taken)

    def _decided(self, decisions: Tensor) -> Tensor:
        table = decisions if self._theta is None else decisions.to(self._theta)
        n = self.problem.n
        if table.ndim != 2 or (n is not None and table.shape[1] != n):
            width = "n" if n is None else str(n)
            raise checks.fail("decisions", f"({len(table)}, {width}) to match the problem", str(tuple(table.shape)))
        return table

    def _check_feasible(self) -> None:
        """Decisions on record must be feasible; fractional ones (means of several) where integrality is left aside."""
        assert self._decisions is not None
        tol = feasibility_tolerance(self._decisions)
        strict = self.problem.check(self._decisions, tol)
        if strict:
            return
        relaxed = self.problem.check(self._decisions, tol, relaxed=True)
        whole = (self._decisions == self._decisions.round()).all(-1).to(strict.feasible.device)
        if bool((~strict.feasible & whole).any()) or not relaxed:
            told = "\n".join(str(strict if relaxed else relaxed).splitlines()[:4])
            remedy = "Correct them, or pass `check=False` to learn from them all the same"
            raise checks.fail("decisions", "feasible for the problem", told, remedy)

    # -- access ------------------------------------------------------------------------------------------------------

    def _leading_table(self) -> Tensor:
        """What there always is: the truth, or else the decisions."""
        first = self._decisions if self._theta is None else self._theta
        assert first is not None
        return first

    @property
    def theta(self) -> Tensor:
        """The true parameters `(N, *shape)`; an error where only decisions are known (`has_theta`)."""
        if self._theta is None:
            raise NoThetaError("this data set")
        return self._theta

    @property
    def has_theta(self) -> bool:
        """Whether the true parameters are known, or decisions alone."""
        return self._theta is not None

    @property
    def device(self) -> torch.device:
        """Where the tables are."""
        return self._leading_table().device

    @property
    def keys(self) -> Keys | None:
        """What identifies each instance in the tables it came from; `None` where it came from arrays."""
        return None if self.origin is None else self.origin.keys

    @property
    def times(self) -> np.ndarray | None:
        """When each instance is from, `(N,)`, `datetime64[ns]`; `None` where rows are not dated."""
        return None if self.origin is None else self.origin.times

    @property
    def reader(self) -> FrameReader | None:
        """How a frame of features is read as this one was; `None` where features came as arrays."""
        return None if self.origin is None else self.origin.reader

    @property
    def imputed(self) -> Tensor | None:
        """Which instances have a truth that was filled in by a rule, `(N,)`; `None` where none has."""
        filled = None if self.origin is None else self.origin.imputed
        return None if filled is None else torch.from_numpy(filled).to(self.device)

    def __len__(self) -> int:
        return len(self._leading_table())

    def __getitem__(self, index: SupportsIndex | slice | Sequence[int] | Tensor) -> Batch:
        """One instance, without a batch dimension, for a number; a batch for anything else.

        Decisions and values are in it if they are known (`solve`).
        """
        chosen = self._positions(index)
        problem = self.problem.select(chosen) if self.problem.batch_shape else self.problem
        features = map_tables(lambda part: part[chosen.to(part.device)], self.features)
        theta, decision, value, weight = (
            None if table is None else table[chosen]
            for table in (self._theta, self._decisions, self._values, self.weights)
        )
        return Batch(features, theta, problem, decision, value, chosen, weight)

    def __getitems__(self, indices: Sequence[int]) -> list[Batch]:
        """What a `DataLoader` asks for: the whole batch at once (torch wants a list, and unpacks it in `collate`)."""
        return [self[list(indices)]]

    def _positions(self, index: Any) -> Tensor:
        """Non-negative positions on the device of the data; a number gives a single one, without dimension."""
        count, device = len(self), self.device
        if isinstance(index, slice):
            return torch.arange(*index.indices(count), device=device)
        chosen = torch.as_tensor(index, device=device)
        if chosen.dtype == torch.bool and chosen.shape == (count,):
            return chosen.nonzero()[:, 0]
        if chosen.ndim > 1 or (chosen.numel() and (chosen.is_floating_point() or chosen.dtype == torch.bool)):
            raise checks.fail(
                "index", f"positions, a slice or a mask ({count},)", f"{chosen.dtype} {list(chosen.shape)}"
            )
        chosen = chosen.long()
        if bool(((chosen < -count) | (chosen >= count)).any()):
            raise IndexError(f"position {int(chosen.abs().max())} is outside of a data set of {count} instances")
        return chosen % count

    # -- the same, in part or with something else --------------------------------------------------------------------

    def subset(self, index: slice | Sequence[int] | Tensor) -> Self:
        """The data set of some instances, with what is known of their decisions."""
        chosen = torch.atleast_1d(self._positions(index))
        if len(chosen) == 0:
            raise checks.fail("index", "at least one instance", "none", "The data set would be empty")
        batch, part = self[chosen], copy.copy(self)
        part.features, part.problem, part.weights = batch.features, batch.problem, batch.weight
        part._theta = batch.theta if batch.has_theta else None
        part._decisions, part._values = batch.decision, batch.value
        part.labels = {name: table[chosen.to(table.device)] for name, table in self.labels.items()}
        part.positions = self.positions[chosen]
        part.origin = None if self.origin is None else self.origin.select(chosen)
        part.cache, part.skipped = None, ()
        return part

    def with_problem(self, problem: Problem) -> Self:
        """The same features and parameters under another problem (another budget, say); its decisions are its own.

        Decisions that were recorded without parameters are kept, and must be feasible for it, unless the data set was
        made with `check=False`.
        """
        twin = copy.copy(self)
        recorded = None if self.has_theta else self._decisions
        Instances.__init__(
            twin, self.features, self._theta, problem, decisions=recorded, labels=self.labels, weights=self.weights,
            check=self._check,
        )  # fmt: skip
        twin.skipped, twin.positions, twin.feature_names = (), self.positions, self.feature_names
        twin.origin = self.origin
        return twin

    def with_features(self, features: Any) -> Self:
        """The same instances, and what is known of their decisions, with other features."""
        twin = copy.copy(self)
        twin._take_features(features)
        twin.origin = None if self.origin is None else self.origin.without_reader()
        return twin

    def to(self, device: torch.device | str) -> Self:
        """The same data set on another device; itself where it is there already, with what it has worked out."""
        target = devices.canonical(device)
        places = {target, self.device}
        map_tables(lambda part: places.add(part.device), self.features)
        if len(places) == 1:
            return self
        moved = copy.copy(self)
        moved.features = map_tables(lambda part: part.to(target), self.features)
        moved.problem, moved.positions = self.problem.to(target), self.positions.to(target)
        moved._theta, moved._decisions, moved._values, moved.weights = (
            None if table is None else table.to(target)
            for table in (self._theta, self._decisions, self._values, self.weights)
        )
        return moved


def _floating(name: str, value: Any, device: torch.device) -> Tensor:
    """What the other tables are measured by: floating, on the problem's device, of at least one instance."""
    table = as_table(name, value, device)
    table = table if table.is_floating_point() else table.to(torch.get_default_dtype())
    if len(table) == 0:
        raise checks.fail(name, "at least one instance", f"shape {tuple(table.shape)}", "The data set is empty")
    checks.same_device(name, table, device)
    return table

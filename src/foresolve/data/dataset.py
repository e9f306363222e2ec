"""Data sets of instances."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self, SupportsIndex

import torch
from torch import Tensor
from torch.utils.data import Dataset

from foresolve._base import checks, devices
from foresolve._base.progress import Progress, reporting
from foresolve._base.randomness import Seed, as_generator
from foresolve.data.batch import Batch
from foresolve.data.best import failure, load_decisions, save_decisions, solve_all
from foresolve.data.fingerprint import fingerprint
from foresolve.data.inputs import as_table, first_table, map_tables, table_for
from foresolve.data.loader import Loader
from foresolve.data.splits import random_order, split_sizes
from foresolve.errors import ForesolveWarning
from foresolve.problems.base import Problem

Failure = Literal["raise", "skip"]


class DecisionDataset(Dataset[Batch]):
    """Features, true parameters and a problem; the best decisions under the truth are worked out once, when asked for.

    Parameters
    ----------
    features: `(N, ...)`, or a dict or tuple of such arrays. NumPy, torch, pandas or Arrow: tensors keep their dtype,
        anything else gets torch's default dtype (`torch.get_default_dtype()`, float32 unless you changed it).
    theta: the true parameters `(N, *shape)`, in the same formats.
    problem: shared by all instances, or with one feasible set for each (`problem.batch_shape == (N,)`).
    decisions, values: the best decisions `(N, n)` and their objectives `(N,)`, where they are known.
    cache: a file that keeps decisions and values (`.npz`, no pickle). It is keyed by `theta` and all data of the
        problem: with other data it is not used but replaced. A data set with a cache is solved before it is split.
    labels: further tables `(N, ...)` by name that say which instances these are (numbers of papers, say); they follow
        their instances into parts, and no model sees them.

    Attributes
    ----------
    skipped: positions, in the data set it came from, of the instances that `solve(on_failure="skip")` left out.

    Examples
    --------
    >>> import torch
    >>> from foresolve.data import DecisionDataset
    >>> from foresolve.problems import TopK
    >>> data = DecisionDataset(torch.zeros(6, 2), torch.arange(18.0).reshape(6, 3), TopK(3, 1))
    >>> data[:2].theta
    tensor([[0., 1., 2.],
            [3., 4., 5.]])
    >>> data.values
    tensor([ 2.,  5.,  8., 11., 14., 17.])
    >>> train, test = data.split(0.5, 0.5, seed=0)
    >>> [len(batch) for batch in train.loader(batch_size=2)]
    [2, 1]
    """

    skipped: tuple[int, ...] = ()

    def __init__(
        self,
        features: Any,
        theta: Any,
        problem: Problem,
        *,
        decisions: Any = None,
        values: Any = None,
        cache: str | Path | None = None,
        labels: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(problem, Problem):
            raise checks.fail("problem", "a foresolve Problem", type(problem).__name__)
        device = devices.canonical(problem.device)
        truth = as_table("theta", theta, device)
        truth = truth if truth.is_floating_point() else truth.to(torch.get_default_dtype())
        if len(truth) == 0:
            raise checks.fail("theta", "at least one instance", f"shape {tuple(truth.shape)}", "The data set is empty")
        checks.same_device("theta", truth, device)
        self.features = map_tables(lambda part: table_for("features", part, truth, device), features)
        self.theta = problem.check_theta(truth)
        self.problem = problem
        self._check_batch()
        self.labels = {name: table_for("labels", table, truth, device) for name, table in (labels or {}).items()}
        self.cache = None if cache is None else Path(cache)
        self._decisions = None if decisions is None else self._decided(decisions)
        self._values = None if values is None else table_for("values", values, truth, device).to(truth)
        if self._values is not None and self._values.ndim != 1:
            raise checks.fail("values", f"({len(self)},)", str(tuple(self._values.shape)))

    def _check_batch(self) -> None:
        """One shared feasible set, or one for each instance."""
        shape, count = tuple(self.problem.batch_shape), len(self)
        if shape not in {(), (count,)}:
            expected = f"shared by all instances or with a batch of ({count},), one for each"
            raise checks.fail("problem", expected, f"a batch of {shape}")
        batch = tuple(self.problem.batch_for(self.theta))
        if batch != (count,):
            taken = f"{tuple(self.theta.shape)}, which it takes for a batch of {batch}"
            raise checks.fail("theta", "one instance of the problem per entry (N, *shape)", taken)

    def _decided(self, decisions: Any) -> Tensor:
        table = table_for("decisions", decisions, self.theta, self.theta.device).to(self.theta)
        n = self.problem.n
        if table.ndim != 2 or (n is not None and table.shape[1] != n):
            width = "n" if n is None else str(n)
            raise checks.fail("decisions", f"({len(self)}, {width}) to match the problem", str(tuple(table.shape)))
        return table

    # -- access ------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.theta)

    def __getitem__(self, index: SupportsIndex | slice | Sequence[int] | Tensor) -> Batch:
        """One instance, without a batch dimension, for a number; a batch for anything else.

        Decisions and values are in it if they are known (`solve`).
        """
        chosen = self._positions(index)
        problem = self.problem.select(chosen) if self.problem.batch_shape else self.problem
        features = map_tables(lambda part: part[chosen.to(part.device)], self.features)
        decision, value = (None if table is None else table[chosen] for table in (self._decisions, self._values))
        return Batch(features, self.theta[chosen], problem, decision, value, chosen)

    def __getitems__(self, indices: Sequence[int]) -> list[Batch]:
        """What a `DataLoader` asks for: the whole batch at once (torch wants a list, and unpacks it in `collate`)."""
        return [self[list(indices)]]

    def _positions(self, index: Any) -> Tensor:
        """Non-negative positions on the device of the data; a number gives a single one, without dimension."""
        count, device = len(self), self.theta.device
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

    def loader(self, batch_size: int, *, seed: Seed = 0, shuffle: bool = True, drop_last: bool = False) -> Loader:
        """Batches, in a new order each time it is iterated over; a plain `DataLoader` works too, and is slower."""
        generator = as_generator("seed", seed) if shuffle else None
        return Loader(self, checks.positive_int("batch_size", batch_size), generator, drop_last)

    def subset(self, index: slice | Sequence[int] | Tensor) -> Self:
        """The data set of some instances, with what is known of their decisions."""
        chosen = torch.atleast_1d(self._positions(index))
        if len(chosen) == 0:
            raise checks.fail("index", "at least one instance", "none", "The data set would be empty")
        batch, part = self[chosen], copy.copy(self)
        part.features, part.theta, part.problem = batch.features, batch.theta, batch.problem
        part._decisions, part._values = batch.decision, batch.value
        part.labels = {name: table[chosen.to(table.device)] for name, table in self.labels.items()}
        part.cache, part.skipped = None, ()
        return part

    def with_problem(self, problem: Problem) -> Self:
        """The same features and parameters under another problem (another budget, say); its decisions are its own."""
        twin = copy.copy(self)
        DecisionDataset.__init__(twin, self.features, self.theta, problem, labels=self.labels)
        twin.skipped = ()
        return twin

    def with_features(self, features: Any) -> Self:
        """The same instances, and what is known of their decisions, with other features."""
        twin = copy.copy(self)
        twin.features = map_tables(lambda part: table_for("features", part, self.theta, self.theta.device), features)
        return twin

    def to(self, device: torch.device | str) -> Self:
        """The same data set on another device; itself where it is there already, with what it has worked out."""
        target = devices.canonical(device)
        places = {target, self.theta.device}
        map_tables(lambda part: places.add(part.device), self.features)
        if len(places) == 1:
            return self
        moved = copy.copy(self)
        moved.features = map_tables(lambda part: part.to(target), self.features)
        moved.theta, moved.problem = self.theta.to(target), self.problem.to(target)
        moved._decisions = None if self._decisions is None else self._decisions.to(target)
        moved._values = None if self._values is None else self._values.to(target)
        return moved

    # -- the best decisions ------------------------------------------------------------------------------------------

    @property
    def solved(self) -> bool:
        """Whether the best decisions are known already."""
        return self._decisions is not None

    @property
    def decisions(self) -> Tensor:
        """The best decisions under the truth `(N, n)`; worked out when first asked for."""
        if self._decisions is None:
            self.solve()
        assert self._decisions is not None
        return self._decisions

    @property
    def values(self) -> Tensor:
        """The objectives of the best decisions under the truth `(N,)`."""
        if self._values is None:
            self.solve()
        assert self._values is not None
        return self._values

    def solve(self, *, progress: bool | Progress | None = None, on_failure: Failure = "raise") -> Self:
        """Work out decisions and values, if they are not known, and keep them.

        Parameters
        ----------
        progress: True for a bar, False for none, a function of `(done, total)`, or `None`: a bar if stderr is a
            terminal, rich is installed and it takes more than a second.
        on_failure: "raise" a `SolverError` that names the instances without a decision, or "skip" them.

        Returns
        -------
        This data set; with "skip" and failures, a smaller one (`skipped` says what it lacks), after a warning.
        """
        if on_failure not in ("raise", "skip"):
            raise checks.fail("on_failure", '"raise" or "skip"', repr(on_failure))
        if self._decisions is not None:
            if self._values is None:
                self._values = self._objective(self._decisions)
            return self
        key = fingerprint(self.theta, self.problem) if self.cache is not None else ""
        stored = None if self.cache is None else load_decisions(self.cache, key)
        if stored is not None:
            self._decisions, self._values = (table.to(self.theta) for table in stored)
            return self
        with reporting(progress, "best decisions") as report:
            decisions, failed = solve_all(self.problem, self.theta, report)
        if failed:
            return self._without(decisions, failed, on_failure)
        self._decisions, self._values = decisions, self._objective(decisions)
        if self.cache is not None:
            save_decisions(self.cache, key, self._decisions, self._values)
        return self

    def _objective(self, decisions: Tensor) -> Tensor:
        with torch.no_grad():
            return self.problem.objective(decisions, self.theta)

    def _without(self, decisions: Tensor, failed: dict[int, Any], on_failure: Failure) -> Self:
        error = failure(failed, len(self))
        if on_failure == "raise" or len(failed) == len(self):
            raise error from next(iter(failed.values()))
        keep = torch.ones(len(self), dtype=torch.bool, device=self.theta.device)
        keep[sorted(failed)] = False
        rest = self.subset(keep)
        rest._decisions, rest.skipped = decisions[keep], tuple(sorted(failed))
        message = str(error).partition(". With `data.solve")[0]
        checks.warn(f"{len(failed)} of {len(self)} instances are skipped: {message}", ForesolveWarning)
        return rest.solve()

    # -- parts -------------------------------------------------------------------------------------------------------

    def split(self, *parts: float | Sequence[float], seed: Seed = 0, shuffle: bool = True) -> tuple[Self, ...]:
        """Disjoint random parts: `data.split(0.8, 0.1, 0.1)` by shares, `data.split(800, 200)` by counts.

        What the parts leave is one more: `train, test = data.split(0.8)`. Without `shuffle` the order is kept.
        """
        sizes = split_sizes(parts, len(self))
        order = random_order(len(self), seed) if shuffle else torch.arange(len(self))
        if self.cache is not None:
            self.solve()
        return tuple(self.subset(index) for index in order.split(sizes))

    def folds(self, k: int, seed: Seed = 0) -> list[tuple[Self, Self]]:
        """`k` pairs `(train, valid)`; each instance is in one of the `valid`."""
        if not 2 <= checks.positive_int("k", k) <= len(self):
            raise checks.fail("k", f"from 2 to the number of instances ({len(self)})", str(k))
        if self.cache is not None:
            self.solve()
        folds = random_order(len(self), seed).tensor_split(k)
        return [(self.subset(torch.cat(folds[:i] + folds[i + 1 :])), self.subset(fold)) for i, fold in enumerate(folds)]

    def __repr__(self) -> str:
        shape = tuple(first_table(self.features).shape[1:])
        known = "known" if self.solved else "not yet known"
        return (
            f"{type(self).__name__}({len(self)} instances, features {shape}, theta {tuple(self.theta.shape[1:])}, "
            f"{self.problem!r}, decisions {known})"
        )

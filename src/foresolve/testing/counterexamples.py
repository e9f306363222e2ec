"""Sets that show that a function is not monotone, not submodular, or that its extension belongs to another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.randomness import Seed, as_seed
from foresolve.sets.functions.function import SetFunction

EXHAUSTIVE = 10  # items up to which all sets are tested
CHUNK = 2**22  # numbers that `value` is given at once


@dataclass(frozen=True)
class CounterExample:
    """One thing that a set function promises and does not keep.

    Attributes
    ----------
    kind: "empty set", "monotone", "submodular", "extension at a set" or "extension".
    instance: the position in the batch of `theta`.
    amount: by how much.
    detail: the sets or the point, and the values there.
    """

    kind: str
    instance: tuple[int, ...]
    amount: float
    detail: str

    def __str__(self) -> str:
        where = f"instance {', '.join(map(str, self.instance))}: " if self.instance else ""
        return f"{where}{self.kind} is broken by {self.amount:.3g}: {self.detail}"


@dataclass(frozen=True)
class Search:
    """What a search for counter-examples came to.

    Attributes
    ----------
    exhaustive: whether all sets were tested, so that none found is a proof up to rounding; random ones otherwise.
    tests: how many inequalities were tested.
    failures: the counter-examples, the worst of each kind and instance.
    """

    exhaustive: bool
    tests: int
    failures: tuple[CounterExample, ...]


def find_counterexamples(
    function: SetFunction, n: int, theta: Any, *, trials: int = 1000, seed: Seed = 0, tol: float = 1e-9
) -> Search:
    r"""Sets of `n` items that show that a set function is not what the algorithms assume.

    .. math::
        f(\emptyset) = 0, \quad f(S + i) \ge f(S), \quad f(S + i) - f(S) \ge f(S + i + l) - f(S + l)

    For `n <= 10` all sets and pairs are tested, beyond that random ones. Where the extension is not estimated by
    sampling, it is also compared with `value` at these sets, and for `n <= 10` with its definition at a random point.
    Every instance of a batch is tested, in float64, with the same sets.

    Parameters
    ----------
    theta: parameters `(*batch, *shape)`.
    trials: random triples `(S, i, l)` for each instance where `n > 10`.
    seed: of the random sets.
    tol: rounding errors up to `tol` times the largest value seen are forgiven.
    """
    n, trials = checks.positive_int("n", n), checks.positive_int("trials", trials)
    theta = function.check_theta(theta, n).detach().double()
    cut = theta.ndim - function.theta_dims
    batch = checks.broadcast_batch({"`theta`": theta.shape[:cut], "the function's data": function.batch_shape})
    rows = theta.expand(*batch, *theta.shape[cut:]).reshape(-1, *theta.shape[cut:])
    exhaustive = n <= EXHAUSTIVE
    seed = as_seed("seed", seed)
    sets, first, second = _all_triples(n) if exhaustive else _random_triples(n, trials, seed)
    failures: list[CounterExample] = []
    tests = 0
    for number, row in enumerate(rows):
        instance = tuple(int(k) for k in np.unravel_index(number, tuple(batch))) if batch else ()
        test = _Test(function.select(number, batch), row, tol, instance)
        test.inequalities(sets, first, second)
        if not function.sampled:
            test.extension(sets, seed if exhaustive else None)
        failures += test.failures
        tests += test.count
    return Search(exhaustive, tests, tuple(failures))


class _Test:
    """The tests of one instance."""

    def __init__(self, function: SetFunction, theta: Tensor, tol: float, instance: tuple[int, ...]) -> None:
        self.function, self.theta, self.tol, self.instance = function, theta, tol, instance
        self.failures: list[CounterExample] = []
        self.count = 0
        self.scale = 0.0

    def values(self, sets: Tensor, multilinear: bool = False) -> Tensor:
        step = max(1, CHUNK // max(sets.shape[-1], self.theta.numel()))
        call = self.function.multilinear if multilinear else self.function.value
        masks = sets.to(self.theta)
        with torch.no_grad():
            parts = [call(part, self.theta.expand(len(part), *self.theta.shape)) for part in masks.split(step)]
        return torch.cat(parts).double().cpu()

    def report(self, kind: str, excess: Tensor, detail: Any) -> None:
        """The worst of some amounts, where it is more than rounding; NaN is as bad as can be."""
        self.count += len(excess)
        if len(excess):
            worst = int(excess.nan_to_num(nan=torch.inf).argmax())
            if not float(excess[worst]) <= self.tol * self.scale:
                self.failures.append(CounterExample(kind, self.instance, float(excess[worst]), detail(worst)))

    def inequalities(self, sets: Tensor, first: Tensor, second: Tensor) -> None:
        with_first, with_second = _join(sets, first), _join(sets, second)
        joined = (sets, with_first, with_second, _join(with_first, second))
        before, with_one, with_two, both = map(self.values, joined)
        empty = self.values(torch.zeros_like(sets[:1]))
        self.scale = max(float(v.abs().amax()) for v in (before, with_one, with_two, both, empty)) or 1.0
        self.report("empty set", empty.abs(), lambda k: f"f({{}}) = {float(empty[k]):.6g}, not 0")
        self.report(
            "monotone",
            before - with_one,
            lambda k: f"f({_show(with_first[k])}) = {with_one[k]:.6g} < f({_show(sets[k])}) = {before[k]:.6g}",
        )
        proper = (first != second).nonzero()[:, 0]
        excess = ((both - with_two) - (with_one - before))[proper]

        def detail(k: int) -> str:
            k = int(proper[k])
            left = f"f({_show(with_first[k])}) - f({_show(sets[k])}) = {with_one[k]:.6g} - {before[k]:.6g}"
            full, part = _join(with_first, second)[k], with_second[k]
            return f"{left} < f({_show(full)}) - f({_show(part)}) = {both[k]:.6g} - {with_two[k]:.6g}"

        self.report("submodular", excess, detail)

    def extension(self, sets: Tensor, seed: int | None) -> None:
        """`F` at sets, and, where all sets are few, at a random point by its definition."""
        sets = sets.unique(dim=0)
        values, extended = self.values(sets), self.values(sets, multilinear=True)
        self.report(
            "extension at a set",
            (values - extended).abs(),
            lambda k: f"F({_show(sets[k])}) = {extended[k]:.6g}, but f({_show(sets[k])}) = {values[k]:.6g}",
        )
        if seed is None:
            return
        n = sets.shape[-1]
        every = _all_sets(n)
        x = torch.rand(n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        chance = torch.where(every, x, 1 - x).prod(-1)
        mean = (chance * self.values(every)).sum().reshape(1)
        inside = self.values(x.unsqueeze(0), multilinear=True)
        at = ", ".join(f"{v:.4f}" for v in x)
        self.report(
            "extension", (mean - inside).abs(), lambda k: f"F = {inside[k]:.6g} at x = [{at}], E f(S) = {mean[k]:.6g}"
        )


def _all_sets(n: int) -> Tensor:
    return (torch.arange(2**n).unsqueeze(-1) >> torch.arange(n)) % 2 == 1


def _all_triples(n: int) -> tuple[Tensor, Tensor, Tensor]:
    """All sets with all pairs `i < l` that are not in them; `l = i` where one item is missing alone."""
    sets = _all_sets(n)
    first, second = torch.triu_indices(n, n)
    outside = ~sets[:, first] & ~sets[:, second]
    which, pair = outside.nonzero().unbind(-1)
    return sets[which], first[pair], second[pair]


def _random_triples(n: int, trials: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Sets of all sizes from none to all but two, and a pair of items outside each."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.rand(trials, n, generator=generator).argsort(-1)
    size = torch.randint(0, n - 1, (trials, 1), generator=generator)
    sets = torch.zeros(trials, n, dtype=torch.bool).scatter(-1, order, torch.arange(n) < size)
    return sets, order[:, -1], order[:, -2]


def _join(sets: Tensor, items: Tensor) -> Tensor:
    return sets.scatter(-1, items.unsqueeze(-1), True)


def _show(mask: Tensor) -> str:
    return "{" + ", ".join(str(int(i)) for i in mask.nonzero()[:, 0]) + "}"

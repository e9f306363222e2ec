"""What every set function promises of its values; its extension's promises are in `extensions.py`."""

from __future__ import annotations

import copy
import functools
import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from foresolve.sets.functions.function import SetFunction
from foresolve.testing.counterexamples import Search, find_counterexamples
from foresolve.testing.problems import unpickled
from foresolve.testing.suite import (
    Inapplicable,
    Measure,
    Promise,
    Suite,
    bounded,
    holds,
    inside,
    near,
    quiet,
    refused,
    untouched,
)

Draw = Callable[[tuple[int, ...], int], Tensor]
# Batch shapes of x and of theta, and of both together.
BATCHES = [
    ((), (), ()),
    ((3,), (), (3,)),
    ((), (3,), (3,)),
    ((2, 3), (3,), (2, 3)),
    ((2, 1), (1, 3), (2, 3)),
    ((0,), (), (0,)),
]


class ValueSuite(Suite):
    """A set function of `n` items, with parameters that `draw(batch, seed)` gives, `(*batch, *shape)` in float64."""

    def __init__(
        self, function: SetFunction, n: int, draw: Draw, *, exact_theta: bool = True, trials: int = 1000,
        tol: float = 1e-9, seed: int = 0,
    ) -> None:  # fmt: skip
        self.function, self.n, self._draw, self.exact_theta = function, n, draw, exact_theta
        self.trials, self.tol, self.seed = trials, tol, seed

    def draw(self, *batch: int) -> Tensor:
        return self._draw(batch, self.seed)

    def interior(self, *batch: int) -> Tensor:
        """Parameters that may be moved to both sides, and have no ties."""
        return inside(self.draw(*batch), self.function.theta_bounds, self.seed)

    def points(self, *batch: int, corners: bool = False) -> Tensor:
        """Points in (0.05, 0.95), or with entries 0 and 1 among them."""
        generator = torch.Generator().manual_seed(self.seed + 1)
        x = 0.05 + 0.9 * torch.rand(*batch, self.n, generator=generator, dtype=torch.float64)
        if corners:
            pick = torch.rand(x.shape, generator=generator)
            x = torch.where(pick < 0.3, 0.0, torch.where(pick > 0.7, 1.0, x))
        return x

    def vectors(self, *batch: int) -> Tensor:
        generator = torch.Generator().manual_seed(self.seed + 2)
        return torch.randn(*batch, self.n, generator=generator, dtype=torch.float64)

    # -- sets ----------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def search(self) -> Search:
        return find_counterexamples(
            self.function, self.n, self.draw(2), trials=self.trials, seed=self.seed, tol=self.tol
        )

    def _counterexamples(self, kind: str) -> Iterator[Measure]:
        failures = [failure for failure in self.search.failures if failure.kind == kind]
        for failure in failures:
            yield Measure(True, str(failure), failure.amount, self.tol)
        how = "all sets" if self.search.exhaustive else "random sets"
        yield Measure(False, amount=0.0, tolerance=self.tol, note=f"{self.search.tests} tests in all, on {how}")

    @Promise("the empty set is worth nothing", "subtract `f` of the empty set")
    def empty_set(self) -> Iterator[Measure]:
        yield from self._counterexamples("empty set")

    @Promise("it is monotone", "greedy choices and their bounds assume that an item never harms")
    def monotone(self) -> Iterator[Measure]:
        yield from self._counterexamples("monotone")

    @Promise("it is submodular", "an item must add less to a larger set; otherwise no bound holds, and no relaxation")
    def submodular(self) -> Iterator[Measure]:
        yield from self._counterexamples("submodular")

    @Promise("theta has the shape that is announced", "`theta_dims` and `theta_shape(n)` must fit theta")
    def announced(self) -> Iterator[Measure]:
        theta, shape = self.draw(2), self.function.theta_shape(self.n)
        told = f"`theta_shape({self.n})` is {shape}, `theta_dims` {self.function.theta_dims}, theta {theta.shape[1:]}"
        yield holds(len(shape) == self.function.theta_dims == theta.ndim - 1, told)
        yield holds(all(size in (None, actual) for size, actual in zip(shape, theta.shape[1:])), told)

    @Promise("wrong theta is refused", "`check_theta` refuses what is not finite or has another shape")
    def refuses(self) -> Iterator[Measure]:
        function, x, theta = self.function, self.points(2), self.draw(2)
        theta.reshape(-1)[theta.numel() - 1] = math.nan
        own = type(function).multilinear is not SetFunction.multilinear  # a formula of the user's sees whatever comes
        for call in [function.gradient] if own else [function.gradient, function.multilinear]:
            yield refused(lambda call=call: call(x, theta), "NaN in theta", "theta", "nan at [")
        yield refused(lambda: function.check_theta(torch.tensor(1.0), self.n), "a number", "theta", "()")
        batches = self.draw(3)
        yield refused(lambda: function.gradient(x, batches), "another batch", "", "(2,)", "(3,)")

    @Promise("a batch equals a loop", "no instance may depend on the others in its batch")
    def batch_equals_loop(self) -> Iterator[Measure]:
        x, theta, v = self.points(5, corners=True), self.draw(5), self.vectors(5)
        for name, call in self.calls().items():
            together = call(x, theta, v)
            for i, instance in enumerate(zip(x, theta, v)):
                yield near(together[i], call(*instance), f"`{name}` of instance {i}", rtol=1e-11, atol=1e-11)

    def calls(self) -> dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]]:
        """What can be asked of a function, as functions of `x`, `theta` and a vector."""
        function = self.function
        return {
            "value": lambda x, theta, v: function.value(x.round(), theta),
            "multilinear": lambda x, theta, v: function.multilinear(x, theta),
            "gradient": lambda x, theta, v: function.gradient(x, theta),
            "hessian_product": function.hessian_product,
            "cross_product": function.cross_product,
        }

    @Promise("batches broadcast", "sum over the last dimensions only, and keep those ahead of them")
    def broadcasts(self) -> Iterator[Measure]:
        v = self.vectors()
        for left, right, batch in BATCHES:
            x, theta = self.points(*left), self.draw(*right)
            shape = tuple(theta.shape[len(right) :])
            tails = {"gradient": (self.n,), "hessian_product": (self.n,), "cross_product": shape}
            for name, call in self.calls().items():
                expected, given = (*batch, *tails.get(name, ())), tuple(call(x, theta, v).shape)
                yield holds(given == expected, f"`{name}` of x {left} and theta {right} gives {given}, not {expected}")
            if not self.function.sampled:
                full = self.function.multilinear(x.expand(*batch, self.n).clone(), theta.expand(*batch, *shape).clone())
                yield near(self.function.multilinear(x, theta), full, "`multilinear`", rtol=1e-11, atol=1e-11)

    @Promise("float32 is close to float64, and stays", "give results in the dtype of theta")
    def single_precision(self) -> Iterator[Measure]:
        single = tuple(part.float() for part in (self.points(3), self.draw(3), self.vectors(3)))
        double = tuple(part.double() for part in single)
        for name, call in self.calls().items():
            given = call(*single)
            yield holds(given.dtype == torch.float32, f"`{name}` gives {given.dtype} for float32")
            yield near(given.double(), call(*double).double(), f"`{name}` in float32", rtol=1e-5, atol=1e-5)

    @Promise("increments are differences of values", "`increments` must agree with `value`, or be left out")
    def increments(self) -> Iterator[Measure]:
        function, theta, served = self.function, self.draw(3), 0
        while served < 3:
            increments = function.increments(theta[served:], self.n)
            count, part = increments.count, theta[served : served + increments.count]
            served += count
            instances, states = np.arange(count), increments.empty
            sets = torch.zeros(count, self.n, dtype=torch.float64)
            order = np.random.default_rng(self.seed).permuted(np.tile(np.arange(self.n), (count, 1)), axis=1)
            for joins in order.T[:3]:
                larger = sets.unsqueeze(1).maximum(torch.eye(self.n, dtype=torch.float64))
                ahead = function.value(larger, part.unsqueeze(1).expand(count, self.n, *part.shape[1:]))
                expected = (ahead - function.value(sets, part).unsqueeze(-1)).detach()
                outside = sets == 0
                gains = torch.from_numpy(increments.batch_gains(states))
                yield near(gains[outside], expected[outside], "`batch_gains`", atol=1e-10, rtol=1e-7)
                picked = torch.from_numpy(increments.picked(states, instances, joins))
                yield near(picked, expected[instances, joins], "`picked`", atol=1e-10, rtol=1e-7)
                if count == 1:
                    both = torch.from_numpy(increments.gains(np.concatenate([states, states])))[:, outside[0]]
                    alone = expected[0, outside[0]]
                    yield near(both, torch.stack([alone, alone]), "`gains` of two states", atol=1e-10, rtol=1e-7)
                states = increments.grown(states, joins)
                sets[instances, joins] = 1.0

    @Promise("cuts bound every set and touch their own", "`cuts` must be linear bounds from above, or be left out")
    def cuts(self) -> Iterator[Measure]:
        if self.n > 10:
            raise Inapplicable("there are too many sets to try them all")
        rng, function, theta = np.random.default_rng(self.seed), self.function, self.draw(1)
        parts = function.cuts(theta, self.n)
        masks = np.array(list(itertools.product([False, True], repeat=self.n)))
        values = np.stack([parts.values(mask) for mask in masks])
        truth = function.value(torch.from_numpy(masks).double(), theta.expand(len(masks), *theta.shape[1:])).detach()
        total = torch.from_numpy(values.sum(1))
        yield near(total, truth - truth[0], "the sum of the parts", atol=1e-10, rtol=1e-7)
        touched = rng.random(self.n) < 0.4
        here = parts.at_set(touched)
        for constants, slopes in [*here, *parts.at_point(rng.random(self.n) * (rng.random(self.n) < 0.7))]:
            excess = float((values - constants - masks @ slopes.T).max())
            yield bounded(max(excess, 0.0), 1e-10, f"a set is above its bound by {excess:.3g}")
        bound = torch.from_numpy(here[0][0] + here[0][1] @ touched)
        yield near(bound, torch.from_numpy(parts.values(touched)), "the bound at its own set", atol=1e-10)

    # -- copies, and what it leaves alone -----------------------------------------------------------------------------

    @Promise("copies agree", "keep what cannot be copied out of `__getstate__`")
    def copies(self) -> Iterator[Measure]:
        yield from self._alike(copy.deepcopy(self.function), "copy.deepcopy")
        yield from self._alike(self.function.to("cpu"), 'to("cpu")')

    @Promise("a pickle agrees", "keep what cannot be pickled out of `__getstate__`")
    def pickles(self) -> Iterator[Measure]:
        yield from self._alike(unpickled(self.function), "pickling")

    def _alike(self, twin: SetFunction, how: str) -> Iterator[Measure]:
        x, theta = self.points(2), self.draw(2)
        yield near(twin.multilinear(x, theta), self.function.multilinear(x, theta), f"`multilinear` after {how}")
        yield holds(repr(twin) == repr(self.function), f"{self.function!r} became {twin!r} after {how}")

    @Promise("arguments are not written into", "work on a copy")
    def leaves_arguments(self) -> Iterator[Measure]:
        x, theta, v = self.points(3), self.draw(3), self.vectors(3)
        for call in self.calls().values():
            yield from untouched({"x": x, "theta": theta, "v": v}, lambda call=call: call(x, theta, v))

    @Promise("global state is left alone", "draw from a `torch.Generator` of your own; change no global setting")
    def leaves_global_state(self) -> Iterator[Measure]:
        x, theta, v = self.points(3), self.draw(3), self.vectors(3)
        yield quiet(lambda: [call(x, theta, v) for call in self.calls().values()])

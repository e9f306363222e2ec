"""What every layer promises."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from foresolve.errors import ForesolveError
from foresolve.layers.base import Layer
from foresolve.problems.base import Problem
from foresolve.testing.decisions import on_cuda
from foresolve.testing.refusals import refuses_what_it_lacks
from foresolve.testing.slopes import Slopes
from foresolve.testing.suite import (
    Inapplicable,
    Measure,
    Promise,
    Suite,
    bounded,
    decided,
    holds,
    near,
    quiet,
    untouched,
)


class LayerSuite(Suite):
    """A layer on one problem, with parameters `theta` `(B, *theta_shape)`, `B > 1`.

    Parameters
    ----------
    make: a new layer in the same state at each call, so that two layers draw the same samples.
    smooth: whether the gradient is that of the decision, which is smooth at `theta`.
    random: whether it draws samples, which depend on the shape of the batch.
    feasibility, agreement: what decisions may break, and by how much equal ones may differ.
    """

    def __init__(
        self, make: Callable[[], Layer], problem: Problem, theta: Tensor, *, smooth: bool = True, random: bool = False,
        feasibility: float = 1e-8, agreement: float = 1e-10, gradient_tolerance: float = 1e-6, directions: int = 5,
        seed: int = 0,
    ) -> None:  # fmt: skip
        self.make, self.problem, self.theta = make, problem, theta.detach()
        self.smooth, self.random, self.seed = smooth, random, seed
        self.feasibility, self.agreement = feasibility, agreement
        self.gradient_tolerance, self.directions = gradient_tolerance, directions
        self.n = problem.solve(theta[:1] if not problem.batch_shape else theta).shape[-1]

    def decide(self, theta: Tensor) -> Tensor:
        return self.make()(theta, self.problem)

    def differentiated(self, layer: Layer, problem: Problem, theta: Tensor) -> tuple[Tensor, Tensor]:
        """Decisions, and their gradients for a fixed incoming one."""
        leaf = theta.clone().requires_grad_()
        x = layer(leaf, problem)
        v = torch.randn(x.shape, generator=torch.Generator().manual_seed(self.seed), dtype=x.dtype).to(x.device)
        (gradient,) = torch.autograd.grad(x, leaf, v)
        return x.detach(), gradient

    @Promise("decisions are feasible", "constraints hold up to the tolerance; integrality is left aside")
    def feasible(self) -> Iterator[Measure]:
        report = self.problem.at(self.theta).check(self.decide(self.theta), tol=self.feasibility, relaxed=True)
        yield bounded(report.worst.max(), self.feasibility, str(report))
        yield holds(report, str(report))

    @Promise("a batch equals a loop", "no instance may depend on the others in its batch; `random=True` for samples")
    def batch_equals_loop(self) -> Iterator[Measure]:
        if self.random:
            raise Inapplicable("the instances of a batch have samples of their own")
        together, shared = self.decide(self.theta), not self.problem.batch_shape
        for i, row in enumerate(self.theta):
            problem = self.problem if shared else self.problem.select(torch.tensor([i]))
            alone = self.make()(row if shared else row[None], problem).reshape(-1)
            yield near(together[i], alone, f"instance {i} in a batch", atol=self.agreement)

    @Promise("leading dimensions are kept", "`problem.flatten(theta)` gives one batch and the shape to go back to")
    def leading_dimensions(self) -> Iterator[Measure]:
        stacked = torch.stack([self.theta, self.theta.flip(0)])
        x = self.decide(stacked)
        told = f"theta {tuple(stacked.shape)} gives decisions {tuple(x.shape)}"
        yield holds(x.shape == (*stacked.shape[:2], self.n), told)
        if not self.problem.batch_shape:
            single = self.decide(self.theta[0])
            yield holds(single.shape == (self.n,), f"one instance gives decisions {tuple(single.shape)}")
        if not self.random:
            yield near(x[0], self.decide(self.theta), "the first of two batches", atol=self.agreement)

    @Promise("an empty batch has no decisions", "give `(0, n)` for no instances")
    def empty_batch(self) -> Iterator[Measure]:
        if self.problem.batch_shape:
            raise Inapplicable("each instance has a feasible set of its own")
        leaf = self.theta[:0].clone().requires_grad_()
        x = self.decide(leaf)
        yield holds(x.shape == (0, self.n), f"no instances give decisions {tuple(x.shape)}")
        (gradient,) = torch.autograd.grad(x.sum(), leaf)
        yield holds(gradient.shape == leaf.shape, f"no instances have gradients {tuple(gradient.shape)}")

    @Promise(
        "decisions and gradients are finite, in the caller's dtype", "work in float64 and give `x.to(theta.dtype)`"
    )
    def dtypes(self) -> Iterator[Measure]:
        for dtype in (torch.float32, torch.float64):
            leaf = self.theta.clone().to(dtype).requires_grad_()
            x = self.decide(leaf)
            yield holds(x.requires_grad, "no gradient reaches theta: the decision is not attached to the graph")
            (gradient,) = torch.autograd.grad(x.sum(), leaf)
            for what, part in (("decisions", x), ("gradients", gradient)):
                yield holds(part.dtype == dtype, f"{what} are {part.dtype} where theta is {dtype}")
                yield holds(bool(part.isfinite().all()), f"{what} are not finite for {dtype}")

    @Promise("the gradient agrees with finite differences", "the gradient must be that of the decision")
    def gradient(self) -> Iterator[Measure]:
        """Along random directions, one after the other, each instance separately."""
        if not self.smooth:
            raise Inapplicable("the gradient is not that of the decision, by design (`smooth=False`)")
        x = self.decide(self.theta)
        v = torch.randn(x.shape, generator=torch.Generator().manual_seed(self.seed), dtype=x.dtype).to(x.device)
        slopes = Slopes(
            lambda leaves: (self.decide(leaves[0]) * v).sum(-1), [self.theta], ["theta"], seed=self.seed,
            dims=self.theta.ndim - 1, bounds=self.problem.theta_bounds, unit=(v * x).abs().sum(-1),
        )  # fmt: skip
        yield decided(slopes.judge(0, self.directions, self.gradient_tolerance)[0])

    @Promise("equal calls give equal numbers", "draw from a generator of the layer's own; `random=True` for samples")
    def repeats(self) -> Iterator[Measure]:
        """Decisions and gradients; of the same layer unless it draws samples, of a new one always."""
        layer = self.make()
        first = self.differentiated(layer, self.problem, self.theta)
        for again in [self.make()] if self.random else [self.make(), layer]:
            whose = "the same layer" if again is layer else "a new layer"
            second = self.differentiated(again, self.problem, self.theta)
            for what, before, after in zip(("decisions", "gradients"), first, second):
                yield near(after, before, f"{what} of {whose}, asked for again")

    @Promise("no graph is built where no gradient is asked for", "attach the graph only where theta requires grad")
    def no_graph(self) -> Iterator[Measure]:
        yield holds(not self.decide(self.theta).requires_grad, "decisions require grad, theta does not")
        with torch.no_grad():
            quiet_x = self.decide(self.theta.clone().requires_grad_())
        yield holds(not quiet_x.requires_grad, "decisions require grad under `torch.no_grad()`")

    @Promise("`torch.func` transforms it", "give decisions and gradients as for plain tensors; `called` does the rest")
    def transforms(self) -> Iterator[Measure]:
        """`vmap` adds a dimension, `vjp` gives autograd's gradient, `jvp` its transpose or a `ForesolveError`."""
        problem, theta = self.problem, self.theta
        first, second, third, fourth = (self.make() for _ in range(4))  # a copy is not made under a transform
        x, gradient = self.differentiated(first, problem, theta)
        v = torch.randn(x.shape, generator=torch.Generator().manual_seed(self.seed), dtype=x.dtype).to(x.device)
        stack = theta[None] if self.random else torch.stack([theta, theta.flip(0)])
        yield near(torch.vmap(lambda t: second(t, problem))(stack)[0], x, "`vmap`", atol=self.agreement)
        pullback = torch.func.vjp(lambda t: third(t, problem), theta)[1]
        yield near(pullback(v)[0], gradient, "`vjp`", atol=self.agreement)
        try:
            change = torch.func.jvp(lambda t: fourth(t, problem), (theta,), (torch.ones_like(theta),))[1]
        except ForesolveError:
            return
        size = float((v * change).abs().sum() + gradient.abs().sum())
        yield near((v * change).sum(), gradient.sum(), "`jvp` beside `vjp`", atol=1e-9 * size + 1e-12)

    @Promise("a deep copy decides alike", "keep what cannot be copied out of `__getstate__`")
    def copies(self) -> Iterator[Measure]:
        expected = self.differentiated(self.make(), self.problem, self.theta)
        twin = copy.deepcopy(self.make())
        for what, part, whole in zip(
            ("decisions", "gradients"), self.differentiated(twin, self.problem, self.theta), expected
        ):
            yield near(part, whole, f"{what} of a deep copy")

    @Promise("arguments are not written into", "work on a copy: `theta.clone()`")
    def leaves_arguments(self) -> Iterator[Measure]:
        theta = self.theta.clone()
        yield from untouched({"theta": theta}, lambda: self.decide(theta))
        yield from untouched({"theta": theta}, lambda: self.differentiated(self.make(), self.problem, theta))

    @Promise("global state is left alone", "draw from a `torch.Generator` of your own; change no global setting")
    def leaves_global_state(self) -> Iterator[Measure]:
        layer = self.make()
        yield quiet(lambda: self.differentiated(layer, self.problem, self.theta))

    @Promise("devices agree", "make every tensor on the device of theta")
    def devices_agree(self) -> Iterator[Measure]:
        moved = on_cuda(self.problem)
        x, gradient = self.differentiated(self.make(), self.problem, self.theta)
        there = self.differentiated(self.make(), moved, self.theta.to("cuda"))
        yield holds(all(part.device.type == "cuda" for part in there), "decisions or gradients left the device")
        yield near(there[0].cpu(), x, "decisions on the device", atol=1e-8)
        yield near(there[1].cpu(), gradient, "gradients on the device", atol=1e-6, rtol=1e-6)

    @Promise("a problem it cannot serve is refused before any work", "list in `needs` what a problem must offer")
    def refuses(self) -> Iterator[Measure]:
        layer = self.make()
        yield from refuses_what_it_lacks(layer, layer.needs, lambda problem, theta: layer(theta, problem))

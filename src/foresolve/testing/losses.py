"""What every loss promises."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch import Tensor

from foresolve.data.batch import Batch
from foresolve.errors import ForesolveWarning, NoGradientWarning
from foresolve.losses.base import Loss
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
    refused,
    untouched,
)


class LossSuite(Suite):
    """A loss on a batch, `B > 1`, with predictions at which it is smooth.

    Parameters
    ----------
    make: a new loss in the same state at each call, so that two losses draw the same samples.
    smooth: whether the gradient is that of the value, almost everywhere.
    separable: whether an instance's loss depends neither on the others in its batch nor on where samples land.
    nonnegative: whether it is never below 0.
    bounds_regret: whether it is never below the regret of the prediction's decision.
    learn: predictions and a batch on which descent leads to good decisions; `None` where it need not.
    steps, rate: of the descent.
    goal: the share of the regret that may be left then.
    """

    def __init__(
        self, make: Callable[[], Loss], theta_hat: Tensor, batch: Batch, *, smooth: bool = True,
        separable: bool = True, nonnegative: bool = True, bounds_regret: bool = False,
        learn: tuple[Tensor, Batch] | None = None, steps: int = 200, rate: float = 0.05, goal: float = 0.1,
        gradient_tolerance: float = 1e-6, seed: int = 0,
    ) -> None:  # fmt: skip
        self.make, self.theta_hat, self.batch = make, theta_hat.detach(), batch
        self.smooth, self.separable, self.nonnegative = smooth, separable, nonnegative
        self.bounds_regret, self.learn = bounds_regret, learn
        self.steps, self.rate, self.goal = steps, rate, goal
        self.gradient_tolerance, self.seed = gradient_tolerance, seed

    def value(self, theta_hat: Tensor, batch: Batch | None = None) -> Tensor:
        return self.make()(theta_hat, self.batch if batch is None else batch)

    @Promise("one finite number for each instance", "give losses `(B,)`; the caller takes their mean")
    def numbers(self) -> Iterator[Measure]:
        value = self.value(self.theta_hat)
        told = f"{len(self.batch)} instances have losses of the shape {tuple(value.shape)}"
        yield holds(value.shape == (len(self.batch),), told)
        yield holds(bool(value.isfinite().all()), "losses are not finite")

    @Promise("it is never negative", "say `nonnegative=False` if it may be")
    def sign(self) -> Iterator[Measure]:
        if not self.nonnegative:
            raise Inapplicable("`nonnegative=False`")
        least = self.value(self.theta_hat).min()
        yield bounded(-least, 1e-9, f"a loss of {float(least):.6g}")

    @Promise("it bounds the regret", "where it does not, leave `bounds_regret` out")
    def bound(self) -> Iterator[Measure]:
        if not self.bounds_regret:
            raise Inapplicable("it is not said to (`bounds_regret=True`)")
        if not {"exact", "linear"} <= self.batch.problem.traits:
            raise Inapplicable("the problem is not linear with an exact oracle")
        excess = self.regret(self.theta_hat, self.batch) - self.value(self.theta_hat)
        i = int(excess.argmax())
        yield bounded(excess[i], 1e-7, f"instance {i}: the regret is above the loss by {float(excess[i]):.6g}")

    def regret(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        """What the decisions of predictions lose, `(B,)`."""
        problem, (_, best) = batch.problem, batch.best()
        return best - problem.objective(problem.solve(theta_hat), batch.theta)

    @Promise("a batch equals a loop", "no instance may depend on the others in its batch; `separable=False` if it may")
    def batch_equals_loop(self) -> Iterator[Measure]:
        if not self.separable:
            raise Inapplicable("the instances of a batch share samples or a pool")
        together = self.value(self.theta_hat)
        for i in range(len(self.batch)):
            alone = self.value(self.theta_hat[i : i + 1], part(self.batch, slice(i, i + 1)))[0]
            yield near(together[i], alone, f"the loss of instance {i} in a batch", atol=1e-9, rtol=1e-9)

    @Promise("an empty batch has no losses", "give `(0,)` for no instances, attached to the prediction")
    def empty_batch(self) -> Iterator[Measure]:
        leaf = self.theta_hat[:0].clone().requires_grad_()
        value = self.value(leaf, part(self.batch, slice(0, 0)))
        yield holds(value.shape == (0,), f"no instances have losses of the shape {tuple(value.shape)}")
        (gradient,) = torch.autograd.grad(value.sum(), leaf)
        yield holds(gradient.shape == leaf.shape, f"no instances have gradients {tuple(gradient.shape)}")

    @Promise("what the batch carries need not be worked out", "take decisions from `batch.best()`")
    def carried(self) -> Iterator[Measure]:
        decision, value = self.batch.best()
        carried = replace(self.batch, decision=decision, value=value)
        plain = self.value(self.theta_hat)
        yield near(self.value(self.theta_hat, carried), plain, "the loss with decisions", atol=1e-7, rtol=1e-7)

    @Promise("decisions alone are enough where it says so", "leave `uses_theta` True where it looks at `batch.theta`")
    def decisions_alone(self) -> Iterator[Measure]:
        loss = self.make()
        if loss.uses_theta:
            raise Inapplicable("it looks at the true parameters (`uses_theta`)")
        alone = self.batch.replaced(theta=None, decision=self.batch.target(), value=None)
        leaf = self.theta_hat.clone().requires_grad_()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ForesolveWarning)  # of what is minimal then
            value = loss(leaf, alone)
        (gradient,) = torch.autograd.grad(value.sum(), leaf)
        yield holds(value.shape == (len(alone),), f"{len(alone)} decisions have losses {tuple(value.shape)}")
        yield holds(bool(value.isfinite().all() and gradient.isfinite().all()), "losses or gradients are not finite")

    @Promise("losses and gradients are finite, in the caller's dtype", "give `loss.to(theta_hat.dtype)`")
    def dtypes(self) -> Iterator[Measure]:
        for dtype in (torch.float32, torch.float64):
            leaf = self.theta_hat.to(dtype).clone().requires_grad_()
            value = self.value(leaf, replace(self.batch, theta=self.batch.theta.to(dtype)))
            yield holds(value.dtype == dtype, f"losses are {value.dtype} where predictions are {dtype}")
            yield holds(value.requires_grad, "no gradient reaches the prediction")
            (gradient,) = torch.autograd.grad(value.mean(), leaf)
            yield holds(gradient.dtype == dtype, f"gradients are {gradient.dtype} where predictions are {dtype}")
            yield holds(bool(gradient.isfinite().all()), f"gradients are not finite for {dtype}")

    @Promise("the gradient agrees with finite differences", "the gradient must be that of the value")
    def gradient(self) -> Iterator[Measure]:
        """Along random directions, each instance separately, samples frozen."""
        if not self.smooth:
            raise Inapplicable("the gradient is not that of the value, by design (`smooth=False`)")
        size = self.value(self.theta_hat).detach().abs()
        slopes = Slopes(
            lambda leaves: self.value(leaves[0]), [self.theta_hat], ["theta_hat"], seed=self.seed,
            dims=self.theta_hat.ndim - 1, bounds=self.batch.problem.theta_bounds, unit=size + size.mean(),
        )  # fmt: skip
        yield decided(slopes.judge(0, 5, self.gradient_tolerance)[0])

    @Promise("`loss.gradient` is that of each instance's own loss", "leave `Loss.gradient` as it is")
    def gradient_of_instances(self) -> Iterator[Measure]:
        """The same as autograd's, detached, and asked for where gradients are switched off."""
        leaf = self.theta_hat.clone().requires_grad_()
        (expected,) = torch.autograd.grad(self.value(leaf).sum(), leaf)
        with torch.no_grad():
            gradient = self.make().gradient(leaf, self.batch)
        yield holds(gradient.shape == leaf.shape, f"gradients {tuple(gradient.shape)} for {tuple(leaf.shape)}")
        yield holds(not gradient.requires_grad and leaf.grad is None, "the gradient is attached to the prediction")
        yield near(gradient, expected, "`loss.gradient`")

    @Promise(
        "`torch.func` transforms it", "give losses and gradients as for plain tensors; `Loss.__call__` does the rest"
    )
    def transforms(self) -> Iterator[Measure]:
        """`vmap` adds a dimension, and `grad` gives autograd's gradient."""
        gradient = self.make().gradient(self.theta_hat, self.batch)
        first, second = self.make(), self.make()  # a copy is not made under a transform
        together = torch.func.grad(lambda theta_hat: first(theta_hat, self.batch).sum())(self.theta_hat)
        yield near(together, gradient, "`torch.func.grad`", rtol=1e-9, atol=1e-9)
        values = torch.vmap(lambda theta_hat: second(theta_hat, self.batch))(self.theta_hat[None])
        yield near(values[0], self.value(self.theta_hat), "`torch.vmap`", rtol=1e-9, atol=1e-9)

    @Promise("the truth is data", "no gradient passes through anything but the prediction, and nothing is overwritten")
    def truth_is_data(self) -> Iterator[Measure]:
        yield holds(not self.value(self.theta_hat).requires_grad, "losses require grad, the prediction does not")
        leaf = self.theta_hat.clone().requires_grad_()
        yield from untouched(
            {"batch.theta": self.batch.theta, "theta_hat": leaf}, lambda: self.value(leaf).sum().backward()
        )

    @Promise("global state is left alone", "draw from a `torch.Generator` of your own; change no global setting")
    def leaves_global_state(self) -> Iterator[Measure]:
        loss, leaf = self.make(), self.theta_hat.clone().requires_grad_()
        yield quiet(lambda: loss(leaf, self.batch).sum().backward())

    @Promise("equal calls give equal losses", "draw from a seeded generator of the loss's own")
    def repeats(self) -> Iterator[Measure]:
        yield near(self.value(self.theta_hat), self.value(self.theta_hat), "the loss, asked for again")

    @Promise("descent leads to good decisions", "the gradient must point away from regret; or say `learns=False`")
    def descends(self) -> Iterator[Measure]:
        """The regret of the predictions themselves, trained directly, falls to `goal` of what it was."""
        if self.learn is None:
            raise Inapplicable("not for predictions by themselves (`learns=False`)")
        theta_hat, batch = self.learn
        before = float(self.regret(theta_hat, batch).mean())
        if before <= 0:
            raise Inapplicable("the first predictions lead to the best decisions already")
        leaf, loss = theta_hat.clone().requires_grad_(), self.make()
        optimizer = torch.optim.Adam([leaf], lr=self.rate)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoGradientWarning)  # where all is learned
            for _ in range(self.steps):
                optimizer.zero_grad()
                loss(leaf, batch).mean().backward()
                optimizer.step()
        left = float(self.regret(leaf.detach(), batch).mean()) / before
        yield bounded(left, self.goal, f"after {self.steps} steps {left:.1%} of the regret of {before:.4g} are left")

    @Promise("a prediction of another shape is refused", "leave `Loss.__call__` as it is")
    def refuses_shapes(self) -> Iterator[Measure]:
        shorter = self.theta_hat[..., :-1]
        yield refused(lambda: self.value(shorter), f"a prediction of the shape {tuple(shorter.shape)}", "theta_hat")

    @Promise("devices agree", "make every tensor on the device of the prediction")
    def devices_agree(self) -> Iterator[Measure]:
        on_cuda(self.batch.problem)
        leaves = [self.theta_hat.to(device).clone().requires_grad_() for device in ("cpu", "cuda")]
        values = [self.value(leaf, self.batch.to(leaf.device)) for leaf in leaves]
        gradients = [torch.autograd.grad(value.sum(), leaf)[0] for value, leaf in zip(values, leaves)]
        yield holds(values[1].device.type == "cuda", f"losses are on {values[1].device}")
        yield near(values[1].cpu(), values[0], "losses on the device", atol=1e-8, rtol=1e-8)
        yield near(gradients[1].cpu(), gradients[0], "gradients on the device", atol=1e-6, rtol=1e-6)

    @Promise("a problem it cannot serve is refused before any work", "list in `needs` what a problem must offer")
    def refuses(self) -> Iterator[Measure]:
        loss = self.make()
        yield from refuses_what_it_lacks(
            loss, loss.needs, lambda problem, theta: loss(theta, Batch(None, theta, problem))
        )


def part(batch: Batch, rows: slice) -> Batch:
    """Some instances of a batch, as a batch."""

    def cut(tensor: Tensor | None) -> Tensor | None:
        return None if tensor is None else tensor[rows]

    return replace(
        batch,
        theta=batch.theta[rows],
        problem=batch.problem.select(torch.arange(len(batch))[rows]),
        decision=cut(batch.decision),
        value=cut(batch.value),
        index=cut(batch.index),
    )

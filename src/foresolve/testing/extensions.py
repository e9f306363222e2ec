"""What every set function promises of its multilinear extension and the derivatives."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import torch
from torch import Tensor

from foresolve.errors import ForesolveError
from foresolve.sets.functions.extension import Local
from foresolve.sets.functions.function import SetFunction
from foresolve.testing.set_functions import ValueSuite
from foresolve.testing.suite import Inapplicable, Measure, Promise, holds, near

MOST_ITEMS = 10  # for which the definition is summed
DRAWS = 64  # estimates of an extension that is sampled


def enumerated(function: SetFunction, x: Tensor, theta: Tensor) -> Tensor:
    """`F` by its definition, `(B,)`, differentiable as often as `value` is."""
    sets = torch.tensor(list(itertools.product([0.0, 1.0], repeat=x.shape[-1])), dtype=x.dtype, device=x.device)
    chance = torch.ones((), dtype=x.dtype, device=x.device)
    for factor in torch.where(sets[:, None] == 1, x, 1 - x).unbind(-1):
        chance = chance * factor  # (2^n, B); `prod` divides in its second derivative
    rows = theta.expand(len(x), *theta.shape[theta.ndim - function.theta_dims :])
    values = function.value(sets[:, None].expand(-1, *x.shape), rows.expand(len(sets), *rows.shape))
    return (chance * values).sum(0)


def close(actual: Tensor, expected: Tensor, what: str, tol: float = 1e-7) -> Measure:
    """Equal up to `tol` of the largest entry."""
    return near(actual, expected, what, atol=tol * max(float(expected.detach().abs().max()), 1e-3))


class SetFunctionSuite(ValueSuite):
    """A set function with its extension; `exact_theta` says whether derivatives in theta are exact, not estimated."""

    def exact(self, *, definition: bool = False) -> SetFunction:
        """The function, where its extension is not estimated (and, for its definition, has few items)."""
        if self.function.sampled:
            raise Inapplicable("the extension is estimated at random sets")
        if definition and self.n > MOST_ITEMS:
            raise Inapplicable(f"the definition is a sum over 2^{self.n} sets")
        return self.function

    def defined(self, local: Local, x: Tensor, theta: Tensor, v: Tensor) -> Iterator[Measure]:
        """All that `local` says, against the definition differentiated by autograd."""
        x = x.clone().requires_grad_()
        rows = theta.expand(len(x), *theta.shape[1:]).clone().requires_grad_(self.exact_theta)
        value = enumerated(self.function, x, rows)
        (gradient,) = torch.autograd.grad(value.sum(), x, create_graph=True)
        yield close(local.value, value, "F")
        yield close(local.gradient, gradient, "the gradient of F in x")
        (product,) = torch.autograd.grad((gradient * v).sum(), x, retain_graph=True)
        yield close(local.product(v), product, "the Hessian of F times a vector")
        for what, given in (("cross", local.cross(v)), ("slope", local.slope())):
            yield holds(
                given.shape == rows.shape, f"`{what}` has the shape {tuple(given.shape)}, not {tuple(rows.shape)}"
            )
        if self.exact_theta:
            (cross,) = torch.autograd.grad((gradient * v).sum(), rows, retain_graph=True, allow_unused=True)
            (slope,) = torch.autograd.grad(value.sum(), rows, allow_unused=True)
            nothing = torch.zeros_like(rows)
            yield close(local.cross(v), nothing if cross is None else cross, "the derivative of grad F in theta")
            yield close(local.slope(), nothing if slope is None else slope, "the derivative of F in theta")

    @Promise("the extension is the value at sets", "`multilinear` at 0/1 points must be `value`")
    def at_sets(self) -> Iterator[Measure]:
        x, theta = self.points(5).round(), self.draw(5)
        values = self.function.value(x, theta)
        yield near(self.function.multilinear(x, theta), values, "F at a set", rtol=1e-12, atol=1e-12)
        yield from self._counterexamples("extension at a set")

    @Promise("the extension is the mean over random sets", "`multilinear` must be E f(S), S with chances x")
    def mean(self) -> Iterator[Measure]:
        self.exact()
        yield from self._counterexamples("extension")

    @Promise("extension and derivatives are those of the definition", "look at `multilinear`, or `local` and its parts")
    def definition(self) -> Iterator[Measure]:
        function, v = self.exact(definition=True), self.vectors(3)
        for corners in (False, True):
            x, theta = self.points(3, corners=corners), self.interior(3)
            yield from self.defined(function.local(x, theta), x, theta, v)
        x, theta = self.points(3), self.interior(1)
        yield from self.defined(function.local(x, theta), x, theta, v)

    @Promise("points next to 0 and 1 do no harm", "avoid quotients of `1 - x`")
    def extremes(self) -> Iterator[Measure]:
        function, theta, v = self.exact(definition=True), self.interior(2), self.vectors(2)
        for extreme in (1 - 1e-15, 1 - 1e-9, 1.0, 0.0, 1e-300):
            x = self.points(2)
            x[0, :] = extreme
            x[1, ::2] = extreme
            yield from self.defined(function.local(x, theta), x, theta, v)

    @Promise("samples average to the definition", "estimates must have no bias: draw each set with chances x")
    def unbiased(self) -> Iterator[Measure]:
        if not self.function.sampled or self.n > MOST_ITEMS:
            raise Inapplicable("the extension is exact" if not self.function.sampled else "too many sets to sum over")
        x, theta = self.points(3), self.interior(3)
        draws = torch.stack([self.function.with_seed(seed).multilinear(x, theta) for seed in range(DRAWS)]).detach()
        error = draws.std(0) / math.sqrt(DRAWS) + 1e-12
        score = (draws.mean(0) - enumerated(self.function, x, theta).detach()).abs() / error
        yield near(score, torch.zeros_like(score), f"the mean of {DRAWS} estimates, in standard errors", atol=6.0)

    @Promise("the Hessian's columns are its products", "`local.hessian(index)` must agree with `local.product`")
    def hessian(self) -> Iterator[Measure]:
        self.exact()
        x, theta = self.points(3, corners=True), self.draw(3)
        local = self.function.local(x, theta)
        orders = [torch.randperm(self.n, generator=torch.Generator().manual_seed(self.seed + k)) for k in range(3)]
        index = torch.stack(orders)[:, : max(1, self.n - 2)]
        hessian = local.hessian(index)
        diagonal = hessian.diagonal(dim1=-2, dim2=-1)
        yield near(diagonal, torch.zeros_like(diagonal), "the diagonal of the Hessian")
        for a in range(index.shape[-1]):
            column = local.product(torch.zeros_like(x).scatter(-1, index[:, a : a + 1], 1.0))
            yield close(hessian[..., a], column.gather(-1, index), "a column of the Hessian", 1e-10)
        yield holds(local.hessian(index[:, :0]).shape == (3, 0, 0), "the Hessian of no items is not empty")

    @Promise("autograd's derivatives in x agree with differences", "look at `gradient` and `hessian_product`")
    def differentiable_in_x(self) -> Iterator[Measure]:
        function, theta = self.exact(), self.interior(2)
        x = self.points(2).requires_grad_()
        torch.autograd.gradcheck(lambda x: function.multilinear(x, theta), (x,))
        torch.autograd.gradgradcheck(lambda x: function.multilinear(x, theta), (x,))
        torch.autograd.gradcheck(lambda x: function.gradient(x, theta), (x,))
        yield holds(True, "")

    @Promise("autograd's derivatives in theta agree with differences", "look at `local.slope` and `local.cross`")
    def differentiable_in_theta(self) -> Iterator[Measure]:
        function, x = self.exact(), self.points(2).requires_grad_()
        if not self.exact_theta:
            raise Inapplicable("derivatives in theta are estimates")
        for batch in ((), (2,)):
            theta = self.interior(*batch).requires_grad_()
            torch.autograd.gradcheck(function.multilinear, (x, theta))
            torch.autograd.gradcheck(function.gradient, (x, theta))
        yield holds(True, "")

    @Promise("a shared theta collects the gradients of its batch", "sum over the instances that share it")
    def collects(self) -> Iterator[Measure]:
        function, x = self.function, self.points(4)
        theta = self.interior().requires_grad_()
        apart = theta.detach().expand(4, *theta.shape).clone().requires_grad_()
        (shared,) = torch.autograd.grad(function.multilinear(x, theta).sum(), theta)
        (single,) = torch.autograd.grad(function.multilinear(x, apart).sum(), apart)
        yield near(shared, single.sum(0), "the gradient of a shared theta", atol=1e-7, rtol=1e-7)

    @Promise("second derivatives through theta are refused or right", "refuse them with a ForesolveError")
    def second_derivatives(self) -> Iterator[Measure]:
        function, x = self.exact(definition=True), self.points(2).requires_grad_()
        theta = self.interior(2).requires_grad_()
        (slope,) = torch.autograd.grad(function.multilinear(x, theta).sum(), theta, create_graph=True)
        try:
            (mixed,) = torch.autograd.grad((slope * theta.detach()).sum(), x)
        except ForesolveError:
            return
        (expected,) = torch.autograd.grad(enumerated(function, x, theta).sum(), theta, create_graph=True)
        (expected,) = torch.autograd.grad((expected * theta.detach()).sum(), x)
        yield close(mixed, expected, "the mixed derivative")

    @Promise("points of two solves merge", "`local.merge` picks points by instance; or leave it out")
    def merges(self) -> Iterator[Measure]:
        function, theta, v = self.exact(), self.draw(3), self.vectors(3)
        x, y, which = self.points(3, corners=True), self.points(3).flip(0), torch.tensor([True, False, True])
        merged = function.local(x, theta).merge(which, function.local(y, theta))
        if merged is None:
            raise Inapplicable("points of this function are not merged")
        expected = function.local(torch.where(which[:, None], x, y), theta)
        for what, given, there in (
            ("value", merged.value, expected.value), ("gradient", merged.gradient, expected.gradient),
            ("product", merged.product(v), expected.product(v)), ("cross", merged.cross(v), expected.cross(v)),
            ("slope", merged.slope(), expected.slope()),
        ):  # fmt: skip
            yield near(given, there, f"`{what}` after merging", atol=1e-7, rtol=1e-7)

    @Promise("devices agree", "make every tensor on the device of theta, and give `to(device)`")
    def devices_agree(self) -> Iterator[Measure]:
        if not torch.cuda.is_available():
            raise Inapplicable("there is no CUDA device")
        function, x, theta, v = self.exact(), self.points(3), self.interior(3), self.vectors(3)
        index = torch.arange(self.n).expand(3, -1)
        here, there = function.local(x, theta), function.to("cuda").local(x.cuda(), theta.cuda())
        yield holds(there.value.device.type == "cuda", f"values are on {there.value.device}")
        for what, moved, stayed in (
            ("value", there.value, here.value), ("gradient", there.gradient, here.gradient),
            ("hessian", there.hessian(index.cuda()), here.hessian(index)),
            ("product", there.product(v.cuda()), here.product(v)), ("cross", there.cross(v.cuda()), here.cross(v)),
            ("slope", there.slope(), here.slope()),
        ):  # fmt: skip
            yield close(moved.cpu(), stayed, f"`{what}` on the device")

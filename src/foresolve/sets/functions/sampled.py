r"""Extensions without a formula: by random sets.

With `S` a random set that holds item `i` with probability `x_i`, and `S ^ i` the set with `i` put in or taken out,

    F                        = E f(S)
    dF/dx_i                  = E s_i (f(S ^ i) - f(S))                                       s_i = 1 - 2 [i in S]
    d2F/dx_i dx_l            = E s_i s_l (f(S ^ i ^ l) - f(S ^ i) - f(S ^ l) + f(S))          for i != l.

The differences do not depend on whether `i` itself was drawn, so these means are unbiased, and each sample needs one
more value per item instead of two. At a 0/1 point all sets that are drawn are the point itself, and one is enough.

**Singular derivatives.** The derivative in `theta` is autograd's, through `value`, and autograd has none where a factor
is infinite: `sqrt(sum_i m_i theta_i)` of the empty set `m = 0` has the slope `m_i / 2 sqrt(0)`, which is 0 times
infinity, although the value is 0 whatever `theta` is. The derivative at a set is then the limit of those at masks
`max(m, e)`, `e -> 0`. For `g(sum_i m_i theta_i)` with `g` concave and `g(0) = 0`, an item that is outside has the slope
`e g'(e s) <= g(e s) / s`, for `t g'(t) <= g(t)`, and that goes to 0, the derivative of a value that does not depend on
the item. Two values of `e` tell whether there is a limit; where there is none (the root again, of an item that is in
the set and has `theta_i = 0`), or where `value` takes masks for something else than factors, an error says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.sets.functions.extension import Local, finite_rows, refuse_singular, rows
from foresolve.sets.functions.function import SetFunction

CHUNK = 2**22  # numbers (entries of a set or of its parameters, whichever are more) that `value` is given at once
RELAXED = (1e-100, 1e-120)  # masks near sets: their squares are still normal numbers
AGREEMENT = 1e-6  # of derivatives at such masks, and of values there with those of the sets


class SampledLocal(Local):
    """Estimates from `function.samples` random sets; nothing is evaluated before it is asked for.

    `value` `(B,)` and `gradient` `(B, n)` come with their standard errors, `value_error` and `error`.
    """

    def __init__(self, function: SetFunction, x: Tensor, theta: Tensor) -> None:
        self.function, self.x, self.theta = function, x, theta
        self.batch, self.n = x.shape
        self._cost = max(self.n, theta[:1].numel(), 1)
        self._certain = bool((x == x.round()).all())
        self._samples = 1 if self._certain else function.samples

    @cached_property
    def _first(self) -> tuple[Tensor, Tensor]:
        means = _Moments()
        for part in self._parts(self._samples, self.batch):
            means.add(self._evaluate(self._sets(part), self.theta))
        return means.mean, self._error(means)

    @cached_property
    def _second(self) -> tuple[Tensor, Tensor]:
        index = torch.arange(self.n, device=self.x.device).expand(self.batch, -1)
        moments = []
        for block in self._parts(self.n, self.batch):
            means = _Moments()
            for part in self._parts(self._samples, self.batch * (block.stop - block.start)):
                means.add(self._differences(self._sets(part), index[:, block], self.theta))
            moments.append((means.mean, self._error(means)))
        return torch.cat([mean for mean, _ in moments], -1), torch.cat([error for _, error in moments], -1)

    def _error(self, means: _Moments) -> Tensor:
        return torch.zeros_like(means.mean) if self._certain else means.error

    @property
    def value(self) -> Tensor:  # type: ignore[override]
        return self._first[0]

    @property
    def value_error(self) -> Tensor:
        """`(B,)`: the standard error of `value`."""
        return self._first[1]

    @property
    def gradient(self) -> Tensor:  # type: ignore[override]
        return self._second[0]

    @property
    def error(self) -> Tensor:
        """`(B, n)`: the standard error of `gradient`."""
        return self._second[1]

    def hessian(self, index: Tensor) -> Tensor:
        f = index.shape[-1]
        total = self.x.new_zeros(self.batch, f, f)
        for part in self._parts(self._samples, self.batch * max(f, 1)):
            sets = self._sets(part)
            alone = self._differences(sets, index, self.theta)
            inside = sets.gather(-1, index.expand(len(sets), -1, -1))
            for a in range(f - 1):
                moved = _flip(sets, index[:, a : a + 1])[..., 0, :]
                both = self._differences(moved, index[:, a + 1 :], self.theta)
                total[:, a, a + 1 :] += ((1 - 2 * inside[..., a : a + 1]) * (both - alone[..., a + 1 :])).sum(0)
        return (total + total.mT) / self._samples

    def product(self, v: Tensor) -> Tensor:
        """Through the whole Hessian, of `n^2 / 2` values per sample."""
        index = torch.arange(self.n, device=self.x.device).expand(self.batch, -1)
        return (self.hessian(index) @ v.unsqueeze(-1)).squeeze(-1)

    def cross(self, v: Tensor) -> Tensor:
        wanted = (v != 0).any(0).nonzero()[:, 0]
        index = wanted.expand(self.batch, -1)

        def total(least: float) -> Tensor:
            leaf, total = self._leaf()
            for block in self._parts(len(wanted), self.batch):
                weight = v[:, wanted[block]]
                for part in self._parts(self._samples, self.batch * (block.stop - block.start)):
                    with torch.enable_grad():
                        differences = self._differences(self._sets(part), index[:, block], leaf, least)
                        _accumulate(total, (weight * differences).sum(), leaf)
            return total / self._samples

        return self._limit(total)

    def slope(self) -> Tensor:
        def total(least: float) -> Tensor:
            leaf, total = self._leaf()
            for part in self._parts(self._samples, self.batch):
                with torch.enable_grad():
                    _accumulate(total, self._evaluate(self._sets(part), leaf, least).sum(), leaf)
            return total / self._samples

        return self._limit(total)

    def _limit(self, total: Callable[[float], Tensor]) -> Tensor:
        """A derivative in `theta` `(B, *shape)` at sets, given as a function of the least entry of their masks.

        Instances whose derivative at the sets themselves is not finite get the limit; see the module.
        """
        gradient = total(0.0)
        singular = ~finite_rows(gradient)
        if not bool(singular.any()):
            return gradient
        near, nearer = (rows(total(least)) for least in RELAXED)
        unit = (self._all_items.abs() / rows(self.theta).abs().amax(-1)).nan_to_num(posinf=0.0)
        size = torch.maximum(near.abs().amax(-1), unit)
        settled = finite_rows(near) & ((near - nearer).abs().amax(-1) <= AGREEMENT * size)
        refuse_singular(singular & ~settled, f"{type(self.function).__name__}.value", "`theta`")
        return torch.where(singular.unsqueeze(-1), near, rows(gradient)).reshape_as(gradient)

    def _leaf(self) -> tuple[Tensor, Tensor]:
        leaf = self.theta.detach().expand(self.batch, *self.theta.shape[1:]).clone()
        return leaf.requires_grad_(), torch.zeros_like(leaf)

    @cached_property
    def _all_items(self) -> Tensor:
        """`(B,)`: the value of the set of all items, the largest there is."""
        with torch.no_grad():
            return self._evaluate(torch.ones_like(self.x)[None], self.theta)[0]

    @cached_property
    def _uniforms(self) -> Tensor:
        generator = torch.Generator().manual_seed(self.function.seed)
        return torch.rand(self.function.samples, self.n, generator=generator, dtype=torch.float64).to(self.x.device)

    def _sets(self, part: slice) -> Tensor:
        return (self._uniforms[part, None] < self.x).to(self.x.dtype)

    def _parts(self, count: int, sets_of_one: int) -> Iterator[slice]:
        """Slices of `count` things, each of which takes the value of some sets."""
        step = max(1, CHUNK // max(1, sets_of_one * self._cost))
        return (slice(start, min(start + step, count)) for start in range(0, count, step))

    def _evaluate(self, masks: Tensor, theta: Tensor, least: float = 0.0) -> Tensor:
        """`f` of the sets `(k, B, ..., n)`, by masks whose entries are at least `least`."""
        shape = theta.shape[1:]
        rows = theta.reshape(1, theta.shape[0], *[1] * (masks.ndim - 3), *shape).expand(*masks.shape[:-1], *shape)
        # What the function holds for each instance lies along the last dimension of a batch.
        aside = bool(self.function.batch_shape) and masks.ndim == 4
        if aside:
            masks, rows = masks.transpose(1, 2), rows.transpose(1, 2)
        values = self._values(masks, rows)
        if least:
            relaxed = self._values(masks.clamp_min(least), rows)
            self._check_factors(relaxed.detach(), values.detach())
            values = relaxed
        return (values.transpose(1, 2) if aside else values).double()

    def _values(self, masks: Tensor, rows: Tensor) -> Tensor:
        """`function.value`, checked."""
        values, name = self.function.value(masks, rows), f"{type(self.function).__name__}.value(...)"
        if values.shape != masks.shape[:-1]:
            expected = f"{tuple(masks.shape[:-1])} for sets {tuple(masks.shape)}"
            remedy = "Sum over the last dimensions only; those in front are the batch"
            raise checks.fail(name, expected, str(tuple(values.shape)), remedy)
        checks.finite(name, values)
        return values

    def _check_factors(self, relaxed: Tensor, values: Tensor) -> None:
        """Masks that are nearly those of sets must have nearly their values."""
        if values.numel() and bool((relaxed - values).abs().amax() > AGREEMENT * self._all_items.abs().amax()):
            name = f"{type(self.function).__name__}.value(...)"
            expected = "continuous in the mask, for its derivative in `theta` is not finite at some set"
            remedy = "Multiply by the mask instead of comparing it, or keep the derivative finite"
            raise checks.fail(name, expected, "other values at masks next to a set", remedy)

    def _differences(self, sets: Tensor, index: Tensor, theta: Tensor, least: float = 0.0) -> Tensor:
        """`f(S + i) - f(S - i)` `(k, B, f)` for sets `(k, B, n)` and items `(B, f)`."""
        sign = 1 - 2 * sets.gather(-1, index.expand(len(sets), -1, -1))
        moved = self._evaluate(_flip(sets, index), theta, least)
        return sign * (moved - self._evaluate(sets, theta, least).unsqueeze(-1))


class _Moments:
    """Mean and its standard error over the leading dimension, of parts that come one by one."""

    def __init__(self) -> None:
        self.count, self.shift, self.total, self.square = 0, torch.empty(0), torch.empty(0), torch.empty(0)

    def add(self, part: Tensor) -> None:
        if self.count == 0:
            self.shift = part[0]  # deviations from a sample: sums of squares then lose no digits
            self.total, self.square = torch.zeros_like(part[0]), torch.zeros_like(part[0])
        self.count += len(part)
        self.total += (part - self.shift).sum(0)
        self.square += (part - self.shift).square().sum(0)

    @property
    def mean(self) -> Tensor:
        return self.shift + self.total / self.count

    @property
    def error(self) -> Tensor:
        """Infinite for a single sample, of which nothing can be told."""
        if self.count == 1:
            return torch.full_like(self.total, math.inf)
        spread = (self.square - self.total.square() / self.count).clamp_min(0)
        return (spread / (self.count * (self.count - 1))).sqrt()


def _flip(sets: Tensor, index: Tensor) -> Tensor:
    """Sets `(k, B, n)` with each of the items `(B, f)` put in or taken out, `(k, B, f, n)`."""
    items = index.expand(len(sets), *index.shape)
    turned = 1 - sets.gather(-1, items)
    copies = sets.unsqueeze(-2).repeat(1, 1, index.shape[-1], 1)
    return copies.scatter_(-1, items.unsqueeze(-1), turned.unsqueeze(-1))


def _accumulate(total: Tensor, scalar: Tensor, by: Tensor) -> None:
    if scalar.requires_grad:
        (gradient,) = torch.autograd.grad(scalar, by, allow_unused=True)
        if gradient is not None:
            total += gradient

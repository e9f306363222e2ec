r"""Slopes that a gradient claims, against differences of what it is the gradient of.

Along a direction `d`, each instance is a function of one number, `phi_i(t)`, and the gradient claims `phi_i'(0)`.
Central differences `(phi(h) - phi(-h)) / 2h` are taken with steps over four orders of magnitude: large ones miss the
curvature, small ones drown in rounding (and in the tolerance of a solver), and where two neighboring steps agree best,
both errors are small. By how much they disagree there is how far the difference itself can be trusted.

Decisions are often piecewise smooth. At a kink the one-sided differences disagree, by an amount that does not shrink
with the step (where `phi` is smooth, it shrinks in proportion), and no single number is the derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from foresolve.errors import InfeasibleError

STEPS = tuple(10.0**-k for k in range(2, 7))  # shares of a direction, which is as long as what is moved is large
LEVELS = 21  # kinks are looked for at a whole direction, half of it, a quarter, ...
TRUST = 1e-3  # a difference that is not known to this share of the gradient decides nothing
NOTABLE = 1e-3  # a change of slope, as a share of the largest slope, that makes a kink

# From distances `t`, shares of a direction, to what each instance is there: `(T,)` to `(T, B)`, float64.
Line = Callable[[Sequence[float]], Tensor]


@dataclass(frozen=True)
class Comparison:
    """Slopes and differences, `(D, B)`: of each direction and instance.

    Attributes
    ----------
    slopes: what the gradient claims.
    differences: what the function does.
    doubt: how far the differences can be off.
    sides: the differences to the right and to the left, `(2, D, B)`.
    kink: where these disagree.
    unit: the slope that would be natural, `(B,)`; far below it, one is as good as none.
    """

    slopes: Tensor
    differences: Tensor
    doubt: Tensor
    sides: Tensor
    kink: Tensor
    unit: Tensor

    @property
    def scale(self) -> Tensor:
        """The largest slope of each instance, `(B,)`: what errors are relative to."""
        finite = torch.where(self.kink | ~self.differences.isfinite(), 0.0, self.differences.abs())
        claimed = torch.where(self.slopes.isfinite(), self.slopes.abs(), 0.0)
        return torch.maximum(torch.maximum(finite, claimed).amax(0), 1e-2 * self.unit)

    @property
    def error(self) -> Tensor:
        """Relative errors `(D, B)`, less what the differences can be off; 0 at kinks, where nothing is claimed."""
        excess = ((self.slopes - self.differences).abs() - 3 * self.doubt).clamp_min(0)
        relative = torch.where(self.kink | self.undecided, 0.0, excess / self.scale)
        return torch.where(self.slopes.isfinite(), relative, torch.inf)

    @property
    def undecided(self) -> Tensor:
        """Where the differences do not settle: `(D, B)`."""
        return ~self.kink & ~(self.doubt <= TRUST * self.scale)


def compare(lines: list[Line], slopes: Tensor, unit: Tensor) -> Comparison:
    """Slopes `(D, B)` against the differences of each line; `unit` `(B,)` is the magnitude of the instances."""
    times = [0.0, *STEPS, *(-step for step in STEPS)]
    values = torch.stack([line(times) for line in lines])
    middle, ahead, behind = values.split([1, len(STEPS), len(STEPS)], 1)  # (D, steps, B)
    step = torch.tensor(STEPS, dtype=torch.float64, device=ahead.device)[:, None]
    central = (ahead - behind) / (2 * step)
    right, left = (ahead - middle) / step, (middle - behind) / step
    gap = (central.diff(dim=1)).abs().nan_to_num(nan=torch.inf)  # (D, steps - 1, B)
    beside = torch.cat([gap[:, 1:2], torch.minimum(gap[:, :-2], gap[:, 2:]), gap[:, -2:-1]], 1)
    doubts = torch.maximum(gap, beside)  # two pairs of steps agree by chance much less often than one
    doubt, pair = doubts.min(1, keepdim=True)

    def chosen(values: Tensor, offset: int) -> Tensor:
        return values.gather(1, pair + offset).squeeze(1)

    doubt, difference, jump = doubt.squeeze(1), chosen(central, 1), (right - left).abs()
    floor = torch.maximum(difference.abs().nan_to_num().amax(0), 1e-2 * unit)
    persists = chosen(jump, 1) > 0.5 * chosen(jump, 0)
    kink = persists & (chosen(jump, 1) > 1e-4 * floor + 10 * doubt)
    return Comparison(slopes, difference, doubt, torch.stack([chosen(right, 1), chosen(left, 1)]), kink, unit)


def nearest_kink(line: Line, scale: Tensor) -> Tensor:
    """About how far along a line, to either side, the slope of each instance first changes at once, `(B,)`.

    The secants between points at 1, 1/2, 1/4, ... of the direction change in proportion to the distance where the
    function is smooth; a kink changes them by much more than that from one to the next. Infinite where none is seen
    within half of the direction.
    """
    distance = torch.full(scale.shape, torch.inf, dtype=torch.float64, device=scale.device)
    for sign in (1.0, -1.0):
        distance = torch.minimum(distance, _first_kink(line, sign, scale))
    return distance


def _first_kink(line: Line, sign: float, scale: Tensor) -> Tensor:
    times = [0.0, *(2.0**-k for k in reversed(range(LEVELS)))]
    values = _as_far_as_decided(line, [sign * t for t in times])
    if len(values) < 3:
        return torch.full(scale.shape, torch.inf, dtype=torch.float64, device=scale.device)
    at = torch.tensor(times[: len(values)], dtype=torch.float64, device=values.device)[:, None]
    secants = values.diff(dim=0) / at.diff(dim=0)  # (levels, B): the k-th from times[k] to times[k + 1]
    change = secants.diff(dim=0).abs()
    distance = torch.full(scale.shape, torch.inf, dtype=torch.float64, device=values.device)
    before = torch.zeros_like(change[0])
    for k, step in enumerate(change[:-1]):
        sharp = (step > NOTABLE * scale) & (step > 8 * before) & distance.isinf()
        distance = torch.where(sharp, _meeting(at, values, secants, k), distance)
        before = torch.maximum(before, step)
    return distance


def _as_far_as_decided(line: Line, times: list[float]) -> Tensor:
    """The values `(T, B)` up to where a decision ends: predicted constraints may contradict each other farther out."""
    while True:
        try:
            return line(times)
        except InfeasibleError:
            if len(times) == 1:
                raise
            times = times[:-1]


def _meeting(at: Tensor, values: Tensor, secants: Tensor, k: int) -> Tensor:
    """Where the line before the change, the k-th secant, meets the one after it; within the secants between."""
    slope = secants[k + 2] - secants[k]
    offset = values[k + 2] - secants[k + 2] * at[k + 2] - values[k] + secants[k] * at[k]
    place = torch.where(slope == 0, at[k + 1], -offset / torch.where(slope == 0, 1.0, slope))
    return torch.minimum(torch.maximum(place, at[k]), at[k + 2])


def directions(like: Tensor, size: Tensor, count: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Directions for instances `(B, *shape)`, each as long as `size` `(B,)` says in its largest entry.

    Random ones; each entry separately where the instances have no more than `count`.
    """
    flat = like.detach().reshape(len(like), -1)
    entries = flat.shape[1]
    for j in range(min(count, entries)):
        if entries <= count:
            direction = torch.zeros_like(flat)
            direction[:, j] = 1.0
        else:
            direction = torch.randn(flat.shape, generator=generator, dtype=torch.float64).to(flat)
            direction = direction / direction.abs().amax(1, keepdim=True)
        yield (size.to(flat)[:, None] * direction).reshape(like.shape)

r"""A smoothing that is worked out on decisions.

Smoothing takes a decision from the best one, :math:`x_0`, to the point of smallest norm, :math:`x_\infty`. The share of
that way which :math:`x_\gamma` keeps,

.. math:: s(\gamma) = \frac{f(x_\gamma) - f(x_\infty)}{f(x_0) - f(x_\infty)},

is 1 at 0 and falls to 0: :math:`x_\gamma` maximizes :math:`f - \gamma |x|^2`, so that for :math:`\gamma < \delta`
adding up what each of the two points lacks in the other's problem gives :math:`|x_\gamma| \ge |x_\delta|`, and with
it :math:`f(x_\gamma) \ge f(x_\delta)`. It does not change with the unit of `theta`, of `x` or with an offset. (Where
`f` is not concave and the solver finds a local maximum, :math:`s` need not fall: then the grid decides.)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from foresolve.errors import ForesolveWarning
from foresolve.problems.base import Problem

MOST_INSTANCES = 64  # that a calibration looks at, evenly spaced
SHARP, FLAT = 1e-5, 1e5  # in units of the closed-form rule: as good as 0, and as infinity
HALVINGS = 16
GRID = 13  # where the share need not fall


@dataclass(frozen=True)
class Calibration:
    """What a smoothing was found to be on training data.

    Attributes
    ----------
    first, last: the smoothing in the first and in the last epoch of a training.
    kept: the shares of the way from the point of smallest norm to the best decision that these two keep, the means over
        instances.
    instances: how many were used.
    """

    first: float
    last: float
    kept: tuple[float, float]
    instances: int

    @property
    def gamma(self) -> float:
        """The smoothing outside of a training: the one half-way."""
        return self.at(0.5)

    @property
    def anneals(self) -> bool:
        """Whether the smoothing changes during training."""
        return self.first != self.last

    def at(self, progress: float) -> float:
        """The smoothing for a progress from 0 to 1, on a geometric path."""
        return self.first ** (1 - progress) * self.last**progress if self.anneals else self.first

    def times(self, factor: float) -> Calibration:
        """Another smoothing: that many times as strong. What it keeps is not measured again."""
        nan = float("nan")
        return replace(self, first=self.first * factor, last=self.last * factor, kept=(nan, nan))


class Shares:
    """Which share of what there is to gain decisions keep.

    Parameters
    ----------
    flat, sharp: what the decisions of some instances are worth at the point of smallest norm, and at best.
    """

    def __init__(self, flat: Tensor, sharp: Tensor) -> None:
        self.flat, self.range = flat.double(), (sharp - flat).double()
        self.counted = self.range > 1e-9 * torch.maximum(flat.abs(), sharp.abs())

    def __call__(self, value: Tensor) -> Tensor:
        """For each instance; 1 where there is nothing to gain."""
        share = (value.double() - self.flat) / torch.where(self.counted, self.range, 1.0)
        return torch.where(self.counted, share.clamp(0, 1), 1.0)

    def mean(self, value: Tensor) -> float:
        """Over the instances in which there is something to gain; 1 where there are none."""
        return float(self(value)[self.counted].mean()) if bool(self.counted.any()) else 1.0


def calibrate(
    value: Callable[[float], Tensor], shares: Shares, unit: float, keep: Sequence[float], *, falls: bool
) -> Calibration:
    """The largest smoothings that keep given shares of what there is to gain.

    Parameters
    ----------
    value: what the decisions of a sample of instances are worth, for a `gamma`.
    shares: of the same instances.
    unit: a `gamma` of the right order of magnitude.
    keep: the shares at first and at last.
    falls: whether the share falls with `gamma`, so that halving an interval finds it; otherwise a grid is tried.
    """
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore", ForesolveWarning)  # of a smoothing that nobody asked for
        search = _by_halving if falls else _by_grid
        found = {share: search(lambda gamma: shares.mean(value(gamma)), unit, share) for share in dict.fromkeys(keep)}
    (first, kept), (last, kept_last) = found[keep[0]], found[keep[-1]]
    return Calibration(first, last, (kept, kept_last), len(shares.flat))


Share = Callable[[float], float]


def _by_halving(share: Share, unit: float, keep: float) -> tuple[float, float]:
    low, high, kept = SHARP * unit, FLAT * unit, 1.0
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        reached = share(middle)
        if reached >= keep:
            low, kept = middle, reached
        else:
            high = middle
    return low, kept


def _by_grid(share: Share, unit: float, keep: float) -> tuple[float, float]:
    """The largest of a grid that keeps enough; the sharpest where none does."""
    gamma = kept = 0.0
    for i in range(GRID):
        gamma = unit * 10 ** (1 - 0.25 * i)
        kept = share(gamma)
        if kept >= keep:
            break
    return gamma, kept


def sample(problem: Problem, theta: Tensor) -> tuple[Problem, Tensor]:
    """Some instances of a data set, evenly spaced."""
    count = len(theta)
    index = torch.linspace(0, count - 1, min(count, MOST_INSTANCES)).round().long()
    chosen = problem.select(index.to(problem.device)) if problem.batch_shape else problem
    return chosen, theta[index.to(theta.device)]

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
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from foresolve.errors import ForesolveWarning
from foresolve.problems.base import Problem

MOST_INSTANCES = 64  # that a calibration looks at, evenly spaced
SHARP, FLAT = 1e-5, 1e5  # in units of the closed-form rule: as good as 0, and as infinity
HALVINGS = 16
GRID = 13  # where the share need not fall

Decide = Callable[[float], Tensor]


@dataclass(frozen=True)
class Calibration:
    """What a smoothing was found to be on training data.

    Attributes
    ----------
    gamma: the smoothing.
    kept: the share of the way from the point of smallest norm to the best decision that it keeps, the mean over
        instances.
    instances: how many were looked at.
    """

    gamma: float
    kept: float
    instances: int


def calibrate(
    decide: Decide, value: Callable[[Tensor], Tensor], unit: float, keep: float, *, falls: bool
) -> Calibration:
    """The largest smoothing that keeps a share of what there is to gain.

    Parameters
    ----------
    decide: decisions of a sample of instances for a `gamma`.
    value: what they are worth under the truth.
    unit: a `gamma` of the right order of magnitude.
    falls: whether the share falls with `gamma`, so that halving an interval finds it; otherwise a grid is tried.
    """
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore", ForesolveWarning)  # of a smoothing that nobody asked for
        flat, sharp = value(decide(FLAT * unit)).double(), value(decide(SHARP * unit)).double()
        share = _Shares(flat, sharp, lambda gamma: value(decide(gamma)).double())
        gamma = _by_halving(share, unit, keep) if falls else _by_grid(share, unit, keep)
        return Calibration(gamma, share(gamma), len(flat))


class _Shares:
    def __init__(self, flat: Tensor, sharp: Tensor, value: Callable[[float], Tensor]) -> None:
        self.flat, self.range, self.value = flat, sharp - flat, value
        self.counted = self.range > 1e-9 * torch.maximum(flat.abs(), sharp.abs())

    def __call__(self, gamma: float) -> float:
        """The mean share over instances in which there is something to gain; 1 where there are none."""
        if not bool(self.counted.any()):
            return 1.0
        share = (self.value(gamma) - self.flat)[self.counted] / self.range[self.counted]
        return float(share.clamp(0, 1).mean())


def _by_halving(share: _Shares, unit: float, keep: float) -> float:
    low, high = SHARP * unit, FLAT * unit
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if share(middle) >= keep else (low, middle)
    return low


def _by_grid(share: _Shares, unit: float, keep: float) -> float:
    """The largest of a grid above which none keeps more; the sharpest where none keeps enough."""
    grid = [unit * 10 ** (1 - 0.25 * i) for i in range(GRID)]
    return next((gamma for gamma in grid if share(gamma) >= keep), grid[-1])


def sample(problem: Problem, theta: Tensor) -> tuple[Problem, Tensor]:
    """Some instances of a data set, evenly spaced."""
    count = len(theta)
    index = torch.linspace(0, count - 1, min(count, MOST_INSTANCES)).round().long()
    chosen = problem.select(index.to(problem.device)) if problem.batch_shape else problem
    return chosen, theta[index.to(theta.device)]

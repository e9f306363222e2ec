"""What every loss must satisfy; a loss's test class inherits this and says how to make its instances."""

from __future__ import annotations

from abc import abstractmethod

import pytest
import torch
from torch import Tensor

import foresolve
from foresolve.data import Batch
from foresolve.losses import Loss
from foresolve.problems import Problem
from foresolve.testing.losses import LossSuite
from foresolve.testing.suite import Promise, factory
from promises import keep, promises

Case = tuple[Tensor, Batch]


def instance(problem: Problem, *shape: int, seed: int = 0, size: int = 4, positive: bool = False) -> Case:
    """A prediction and a batch of `size` instances with parameters of a given shape, float64."""
    generator = torch.Generator().manual_seed(seed)
    draw = torch.rand if positive else torch.randn
    theta, theta_hat = (draw(size, *shape, generator=generator, dtype=torch.float64) for _ in range(2))
    return theta_hat, Batch(None, theta, problem, index=torch.arange(size))


class LossConformance:
    """Subclasses give `loss()` and `cases()`.

    `loss()` makes a new loss in the same state each time it is called, so that two losses draw the same samples: what
    is random is frozen by asking for a new one.
    """

    smooth = True  # the gradient is that of the value, almost everywhere
    separable = True  # an instance's loss does not depend on the others in its batch (nor on where samples land)
    nonnegative = True
    bounds_regret = False
    learns = True  # descent on the predictions themselves leads to good decisions
    gradient_tolerance = 1e-6
    steps, rate, goal = 200, 0.05, 0.1

    @abstractmethod
    def loss(self) -> Loss: ...

    @abstractmethod
    def cases(self) -> list[Case]:
        """Predictions `(B, *shape)` at which the loss is smooth, and batches, `B > 1`, float64."""

    def toy(self) -> Case:
        """A problem that is easy to learn."""
        return instance(foresolve.TopK(6, 2), 6, seed=1, size=16, positive=True)

    def suite(self, theta_hat: Tensor, batch: Batch) -> LossSuite:
        return LossSuite(
            factory(self.loss()),
            theta_hat,
            batch,
            smooth=self.smooth,
            separable=self.separable,
            nonnegative=self.nonnegative,
            bounds_regret=self.bounds_regret,
            gradient_tolerance=self.gradient_tolerance,
        )

    @pytest.mark.parametrize("promise", promises(LossSuite, but=["descends"]))
    def test_promise(self, promise: Promise) -> None:
        excused = {
            "gradient": not self.smooth,
            "batch_equals_loop": not self.separable,
            "sign": not self.nonnegative,
            "bound": not self.bounds_regret,
            "refuses": not self.loss().needs,
            "decisions_alone": self.loss().uses_theta,
        }
        for theta_hat, batch in self.cases():
            keep(promise, self.suite(theta_hat, batch), [name for name, excuse in excused.items() if excuse])

    def test_descent_leads_to_good_decisions(self) -> None:
        if not self.learns:
            pytest.skip("not for predictions by themselves")
        suite = self.suite(*self.toy())
        suite.learn, suite.steps, suite.rate, suite.goal = self.toy(), self.steps, self.rate, self.goal
        keep(LossSuite.descends, suite)

"""What every set function with an exact extension promises; a new function's tests inherit the class."""

from __future__ import annotations

from typing import ClassVar

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from foresolve.sets import SetFunction
from foresolve.testing.extensions import SetFunctionSuite, enumerated
from foresolve.testing.suite import Promise
from promises import keep, promises

__all__ = ["SetFunctionConformance", "assert_near", "conform", "enumerated", "seeds"]

seeds = st.integers(0, 2**20)
conform = settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))

# Tested whatever the instance; the others, on two.
VARIED = ("definition", "hessian", "increments", "cuts", "empty_set", "monotone", "submodular", "mean", "at_sets")


def assert_near(actual: Tensor, expected: Tensor, tol: float = 1e-7) -> None:
    """Equal up to `tol` of the largest entry."""
    torch.testing.assert_close(actual, expected, rtol=0, atol=tol * max(float(expected.abs().max()), 1e-3))


class SetFunctionConformance:
    """Subclasses say how to make the function (`make`) and parameters for `n` items (`draw`)."""

    n: ClassVar[int] = 6
    exact_theta: ClassVar[bool] = True  # whether derivatives in theta are exact rather than estimated
    excused: ClassVar[tuple[str, ...]] = ("merges",)  # points of some functions are not merged

    def make(self) -> SetFunction:
        raise NotImplementedError

    def draw(self, batch: tuple[int, ...], n: int, seed: int) -> Tensor:
        """Parameters `(*batch, *shape)` in float64, in the interior of what is allowed."""
        raise NotImplementedError

    def keep(self, promise: Promise, seed: int) -> None:
        def draw(batch: tuple[int, ...], seed: int) -> Tensor:
            return self.draw(batch, self.n, seed)

        suite = SetFunctionSuite(self.make(), self.n, draw, exact_theta=self.exact_theta, seed=seed)
        estimated = () if self.exact_theta else ("differentiable_in_theta",)
        keep(promise, suite, (*self.excused, *estimated))

    @pytest.mark.parametrize("promise", promises(SetFunctionSuite, only=VARIED))
    @conform
    @given(seed=seeds)
    def test_promise_whatever_the_instance(self, promise: Promise, seed: int) -> None:
        self.keep(promise, seed)

    @pytest.mark.parametrize("seed", [1, 2])
    @pytest.mark.parametrize("promise", promises(SetFunctionSuite, but=(*VARIED, "unbiased")))
    def test_promise(self, promise: Promise, seed: int) -> None:
        self.keep(promise, seed)

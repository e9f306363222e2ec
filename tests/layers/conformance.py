"""What every layer must satisfy; a layer's test class inherits this and says how to make its instances."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import pytest
from torch import Tensor

import foresolve
from foresolve.testing.layers import LayerSuite
from foresolve.testing.suite import Promise
from promises import keep, promises


class LayerConformance:
    """Subclasses give `layer()` and `cases()`, pairs of a problem and a `theta` `(B, *shape)`, `B > 1`.

    `layer()` makes a new layer in the same state each time it is called, so that two layers draw the same samples.
    """

    smooth = True  # the gradient is that of the decision, which is smooth at the cases
    random = False  # it draws samples, which depend on the shape of the batch
    gradient_tolerance = 1e-6
    directions = 5

    @abstractmethod
    def layer(self) -> foresolve.Layer: ...

    @abstractmethod
    def cases(self) -> list[tuple[Any, Tensor]]: ...

    @pytest.mark.parametrize("promise", promises(LayerSuite))
    def test_promise(self, promise: Promise) -> None:
        excused = {
            "gradient": not self.smooth,
            "batch_equals_loop": self.random,
            "refuses": not self.layer().needs,
        }
        for problem, theta in self.cases():
            suite = LayerSuite(
                self.layer,
                problem,
                theta,
                smooth=self.smooth,
                random=self.random,
                gradient_tolerance=self.gradient_tolerance,
                directions=self.directions,
            )
            keep(promise, suite, [name for name, excuse in excused.items() if excuse])

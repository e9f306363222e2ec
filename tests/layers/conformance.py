"""What every layer must satisfy; a layer's test class inherits this and says how to make its instances."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import pytest
import torch
from torch import Tensor

import foresolve


class LayerConformance:
    """Subclasses give `layer()` and `cases()`, pairs of a problem and a smooth `theta` `(B, *shape)`, `B > 1`."""

    gradient_tolerance = 1e-6
    directions = 5

    @abstractmethod
    def layer(self) -> foresolve.Layer: ...

    @abstractmethod
    def cases(self) -> list[tuple[Any, Tensor]]: ...

    def test_decisions_are_feasible(self) -> None:
        for problem, theta in self.cases():
            assert problem.check(self.layer()(theta, problem), tol=1e-8, relaxed=True)

    def test_a_batch_equals_a_loop(self) -> None:
        for problem, theta in self.cases():
            together = self.layer()(theta, problem)
            alone = torch.stack([self.layer()(one, problem) for one in theta])
            torch.testing.assert_close(together, alone, atol=1e-10, rtol=0)

    def test_leading_dimensions_are_kept(self) -> None:
        for problem, theta in self.cases():
            stacked = torch.stack([theta, theta.flip(0)])
            x = self.layer()(stacked, problem)
            assert x.shape == (*stacked.shape[:2], problem.n)
            torch.testing.assert_close(x[0], self.layer()(theta, problem), atol=1e-10, rtol=0)

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_dtype_is_the_callers(self, dtype: torch.dtype) -> None:
        for problem, theta in self.cases():
            theta = theta.clone().to(dtype).requires_grad_()
            x = self.layer()(theta, problem)
            x.sum().backward()
            assert x.dtype == dtype
            assert theta.grad is not None
            assert theta.grad.dtype == dtype

    def test_gradient_agrees_with_finite_differences(self) -> None:
        """Along random directions, one after the other, each instance by itself."""
        generator = torch.Generator().manual_seed(0)
        for problem, theta in self.cases():
            layer, leaf = self.layer(), theta.clone().requires_grad_()
            x = layer(leaf, problem)
            v = torch.randn(x.shape, generator=generator, dtype=x.dtype)
            (x * v).sum().backward()
            assert leaf.grad is not None
            scale = 1 + leaf.grad.abs().max()
            for _ in range(self.directions):
                step = 1e-6 * torch.randn(theta.shape, generator=generator, dtype=theta.dtype)
                with torch.no_grad():
                    change = ((layer(theta + step, problem) - layer(theta - step, problem)) * v).sum(-1) / 2e-6
                found = (leaf.grad * step).flatten(1).sum(-1) / 1e-6
                assert float((found - change).abs().max() / scale) <= self.gradient_tolerance

    def test_equal_calls_give_equal_numbers(self) -> None:
        for problem, theta in self.cases():
            layer = self.layer()
            assert torch.equal(layer(theta, problem), layer(theta, problem))

    def test_no_gradient_is_asked_for_none_is_built(self) -> None:
        for problem, theta in self.cases():
            assert not self.layer()(theta, problem).requires_grad
            with torch.no_grad():
                assert not self.layer()(theta.clone().requires_grad_(), problem).requires_grad

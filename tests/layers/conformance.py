"""What every layer must satisfy; a layer's test class inherits this and says how to make its instances."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import pytest
import torch
from torch import Tensor

import foresolve
from refusals import refusals


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

    def test_decisions_are_feasible(self) -> None:
        for problem, theta in self.cases():
            assert problem.check(self.layer()(theta, problem), tol=1e-8, relaxed=True)

    def test_a_batch_equals_a_loop(self) -> None:
        if self.random:
            pytest.skip("the instances of a batch have samples of their own")
        for problem, theta in self.cases():
            together = self.layer()(theta, problem)
            alone = torch.stack([self.layer()(row, problem) for row in theta])
            torch.testing.assert_close(together, alone, atol=1e-10, rtol=0)

    def test_leading_dimensions_are_kept(self) -> None:
        for problem, theta in self.cases():
            stacked = torch.stack([theta, theta.flip(0)])
            x = self.layer()(stacked, problem)
            assert x.shape == (*stacked.shape[:2], problem.n)
            assert self.layer()(theta[0], problem).shape == (problem.n,)
            if not self.random:
                torch.testing.assert_close(x[0], self.layer()(theta, problem), atol=1e-10, rtol=0)

    def test_an_empty_batch_has_no_decisions(self) -> None:
        for problem, theta in self.cases():
            leaf = theta[:0].clone().requires_grad_()
            x = self.layer()(leaf, problem)
            assert x.shape == (0, problem.n)
            x.sum().backward()
            assert leaf.grad is not None
            assert leaf.grad.shape == leaf.shape

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_dtype_is_the_callers(self, dtype: torch.dtype) -> None:
        for problem, theta in self.cases():
            theta = theta.clone().to(dtype).requires_grad_()
            x = self.layer()(theta, problem)
            x.sum().backward()
            assert x.dtype == dtype
            assert theta.grad is not None
            assert theta.grad.dtype == dtype
            assert bool(torch.isfinite(theta.grad).all())

    def test_gradient_agrees_with_finite_differences(self) -> None:
        """Along random directions, one after the other, each instance by itself."""
        if not self.smooth:
            pytest.skip("the gradient is not that of the decision, by design")
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
                slope = (leaf.grad * step).flatten(1).sum(-1) / 1e-6
                assert float((slope - change).abs().max() / scale) <= self.gradient_tolerance

    def test_equal_calls_give_equal_numbers(self) -> None:
        """Decisions and gradients; of the same layer unless it draws samples, of a new one always."""
        for problem, theta in self.cases():
            layer = self.layer()
            first = _decided(layer, problem, theta)
            for again in [self.layer()] if self.random else [self.layer(), layer]:
                assert all(torch.equal(a, b) for a, b in zip(first, _decided(again, problem, theta)))

    def test_no_gradient_is_asked_for_none_is_built(self) -> None:
        for problem, theta in self.cases():
            assert not self.layer()(theta, problem).requires_grad
            with torch.no_grad():
                assert not self.layer()(theta.clone().requires_grad_(), problem).requires_grad

    @pytest.mark.cuda
    def test_devices_agree(self) -> None:
        for problem, theta in self.cases():
            x, gradient = _decided(self.layer(), problem, theta)
            moved = _decided(self.layer(), problem.to("cuda"), theta.to("cuda"))
            assert all(part.device.type == "cuda" for part in moved)
            torch.testing.assert_close(moved[0].cpu(), x, atol=1e-8, rtol=0)
            torch.testing.assert_close(moved[1].cpu(), gradient, atol=1e-6, rtol=1e-6)

    def test_a_problem_it_cannot_serve_is_refused_before_any_work(self, monkeypatch: pytest.MonkeyPatch) -> None:
        layer = self.layer()
        if not layer.needs:
            pytest.skip("it takes every problem")
        for problem, theta in refusals(layer.needs, monkeypatch):
            with pytest.raises(foresolve.InvalidInputError) as raised:
                layer(theta, problem)
            first = str(raised.value).splitlines()[0]
            assert first.startswith("`problem` must be")
            assert type(problem).__name__ in first
            assert type(layer).__name__ in first


def _decided(layer: foresolve.Layer, problem: Any, theta: Tensor) -> tuple[Tensor, Tensor]:
    """Decisions, and their gradients for a fixed incoming one."""
    leaf = theta.clone().requires_grad_()
    x = layer(leaf, problem)
    v = torch.randn(x.shape, generator=torch.Generator().manual_seed(0), dtype=x.dtype).to(x.device)
    (gradient,) = torch.autograd.grad(x, leaf, v)
    return x.detach(), gradient

"""What every loss must satisfy; a loss's test class inherits this and says how to make its instances."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import replace

import pytest
import torch
from torch import Tensor

import foresolve
from foresolve.data.batch import Batch
from foresolve.errors import InvalidInputError
from foresolve.losses.base import Loss
from foresolve.problems.base import Problem
from refusals import refusals

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
    learns = True  # descent on the predictions themselves leads to good decisions
    gradient_tolerance = 1e-6
    step = 1e-6
    steps, rate, goal = 200, 0.05, 0.1

    @abstractmethod
    def loss(self) -> Loss: ...

    @abstractmethod
    def cases(self) -> list[Case]:
        """Predictions `(B, *shape)` at which the loss is smooth, and batches, `B > 1`, float64."""

    def toy(self) -> Case:
        """A problem that is easy to learn."""
        return instance(foresolve.TopK(6, 2), 6, seed=1, size=16, positive=True)

    def test_one_finite_number_for_each_instance(self) -> None:
        for theta_hat, batch in self.cases():
            value = self.loss()(theta_hat, batch)
            assert value.shape == (len(batch),)
            assert bool(torch.isfinite(value).all())
            if self.nonnegative:
                assert float(value.min()) >= -1e-9

    def test_a_batch_equals_a_loop(self) -> None:
        if not self.separable:
            pytest.skip("the instances of a batch share samples or a pool")
        for theta_hat, batch in self.cases():
            together = self.loss()(theta_hat, batch)
            alone = [self.loss()(theta_hat[i : i + 1], part(batch, i)) for i in range(len(batch))]
            torch.testing.assert_close(together, torch.cat(alone), atol=1e-9, rtol=1e-9)

    def test_what_the_batch_carries_need_not_be_worked_out(self) -> None:
        for theta_hat, batch in self.cases():
            decision, value = batch.best()
            carried = replace(batch, decision=decision, value=value)
            torch.testing.assert_close(self.loss()(theta_hat, carried), self.loss()(theta_hat, batch))

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_dtype_is_the_callers(self, dtype: torch.dtype) -> None:
        for theta_hat, batch in self.cases():
            leaf = theta_hat.to(dtype).clone().requires_grad_()
            value = self.loss()(leaf, replace(batch, theta=batch.theta.to(dtype)))
            assert value.dtype == dtype
            value.mean().backward()
            assert leaf.grad is not None
            assert leaf.grad.dtype == dtype
            assert bool(torch.isfinite(leaf.grad).all())

    def test_gradient_agrees_with_finite_differences(self) -> None:
        """Along random directions, each instance by itself, samples frozen."""
        if not self.smooth:
            pytest.skip("the gradient is not that of the value, by design")
        generator = torch.Generator().manual_seed(0)
        for theta_hat, batch in self.cases():
            leaf = theta_hat.clone().requires_grad_()
            (gradient,) = torch.autograd.grad(self.loss()(leaf, batch).sum(), leaf)
            scale = 1 + float(gradient.abs().max())
            for _ in range(5):
                direction = torch.randn(theta_hat.shape, generator=generator, dtype=theta_hat.dtype)
                with torch.no_grad():
                    ahead = self.loss()(theta_hat + self.step * direction, batch)
                    behind = self.loss()(theta_hat - self.step * direction, batch)
                slope = (gradient * direction).flatten(1).sum(-1)
                error = (slope - (ahead - behind) / (2 * self.step)).abs().max()
                assert float(error) / scale <= self.gradient_tolerance

    def test_the_truth_is_data(self) -> None:
        """No gradient reaches the model through anything but its prediction."""
        for theta_hat, batch in self.cases():
            assert not self.loss()(theta_hat, batch).requires_grad
            before = batch.theta.clone()
            self.loss()(theta_hat.clone().requires_grad_(), batch).sum().backward()
            assert torch.equal(batch.theta, before)

    def test_descent_leads_to_good_decisions(self) -> None:
        """The regret of the predictions themselves, trained directly, falls to `goal` of what it was."""
        if not self.learns:
            pytest.skip("not for predictions by themselves")
        theta_hat, batch = self.toy()
        _, best = batch.best()

        def regret(prediction: Tensor) -> float:
            return float((best - batch.problem.objective(batch.problem.solve(prediction), batch.theta)).mean())

        before = regret(theta_hat)
        leaf, loss = theta_hat.clone().requires_grad_(), self.loss()
        optimizer = torch.optim.Adam([leaf], lr=self.rate)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", foresolve.NoGradientWarning)  # where all is learned
            for _ in range(self.steps):
                optimizer.zero_grad()
                loss(leaf, batch).mean().backward()
                optimizer.step()
        assert before > 0
        assert regret(leaf.detach()) <= self.goal * before

    def test_a_prediction_of_another_shape_is_refused(self) -> None:
        theta_hat, batch = self.cases()[0]
        with pytest.raises(InvalidInputError) as raised:
            self.loss()(theta_hat[..., :-1], batch)
        assert "theta_hat" in str(raised.value).splitlines()[0]

    @pytest.mark.cuda
    def test_devices_agree(self) -> None:
        for theta_hat, batch in self.cases():
            leaves = [theta_hat.to(device).clone().requires_grad_() for device in ("cpu", "cuda")]
            values = [self.loss()(leaf, batch.to(leaf.device)) for leaf in leaves]
            gradients = [torch.autograd.grad(value.sum(), leaf)[0] for value, leaf in zip(values, leaves)]
            assert values[1].device.type == "cuda"
            torch.testing.assert_close(values[1].cpu(), values[0], atol=1e-8, rtol=1e-8)
            torch.testing.assert_close(gradients[1].cpu(), gradients[0], atol=1e-6, rtol=1e-6)

    def test_a_problem_it_cannot_serve_is_refused_before_any_work(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loss = self.loss()
        if not loss.needs:
            pytest.skip("it takes every problem")
        for problem, theta in refusals(loss.needs, monkeypatch):
            with pytest.raises(InvalidInputError) as raised:
                loss(theta, Batch(None, theta, problem))
            first = str(raised.value).splitlines()[0]
            assert first.startswith("`problem` must be")
            assert type(problem).__name__ in first
            assert type(loss).__name__ in first


def part(batch: Batch, i: int) -> Batch:
    """One instance of a batch, as a batch."""

    def cut(tensor: Tensor | None) -> Tensor | None:
        return None if tensor is None else tensor[i : i + 1]

    return replace(
        batch,
        theta=batch.theta[i : i + 1],
        problem=batch.problem.select(torch.tensor([i])),
        decision=cut(batch.decision),
        value=cut(batch.value),
        index=cut(batch.index),
    )

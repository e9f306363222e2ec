"""What every set function with an exact extension promises; a new function's tests inherit the class."""

from __future__ import annotations

import copy
import itertools
import pickle
from typing import ClassVar

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from foresolve.errors import ForesolveError, InvalidInputError
from foresolve.sets.functions.checker import check_set_function
from foresolve.sets.functions.extension import Local
from foresolve.sets.functions.function import SetFunction

seeds = st.integers(0, 2**20)
conform = settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))


def enumerated(function: SetFunction, x: Tensor, theta: Tensor) -> Tensor:
    """`F` by its definition, `(B,)`, differentiable as often as `value` is."""
    sets = torch.tensor(list(itertools.product([0.0, 1.0], repeat=x.shape[-1])), dtype=x.dtype, device=x.device)
    chance = torch.ones((), dtype=x.dtype, device=x.device)
    for factor in torch.where(sets[:, None] == 1, x, 1 - x).unbind(-1):
        chance = chance * factor  # (2^n, B); `prod` divides in its second derivative
    dims = function.theta_dims
    rows = theta.expand(len(x), *theta.shape[theta.ndim - dims :])
    values = function.value(sets[:, None].expand(-1, *x.shape), rows.expand(len(sets), *rows.shape))
    return (chance * values).sum(0)


def assert_near(actual: Tensor, expected: Tensor, tol: float = 1e-7) -> None:
    """Equal up to `tol` of the largest entry."""
    torch.testing.assert_close(actual, expected, rtol=0, atol=tol * max(float(expected.abs().max()), 1e-3))


class SetFunctionConformance:
    """Subclasses say how to make the function (`make`) and parameters for `n` items (`draw`)."""

    n: ClassVar[int] = 6
    exact_theta: ClassVar[bool] = True  # whether derivatives in theta are exact rather than estimated

    def make(self) -> SetFunction:
        raise NotImplementedError

    def draw(self, batch: tuple[int, ...], n: int, seed: int) -> Tensor:
        """Parameters `(*batch, *shape)` in float64, in the interior of what is allowed."""
        raise NotImplementedError

    def points(self, batch: tuple[int, ...], seed: int, corners: bool = False) -> Tensor:
        """Points in (0.05, 0.95), or with entries 0 and 1 among them."""
        generator = torch.Generator().manual_seed(seed + 1)
        x = 0.05 + 0.9 * torch.rand(*batch, self.n, generator=generator, dtype=torch.float64)
        if corners:
            pick = torch.rand(x.shape, generator=generator)
            x = torch.where(pick < 0.3, 0.0, torch.where(pick > 0.7, 1.0, x))
        return x

    def vectors(self, batch: tuple[int, ...], seed: int) -> Tensor:
        return torch.randn(*batch, self.n, generator=torch.Generator().manual_seed(seed + 2), dtype=torch.float64)

    def compare(self, local: Local, function: SetFunction, x: Tensor, theta: Tensor, v: Tensor) -> None:
        """All that `local` says, against the definition differentiated by autograd."""
        x = x.clone().requires_grad_()
        rows = theta.expand(len(x), *theta.shape[1:]).clone().requires_grad_(self.exact_theta)
        value = enumerated(function, x, rows)
        (gradient,) = torch.autograd.grad(value.sum(), x, create_graph=True)
        assert_near(local.value, value.detach())
        assert_near(local.gradient, gradient.detach())
        (product,) = torch.autograd.grad((gradient * v).sum(), x, retain_graph=True)
        assert_near(local.product(v), product)
        assert local.cross(v).shape == rows.shape
        assert local.slope().shape == rows.shape
        if self.exact_theta:
            (cross,) = torch.autograd.grad((gradient * v).sum(), rows, retain_graph=True)
            (slope,) = torch.autograd.grad(value.sum(), rows)
            assert_near(local.cross(v), cross)
            assert_near(local.slope(), slope)

    @conform
    @given(seed=seeds, corners=st.booleans())
    def test_everything_matches_the_definition(self, seed: int, corners: bool) -> None:
        function, x = self.make(), self.points((3,), seed, corners)
        theta, v = self.draw((3,), self.n, seed), self.vectors((3,), seed)
        self.compare(function.local(x, theta), function, x, theta, v)

    def test_shared_theta_matches_the_definition(self) -> None:
        function, x, theta, v = self.make(), self.points((4,), 1), self.draw((1,), self.n, 1), self.vectors((4,), 1)
        self.compare(function.local(x, theta), function, x, theta, v)

    @pytest.mark.parametrize("near", [1 - 1e-15, 1 - 1e-9, 1.0, 0.0, 1e-300])
    def test_extreme_points(self, near: float) -> None:
        function, theta, v = self.make(), self.draw((2,), self.n, 2), self.vectors((2,), 2)
        x = self.points((2,), 2)
        x[0, :] = near
        x[1, ::2] = near
        self.compare(function.local(x, theta), function, x, theta, v)

    def test_extension_equals_value_at_sets(self) -> None:
        function, theta = self.make(), self.draw((5,), self.n, 3)
        x = self.points((5,), 3).round()
        torch.testing.assert_close(function.multilinear(x, theta), function.value(x, theta), rtol=1e-12, atol=1e-12)

    @conform
    @given(seed=seeds)
    def test_hessian_columns_are_products(self, seed: int) -> None:
        function, x, theta = self.make(), self.points((3,), seed, True), self.draw((3,), self.n, seed)
        local = function.local(x, theta)
        index = torch.stack(
            [torch.randperm(self.n, generator=torch.Generator().manual_seed(seed + k)) for k in range(3)]
        )
        index = index[:, : self.n - 2]
        hessian = local.hessian(index)
        assert torch.equal(hessian.diagonal(dim1=-2, dim2=-1), torch.zeros(index.shape, dtype=torch.float64))
        for a in range(index.shape[-1]):
            column = local.product(torch.zeros_like(x).scatter(-1, index[:, a : a + 1], 1.0))
            assert_near(hessian[..., a], column.gather(-1, index), 1e-10)
        assert local.hessian(index[:, :0]).shape == (3, 0, 0)

    def test_gradcheck_in_x(self) -> None:
        function, theta = self.make(), self.draw((2,), self.n, 4)
        x = self.points((2,), 4).requires_grad_()
        assert torch.autograd.gradcheck(lambda x: function.multilinear(x, theta), (x,))
        assert torch.autograd.gradgradcheck(lambda x: function.multilinear(x, theta), (x,))
        assert torch.autograd.gradcheck(lambda x: function.gradient(x, theta), (x,))

    def test_gradcheck_in_theta(self) -> None:
        if not self.exact_theta:
            pytest.skip("derivatives in theta are estimates")
        function, x = self.make(), self.points((2,), 5).requires_grad_()
        for batch in ((), (2,)):
            theta = self.draw(batch, self.n, 5).requires_grad_()
            assert torch.autograd.gradcheck(function.multilinear, (x, theta))
            assert torch.autograd.gradcheck(function.gradient, (x, theta))

    def test_shared_theta_collects_the_batch(self) -> None:
        function, x = self.make(), self.points((4,), 6)
        theta = self.draw((), self.n, 6).requires_grad_()
        apart = theta.detach().expand(4, *theta.shape).clone().requires_grad_()
        function.multilinear(x, theta).sum().backward()
        function.multilinear(x, apart).sum().backward()
        assert theta.grad is not None
        assert apart.grad is not None
        torch.testing.assert_close(theta.grad, apart.grad.sum(0))

    def test_second_derivative_through_theta_is_refused_or_right(self) -> None:
        function, x = self.make(), self.points((2,), 7).requires_grad_()
        theta = self.draw((2,), self.n, 7).requires_grad_()
        (slope,) = torch.autograd.grad(function.multilinear(x, theta).sum(), theta, create_graph=True)
        try:
            (mixed,) = torch.autograd.grad((slope * theta.detach()).sum(), x)
        except ForesolveError:
            return
        (expected,) = torch.autograd.grad(enumerated(function, x, theta).sum(), theta, create_graph=True)
        (expected,) = torch.autograd.grad((expected * theta.detach()).sum(), x)
        assert_near(mixed, expected)

    def test_batch_equals_loop(self) -> None:
        function, x, theta, v = (
            self.make(),
            self.points((5,), 8, True),
            self.draw((5,), self.n, 8),
            self.vectors((5,), 8),
        )
        calls = {
            "value": lambda x, theta, v: function.value(x.round(), theta),
            "multilinear": lambda x, theta, v: function.multilinear(x, theta),
            "gradient": lambda x, theta, v: function.gradient(x, theta),
            "hessian_product": function.hessian_product,
            "cross_product": function.cross_product,
        }
        for call in calls.values():
            alone = torch.stack([call(*instance) for instance in zip(x, theta, v)])
            torch.testing.assert_close(call(x, theta, v), alone, rtol=1e-11, atol=1e-11)

    @pytest.mark.parametrize(
        ("left", "right", "batch"),
        [
            ((), (), ()),
            ((3,), (), (3,)),
            ((), (3,), (3,)),
            ((2, 3), (3,), (2, 3)),
            ((2, 1), (1, 3), (2, 3)),
            ((0,), (), (0,)),
        ],
    )
    def test_batches_broadcast(self, left: tuple[int, ...], right: tuple[int, ...], batch: tuple[int, ...]) -> None:
        function, x, theta = self.make(), self.points(left, 9), self.draw(right, self.n, 9)
        shape = theta.shape[len(right) :]
        assert function.value(x.round(), theta).shape == batch
        assert function.multilinear(x, theta).shape == batch
        assert function.gradient(x, theta).shape == (*batch, self.n)
        v = self.vectors((), 9)
        assert function.hessian_product(x, theta, v).shape == (*batch, self.n)
        assert function.cross_product(x, theta, v).shape == (*batch, *shape)
        full = function.multilinear(x.expand(*batch, self.n).clone(), theta.expand(*batch, *shape).clone())
        torch.testing.assert_close(function.multilinear(x, theta), full, rtol=1e-11, atol=1e-11)

    def test_float32_is_close(self) -> None:
        function, x, theta, v = self.make(), self.points((3,), 10), self.draw((3,), self.n, 10), self.vectors((3,), 10)
        x, theta, v = x.float(), theta.float(), v.float()
        for call in (function.hessian_product, function.cross_product, lambda x, theta, v: function.gradient(x, theta),
                     lambda x, theta, v: function.multilinear(x, theta)):  # fmt: skip
            single, expected = call(x, theta, v), call(x.double(), theta.double(), v.double())
            assert single.dtype == torch.float32
            torch.testing.assert_close(single.double(), expected, rtol=1e-5, atol=1e-5)

    @pytest.mark.cuda
    def test_devices_agree(self) -> None:
        function, x, theta, v = self.make(), self.points((3,), 11), self.draw((3,), self.n, 11), self.vectors((3,), 11)
        expected = function.local(x, theta)
        index = torch.arange(self.n).expand(3, -1)
        local = function.to("cuda").local(x.cuda(), theta.cuda())
        assert local.value.device.type == "cuda"
        assert_near(local.value.cpu(), expected.value)
        assert_near(local.gradient.cpu(), expected.gradient)
        assert_near(local.hessian(index.cuda()).cpu(), expected.hessian(index))
        assert_near(local.product(v.cuda()).cpu(), expected.product(v))
        assert_near(local.cross(v.cuda()).cpu(), expected.cross(v))
        assert_near(local.slope().cpu(), expected.slope())

    @conform
    @given(seed=seeds)
    def test_increments_are_differences_of_values(self, seed: int) -> None:
        function, theta, served = self.make(), self.draw((3,), self.n, seed), 0
        while served < 3:
            increments = function.increments(theta[served:], self.n)
            count, part = increments.count, theta[served : served + increments.count]
            served += count
            instances, states = np.arange(count), increments.empty
            sets = torch.zeros(count, self.n, dtype=torch.float64)
            for joins in np.random.default_rng(seed).permuted(np.tile(np.arange(self.n), (count, 1)), axis=1).T[:3]:
                larger = sets.unsqueeze(1).maximum(torch.eye(self.n, dtype=torch.float64))
                values = function.value(larger, part.unsqueeze(1)) - function.value(sets, part).unsqueeze(-1)
                outside, expected = (sets == 0).numpy(), values.detach().numpy()
                gains = increments.batch_gains(states)
                np.testing.assert_allclose(gains[outside], expected[outside], atol=1e-10)
                picked = increments.picked(states, instances, joins)
                np.testing.assert_allclose(picked, expected[instances, joins], atol=1e-10)
                if count == 1:
                    both = increments.gains(np.concatenate([states, states]))
                    np.testing.assert_allclose(both[:, outside[0]], np.stack([expected[0, outside[0]]] * 2), atol=1e-10)
                states = increments.grown(states, joins)
                sets[instances, joins] = 1.0

    @conform
    @given(seed=seeds)
    def test_cuts_bound_every_set_and_touch_their_own(self, seed: int) -> None:
        rng, function, theta = np.random.default_rng(seed), self.make(), self.draw((1,), self.n, seed)
        parts = function.cuts(theta, self.n)
        masks = np.array(list(itertools.product([False, True], repeat=self.n)))
        values = np.stack([parts.values(mask) for mask in masks])
        truth = function.value(torch.from_numpy(masks).double(), theta.expand(len(masks), *theta.shape[1:]))
        np.testing.assert_allclose(values.sum(1), (truth - truth[0]).detach(), atol=1e-10)
        touched = rng.random(self.n) < 0.4
        here = parts.at_set(touched)
        for constants, slopes in [*here, *parts.at_point(rng.random(self.n) * (rng.random(self.n) < 0.7))]:
            assert (values <= constants + masks @ slopes.T + 1e-10).all()
        np.testing.assert_allclose(here[0][0] + here[0][1] @ touched, parts.values(touched), atol=1e-10)

    def test_theta_has_the_shape_that_is_announced(self) -> None:
        function, theta = self.make(), self.draw((2,), self.n, 16)
        shape = function.theta_shape(self.n)
        assert len(shape) == function.theta_dims == theta.ndim - 1
        assert all(size in (None, actual) for size, actual in zip(shape, theta.shape[1:]))

    @conform
    @given(seed=seeds)
    def test_monotone_and_submodular(self, seed: int) -> None:
        report = check_set_function(self.make(), self.n, self.draw((2,), self.n, seed), seed=seed)
        assert report, str(report)

    def test_wrong_theta_is_refused(self) -> None:
        function, x = self.make(), self.points((2,), 12)
        theta = self.draw((2,), self.n, 12)
        theta.reshape(-1)[3] = torch.nan
        with pytest.raises(InvalidInputError, match=r"`theta` must be finite; got nan at \["):
            function.multilinear(x, theta)
        with pytest.raises(InvalidInputError, match=r"`theta` must be .*; got \(\)"):
            function.check_theta(torch.tensor(1.0), self.n)
        with pytest.raises(InvalidInputError, match="batch shapes must broadcast"):
            function.multilinear(x, self.draw((3,), self.n, 12))

    def test_survives_pickle_and_deepcopy(self) -> None:
        function, x, theta = self.make(), self.points((2,), 13), self.draw((2,), self.n, 13)
        expected = function.multilinear(x, theta)
        for twin in (pickle.loads(pickle.dumps(function)), copy.deepcopy(function), function.to("cpu")):
            assert torch.equal(twin.multilinear(x, theta), expected)
            assert repr(twin) == repr(function)

    def test_merges_points(self) -> None:
        function, theta = self.make(), self.draw((3,), self.n, 14)
        x, y, which = self.points((3,), 14, True), self.points((3,), 15), torch.tensor([True, False, True])
        merged = function.local(x, theta).merge(which, function.local(y, theta))
        if merged is None:
            pytest.skip("points of this function are not merged")
        expected = function.local(torch.where(which[:, None], x, y), theta)
        v = self.vectors((3,), 14)
        for name, arguments in {"product": (v,), "cross": (v,), "slope": ()}.items():
            torch.testing.assert_close(getattr(merged, name)(*arguments), getattr(expected, name)(*arguments))
        torch.testing.assert_close(merged.value, expected.value)
        torch.testing.assert_close(merged.gradient, expected.gradient)

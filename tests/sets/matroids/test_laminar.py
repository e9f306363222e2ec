"""The projection onto matroid polytopes: against another solver, by its optimality conditions, and its derivative."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from foresolve.sets import LaminarMatroid, MatroidProjection, PartitionMatroid, UniformMatroid
from sets.families import KINDS, draw_matroid, draw_targets, matroids, nearest

seeds, flags = st.integers(0, 100_000), st.booleans()


@given(matroids(), seeds, flags, flags, st.sampled_from([0.3, 1.0, 4.0]))
def test_against_another_solver(matroid: LaminarMatroid, seed: int, base: bool, ties: bool, scale: float) -> None:
    y = draw_targets(seed, (2, matroid.n), ties, scale)
    torch.testing.assert_close(matroid.project(y, base=base).x, nearest(matroid, y, base), atol=2e-6, rtol=0)


def optimal(matroid: LaminarMatroid, y: Tensor, projection: MatroidProjection, base: bool, tol: float) -> None:
    """Feasible, `x = clip(y - price)`, and the price a sum of multipliers of tight sets, >= 0 but for the outermost."""
    for amount in matroid.excess(projection.x, base=base).values():
        assert amount.numel() == 0 or amount.max() <= tol
    torch.testing.assert_close(projection.x, (y - projection.price).clamp(0, 1), atol=tol, rtol=0)
    assert torch.equal(projection.free, (projection.x > 0) & (projection.x < 1))
    slack = -matroid.excess(projection.x)["sets"]
    for row in range(len(y)):
        # From the outside in, each step up in price must be paid for by a tight set that holds just those items: the
        # items of a price of at least p, within the group's set, are those of the group's set and the sets inside it.
        group, price = projection.group[row].numpy(), projection.price[row].numpy()
        floor = price.min() if base else 0.0
        for s, items in enumerate(matroid.sets):
            members = items[group[items] == s]
            if len(members) == 0:
                continue
            assert slack[row, s] <= tol, "a set with a multiplier is tight"
            assert np.ptp(price[members]) == 0
            assert (price[items] >= price[members[0]]).all(), "inner multipliers are >= 0"
            assert base or price[members[0]] > 0
        without = price[group == -1]
        assert (without == floor).all() if len(without) else True
        if base and len(without):
            assert (projection.x[row].numpy()[group == -1] == 1).all()


@given(matroids(most=30), seeds, flags, flags, st.sampled_from([0.3, 1.0, 4.0, 1e4]))
def test_optimality_conditions(matroid: LaminarMatroid, seed: int, base: bool, ties: bool, scale: float) -> None:
    y = draw_targets(seed, (3, matroid.n), ties, scale)
    optimal(matroid, y, matroid.project(y, base=base), base, 1e-13 * matroid.n * max(1.0, scale))


@given(matroids(), seeds, flags)
def test_badly_scaled(matroid: LaminarMatroid, seed: int, base: bool) -> None:
    """Prices next to 1e8 have 8 digits behind the point; the totals are met to rounding all the same."""
    y = draw_targets(seed, (3, matroid.n)) * 10.0 ** torch.from_numpy(
        np.random.default_rng(seed).integers(-8, 9, matroid.n).astype(float)
    )
    projection = matroid.project(y, base=base)
    optimal(matroid, y, projection, base, 1e-6)
    for amount in matroid.excess(projection.x, base=base).values():
        assert amount.numel() == 0 or amount.max() <= 1e-13


@given(matroids(), seeds, flags, flags)
def test_geometry(matroid: LaminarMatroid, seed: int, base: bool, ties: bool) -> None:
    """Idempotent, non-expansive, blind to the order of a batch's instances and to its shape."""
    y, z = draw_targets(seed, (2, 4, matroid.n), ties)
    x, w = matroid.project(y, base=base).x, matroid.project(z, base=base).x
    torch.testing.assert_close(matroid.project(x, base=base).x, x, atol=1e-13, rtol=0)
    assert ((x - w).norm(dim=-1) <= (y - z).norm(dim=-1) + 1e-12).all()
    one_by_one = torch.stack([matroid.project(row, base=base).x for row in y])
    torch.testing.assert_close(x, one_by_one, atol=1e-14, rtol=0)
    torch.testing.assert_close(x, matroid.project(y[:, None], base=base).x[:, 0], atol=1e-14, rtol=0)


@given(matroids(), seeds, flags)
def test_permuting_items_permutes_the_point(matroid: LaminarMatroid, seed: int, base: bool) -> None:
    y = draw_targets(seed, (2, matroid.n))
    order = np.random.default_rng(seed).permutation(matroid.n)  # new item i is old item order[i]
    place = np.argsort(order)
    twin = LaminarMatroid(matroid.n, [place[items] for items in matroid.sets], matroid.capacities)
    expected = matroid.project(y, base=base).x[:, order]
    torch.testing.assert_close(twin.project(y[:, order], base=base).x, expected, atol=1e-13, rtol=0)


def margin(matroid: LaminarMatroid, y: Tensor, base: bool) -> float:
    """How far the nearest kink is: the least change of `y` among many after which another piece applies."""
    here = matroid.project(y, base=base)
    rng = np.random.default_rng(0)
    for step in (1e-4, 1e-3):
        for _ in range(10):
            near = matroid.project(y + step * torch.from_numpy(rng.normal(size=tuple(y.shape))), base=base)
            unchanged = here.free & near.free
            if not torch.equal(here.free, near.free) or not torch.equal(here.group[unchanged], near.group[unchanged]):
                return step
    return 1.0


@given(matroids(), seeds, flags)
def test_tangent_is_the_derivative(matroid: LaminarMatroid, seed: int, base: bool) -> None:
    y = draw_targets(seed, (1, matroid.n), scale=0.4)
    assume(margin(matroid, y, base) == 1)
    v = draw_targets(seed + 1, (5, 1, matroid.n))
    step = 1e-6
    ahead, behind = (matroid.project(y + sign * step * v, base=base).x for sign in (1, -1))
    tangent = matroid.project(y, base=base).tangent(v)
    torch.testing.assert_close(tangent, (ahead - behind) / (2 * step), atol=1e-7, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_tangent_is_linear_symmetric_and_differentiable(kind: str) -> None:
    moved = 0
    for seed in range(10):
        matroid = draw_matroid(kind, seed)
        for base in (True, False):
            projection = matroid.project(draw_targets(seed, (3, matroid.n), scale=0.4), base=base)
            v, w = draw_targets(seed + 1, (2, 3, matroid.n))
            v.requires_grad_()
            out = projection.tangent(v)
            torch.testing.assert_close(torch.autograd.grad(out, v, w)[0], projection.tangent(w))
            torch.testing.assert_close(projection.tangent(2 * v - w), 2 * out - projection.tangent(w))
            torch.testing.assert_close(projection.tangent(out), out)
            moved += int((out != 0).any())
    assert moved >= 3


def test_a_slack_budget_has_no_multiplier() -> None:
    y = torch.tensor([0.3, 0.4, -0.2], dtype=torch.float64)
    projection = UniformMatroid(3, 2).project(y, base=False)
    assert projection.x.tolist() == [0.3, 0.4, 0.0]
    assert projection.group.tolist() == [-1, -1, -1]
    v = torch.ones(3, dtype=torch.float64)
    assert projection.tangent(v).tolist() == [1, 1, 0]
    spent = UniformMatroid(3, 2).project(y)
    assert spent.tangent(v).abs().max() < 1e-15
    torch.testing.assert_close(spent.x.sum(), torch.tensor(2.0, dtype=torch.float64))


def test_bounds_that_leave_no_choice() -> None:
    y = torch.tensor([5.0, -3.0, 0.5])
    assert UniformMatroid(3, 0).project(y).x.tolist() == [0, 0, 0]
    assert UniformMatroid(3, 3).project(y).x.tolist() == [1, 1, 1]
    filled = PartitionMatroid([0, 0, 1], [2, 9]).project(y)
    assert filled.x.tolist() == [1, 1, 1]
    assert filled.price.isfinite().all()
    nested = LaminarMatroid(3, [[0], [0, 1], [0, 1, 2]], [0, 1, 2])  # the middle set is full whenever the last one is
    assert nested.project(y).x.tolist() == [0, 1, 1]
    assert LaminarMatroid(3, [], []).project(y).x.tolist() == [1, 1, 1]


def test_low_precision_is_solved_in_double() -> None:
    y = draw_targets(0, (4, 30))
    matroid = UniformMatroid(30, 7)
    assert torch.equal(matroid.project(y.float()).x, matroid.project(y.float().double()).x.float())


@pytest.mark.cuda
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_on_a_gpu_without_waiting_for_it(kind: str) -> None:
    matroid, y = draw_matroid(kind, 7, 40), draw_targets(0, (16, 1))
    y = y + draw_targets(1, (16, matroid.n))
    copied, moved = matroid.to("cuda"), y.cuda()
    for base in (True, False):
        copied.project(moved, base=base).tangent(moved)  # loads the kernels, which waits
        copied.maximize(moved, base=base)
        torch.cuda.set_sync_debug_mode("error")
        try:
            projection = copied.project(moved, base=base, check=False)
            tangent, best = projection.tangent(moved), copied.maximize(moved, base=base, check=False)
        finally:
            torch.cuda.set_sync_debug_mode("default")
        expected = matroid.project(y, base=base)
        torch.testing.assert_close(projection.x.cpu(), expected.x, atol=1e-13, rtol=0)
        torch.testing.assert_close(tangent.cpu(), expected.tangent(y), atol=1e-13, rtol=0)
        assert torch.equal(best.cpu(), matroid.maximize(y, base=base))

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import foresolve
from foresolve.data import Batch
from foresolve.losses import MAP, NCE, SolutionPool
from losses.conformance import Case, LossConformance, instance
from losses.test_spo import coverage, decisions, drawn


def filled(problem: foresolve.Problem) -> SolutionPool:
    """A pool of every decision that never solves."""
    pool = SolutionPool(solve_ratio=0.0)
    pool.add(decisions(problem))
    return pool


class PoolConformance(LossConformance):
    """Losses over a pool: the pool of all decisions, so that nothing grows."""

    def cases(self) -> list[Case]:
        return [instance(foresolve.TopK(5, 2), 5), instance(foresolve.TopK(5, 2), 5, seed=2, size=2)]

    def toy(self) -> Case:
        return instance(foresolve.TopK(5, 2), 5, seed=1, size=16, positive=True)


class TestNCE(PoolConformance):
    nonnegative = False

    def loss(self) -> NCE:
        return NCE(filled(foresolve.TopK(5, 2)))


class TestMAP(PoolConformance):
    def loss(self) -> MAP:
        return MAP(filled(foresolve.TopK(5, 2)))


class TestPlainMAP(PoolConformance):
    def loss(self) -> MAP:
        return MAP(filled(foresolve.TopK(5, 2)), shifted=False)


@given(drawn(), st.booleans())
def test_formulas(case, shifted: bool) -> None:
    problem, truth, theta_hat, _ = case
    every, (best, value) = decisions(problem), Batch(None, truth, problem).best()
    terms = problem.gain(theta_hat) @ every.T - problem.objective(best, theta_hat).unsqueeze(-1)
    if shifted:
        terms = terms - problem.gain(truth) @ every.T + value.unsqueeze(-1)
    pool, batch = filled(problem), Batch(None, truth, problem)
    torch.testing.assert_close(NCE(pool, shifted=shifted)(theta_hat, batch), terms.mean(-1), atol=1e-9, rtol=1e-9)
    torch.testing.assert_close(MAP(pool, shifted=shifted)(theta_hat, batch), terms.amax(-1), atol=1e-9, rtol=1e-9)


@given(drawn())
def test_shifted_map_bounds_the_regret(case) -> None:
    """As soon as the predictions' decisions are in the pool."""
    problem, truth, theta_hat, _ = case
    batch = Batch(None, truth, problem)
    regret = batch.best()[1] - problem.objective(problem.maximizer(theta_hat), truth)
    assert bool((MAP()(theta_hat, batch) >= regret - 1e-9).all())


@pytest.mark.parametrize("make", [NCE, MAP])
@pytest.mark.parametrize("shifted", [False, True])
def test_other_objectives(make: type[NCE] | type[MAP], shifted: bool) -> None:
    theta_hat, batch = coverage()
    leaf = theta_hat.clone().requires_grad_()
    make(shifted=shifted)(leaf, batch).sum().backward()
    assert leaf.grad is not None
    assert bool(torch.isfinite(leaf.grad).all())
    assert float(leaf.grad.abs().sum()) > 0

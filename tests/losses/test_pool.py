from __future__ import annotations

import io

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import foresolve
from foresolve.losses import MAP, NCE, SolutionPool
from foresolve.losses.pool import first_of_each, row_keys, scores
from foresolve.problems import OracleProblem
from losses.conformance import instance
from losses.test_spo import coverage
from mistakes import mistake


def test_decisions_are_distinct_and_in_order() -> None:
    pool = SolutionPool()
    pool.add(torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
    pool.add(torch.tensor([[0.0, 0.0], [0.0, 1.0 + 1e-9], [0.0, 0.0], [0.5, 0.0]]))
    assert pool.decisions.tolist() == [[1, 0], [0, 1], [0, 0], [0.5, 0]]
    assert len(pool) == 4


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_dedup_agrees_with_sets(seed: int, n: int) -> None:
    rows = torch.randint(-1, 2, (40, n), generator=torch.Generator().manual_seed(seed)).double() / 3
    expected = list(dict.fromkeys(tuple(row) for row in rows.tolist()))
    assert [tuple(row) for row in rows[first_of_each(row_keys(rows))].tolist()] == expected


def test_keys_tell_many_decisions_apart() -> None:
    rows = ((torch.arange(2**14).unsqueeze(-1) >> torch.arange(14)) & 1).double()
    assert len(row_keys(rows).unique()) == 2**14


def test_the_oldest_go_first() -> None:
    pool = SolutionPool(capacity=2)
    for i in range(4):
        pool.add(torch.tensor([[float(i)]]))
    assert pool.decisions.tolist() == [[2], [3]]
    assert pool.decisions.untyped_storage().nbytes() == 16


def test_it_starts_with_the_best_and_grows_by_the_predicted() -> None:
    theta_hat, batch = instance(foresolve.TopK(6, 2), 6)
    best, predicted = batch.best()[0], batch.problem.solve(theta_hat)
    pool = SolutionPool(solve_ratio=0.0)
    assert pool(theta_hat, batch).tolist() == list(map(list, dict.fromkeys(map(tuple, best.tolist()))))
    pool = SolutionPool(solve_ratio=1.0)
    decisions = {tuple(row) for row in pool(theta_hat, batch).tolist()}
    assert decisions == {tuple(row) for row in torch.cat([best, predicted]).tolist()}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_a_prediction_of_another_precision_makes_no_second_decision_of_the_same(dtype: torch.dtype) -> None:
    problem = foresolve.LinearProgram(A_ub=[[3.0, 7.0]], b_ub=[1.0])  # the best decision is 1/3 of the first
    batch = foresolve.Batch(None, torch.tensor([[1.0, 1.0]]), problem)
    pool = SolutionPool()
    assert len(pool(batch.theta.to(dtype), batch)) == 1


def test_evaluation_changes_nothing() -> None:
    theta_hat, batch = instance(foresolve.TopK(6, 2), 6)
    pool = SolutionPool().eval()
    before = pool.generator.get_state()
    assert len(pool(theta_hat, batch)) > 0
    assert len(pool) == 0
    pool.add(batch.best()[0][:2])
    pool(theta_hat, batch)
    assert len(pool) == 2
    assert torch.equal(pool.generator.get_state(), before)


def test_solve_ratio_is_a_probability() -> None:
    """500 draws at 0.2: outside [0.1, 0.3] with probability below 1e-7, and the seed is fixed."""
    theta_hat, batch = instance(foresolve.TopK(6, 2), 6)
    batch = type(batch)(None, batch.theta, batch.problem, *batch.best())
    pool, solved, maximizer = SolutionPool(solve_ratio=0.2), 0, batch.problem.maximizer

    def counted(theta):
        nonlocal solved
        solved += 1
        return maximizer(theta)

    batch.problem.maximizer = counted  # type: ignore[method-assign]
    for _ in range(500):
        pool(theta_hat, batch)
    assert 50 <= solved <= 150


def test_resumed_training_is_the_same() -> None:
    """A shared pool, saved by torch without pickled code, goes on bit for bit."""
    cases = [instance(foresolve.ShortestPath.grid(4, 4), 24, seed=seed, positive=True) for seed in range(6)]

    def losses(pool: SolutionPool) -> list[torch.nn.Module]:
        return [NCE(pool), MAP(pool)]

    first = losses(SolutionPool(solve_ratio=0.5, capacity=12, seed=3))
    for theta_hat, batch in cases[:3]:
        [loss(theta_hat, batch) for loss in first]
    file = io.BytesIO()
    torch.save(first[0].state_dict(), file)
    file.seek(0)
    second = losses(SolutionPool(solve_ratio=0.5, capacity=12))
    second[0].load_state_dict(torch.load(file, weights_only=True))
    for theta_hat, batch in cases[3:]:
        for before, after in zip(first, second, strict=True):
            assert torch.equal(before(theta_hat, batch), after(theta_hat, batch))


def test_scores_of_any_objective() -> None:
    for theta_hat, batch in (coverage(), instance(foresolve.ShortestPath.grid(3, 3), 12, positive=True)):
        decisions = batch.best()[0]
        expected = torch.stack(
            [torch.stack([batch.problem.objective(x, theta) for x in decisions]) for theta in theta_hat]
        )
        torch.testing.assert_close(scores(decisions, theta_hat, batch.problem), expected)


def test_an_objective_without_gradient_is_refused() -> None:
    problem = OracleProblem(lambda theta: theta > 0, lambda x, theta: (x * theta.detach()).sum(-1) ** 2, n=3)
    theta_hat, batch = instance(problem, 3)
    with mistake("objective", "theta", "ScoreFunction"):
        NCE()(theta_hat.requires_grad_(), batch)


def test_bad_input() -> None:
    with mistake("solve_ratio", "[0, 1]", "1.5"):
        SolutionPool(solve_ratio=1.5)
    with mistake("capacity", "got 0"):
        SolutionPool(capacity=0)
    with mistake("pool", "SolutionPool", "Tensor"):
        NCE(torch.zeros(2, 2))  # type: ignore[arg-type]
    pool = SolutionPool()
    pool.add(torch.zeros(1, 3))
    with mistake("decisions", "(K, 3)", "(1, 4)"):
        pool.add(torch.zeros(1, 4))

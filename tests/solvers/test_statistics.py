from __future__ import annotations

import logging
import threading

import pytest
import torch

import foresolve
from foresolve._base.log import log
from foresolve.errors import ConvergenceWarning, SolverError
from foresolve.layers import MultilinearRelaxation, QuadraticRelaxation, RegularizedFrankWolfe, solver_statistics
from foresolve.problems import OracleProblem
from foresolve.solvers.statistics import measured

THETA = torch.rand(6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
TOP = foresolve.TopK(4, 2)


def coverage() -> foresolve.SubmodularProblem:
    return foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(4, 2))


def test_a_layer_tells_what_its_solution_says() -> None:
    layer = QuadraticRelaxation(gamma=0.3)
    problem = foresolve.Knapsack(weights=[[3.0, 4.0, 5.0, 6.0]], capacity=[9.0])
    with solver_statistics() as statistics:
        solution = layer.solve(THETA, problem)
    (call,) = statistics.calls
    assert (call.solver, call.instances, call.unconverged) == ("projection", 6, 0)
    assert call.iterations == int(solution.iterations.sum())
    assert call.iterations > 0
    assert call.residual == float(solution.residual.max())
    assert call.statuses == {"CONVERGED": 6}
    assert 0 < call.seconds == statistics.seconds
    assert "projection: 6 CONVERGED" in str(call)


def test_every_solver_is_counted_once() -> None:
    box = OracleProblem(lambda theta: (theta == theta.max()).astype(float), n=4, linear=True, sense="max")
    probabilities = THETA[:, :, None]
    with solver_statistics() as statistics:
        MultilinearRelaxation(gamma=1.0)(probabilities, coverage())
        RegularizedFrankWolfe(gamma=1.0)(THETA, TOP)  # asks for vertices, within
        TOP.solve(THETA)
        coverage().solve(probabilities)
        box.solve(THETA)
    assert [call.solver for call in statistics.calls] == ["multilinear", "Frank-Wolfe", "exact", "greedy", "black box"]
    assert statistics.count == 5
    assert statistics.instances == 30
    assert statistics.unconverged == 0
    assert statistics.iterations == sum(call.iterations for call in statistics.calls) > 0


def test_what_did_not_converge_is_counted() -> None:
    layer = MultilinearRelaxation(gamma=0.05, max_iter=1)
    with solver_statistics() as statistics, pytest.warns(ConvergenceWarning):
        solution = layer.solve(THETA[:, :, None], coverage())
    assert statistics.unconverged == int((~solution.converged).sum()) > 0


def test_sums_alone_need_no_memory_and_blocks_nest() -> None:
    with solver_statistics() as outer:
        TOP.solve(THETA)
        with solver_statistics(calls=False) as inner:
            TOP.solve(THETA)
    TOP.solve(THETA)
    assert (len(outer.calls), outer.count) == (2, 2)
    assert (inner.calls, inner.count, inner.instances) == ([], 1, 6)


def test_other_threads_are_not_heard() -> None:
    with solver_statistics() as statistics:
        thread = threading.Thread(target=TOP.solve, args=(THETA,))
        thread.start()
        thread.join()
    assert statistics.count == 0


def test_a_call_that_fails_is_counted_as_failed() -> None:
    with solver_statistics() as statistics:
        with pytest.raises(SolverError), measured("exact", 3):
            raise SolverError("no")
        TOP.solve(THETA)
    assert [dict(call.statuses) for call in statistics.calls] == [{"FAILED": 3}, {"CONVERGED": 6}]


def test_an_empty_batch_is_a_call_without_instances() -> None:
    with solver_statistics() as statistics:
        QuadraticRelaxation(gamma=1.0)(THETA[:0], TOP)
    assert statistics.instances == statistics.unconverged == 0


def test_the_log_has_every_call_where_somebody_listens(caplog: pytest.LogCaptureFixture) -> None:
    TOP.solve(THETA)
    assert caplog.records == []
    with caplog.at_level(logging.DEBUG, logger="foresolve"):
        TOP.solve(THETA)
    assert [record.getMessage().partition(";")[0] for record in caplog.records] == ["exact: 6 CONVERGED"]
    assert any(isinstance(handler, logging.NullHandler) for handler in log.handlers)

from __future__ import annotations

import _thread
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.optimize
import torch

from foresolve.errors import InfeasibleError, MissingExtraError, SolverError, StoppedError, UnboundedError
from foresolve.solvers.exact import model_pool
from foresolve.solvers.exact.highs import HighsPool, is_feasible
from foresolve.solvers.exact.highs_model import HighsModel
from foresolve.solvers.exact.outcome import Ending, Limits
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.rows import DenseRows
from foresolve.solvers.projection.sparse_rows import SparseRows
from mistakes import mistake


def polytope(rows: list, rhs: list, equality: list[bool], lower: list, upper: list) -> Polytope:
    def two(values: list) -> torch.Tensor:
        tensor = torch.tensor(values, dtype=torch.float64)
        return tensor if tensor.ndim == 2 else tensor[None]

    matrix = DenseRows(torch.tensor(rows, dtype=torch.float64))
    return Polytope(matrix, two(rhs), torch.tensor(equality), two(lower), two(upper))


@pytest.fixture
def simplex() -> Polytope:
    """`x + y <= 1, x, y >= 0`."""
    return polytope([[1.0, 1.0]], [1.0], [False], [0.0, 0.0], [np.inf, np.inf])


def random_polytope(seed: int, m: int = 6, n: int = 9) -> Polytope:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.6)
    rhs = rows @ rng.random(n) + np.where(np.arange(m) < 2, 0.0, rng.random(m))
    return polytope(rows.tolist(), rhs.tolist(), [True, True] + [False] * (m - 2), [0.0] * n, [1.0] * n)


def hard() -> tuple[Polytope, np.ndarray]:
    """A program that takes more than one node."""
    rows = np.random.default_rng(0).integers(1, 1000, (8, 50)).astype(float)
    body = polytope(rows.tolist(), (rows.sum(1) / 2).tolist(), [False] * 8, [0.0] * 50, [1.0] * 50)
    return body, np.ones(50)


def hard_gains() -> np.ndarray:
    return np.random.default_rng(1).integers(1, 1000, (1, 50)).astype(float)


def shared(count: int) -> np.ndarray:
    return np.zeros(count, dtype=np.int64)


@pytest.mark.parametrize("seed", range(6))
def test_matches_linprog_and_milp(seed: int) -> None:
    body = random_polytope(seed)
    gains = np.random.default_rng(seed + 100).normal(size=(20, 9))
    rows, equality, rhs = body.rows.values.numpy(), body.equality.numpy(), body.rhs[0].numpy()
    x = HighsPool(body).solve(gains, shared(20), (20,))
    for c, decision in zip(gains, x, strict=True):
        reference = scipy.optimize.linprog(
            -c, rows[~equality], rhs[~equality], rows[equality], rhs[equality], (0, 1), method="highs-ipm"
        )
        assert c @ decision == pytest.approx(-reference.fun, abs=1e-7)
    no_equality = torch.zeros(6, dtype=torch.bool)
    inequality = Polytope(DenseRows(torch.tensor(np.abs(rows))), body.rhs.abs(), no_equality, body.lower, body.upper)
    flags = np.arange(9) % 2
    x = HighsPool(inequality, flags).solve(gains[:4], shared(4), (4,))
    assert (x[:, flags == 1] == np.round(x[:, flags == 1])).all()
    constraint = scipy.optimize.LinearConstraint(np.abs(rows), ub=np.abs(rhs))
    for c, decision in zip(gains, x, strict=False):
        reference = scipy.optimize.milp(
            -c, constraints=constraint, bounds=scipy.optimize.Bounds(0, 1), integrality=flags
        )
        assert c @ decision == pytest.approx(-reference.fun, abs=1e-6)


def test_calls_do_not_depend_on_earlier_ones_nor_on_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    body = random_polytope(3)
    gains = np.round(np.random.default_rng(0).normal(size=(50, 9)))  # ties
    pool = HighsPool(body)
    first = pool.solve(gains, shared(50), (50,))
    pool.solve(-gains, shared(50), (50,))
    assert np.array_equal(pool.solve(gains, shared(50), (50,)), first)
    monkeypatch.setattr(model_pool.os, "cpu_count", lambda: 7)
    assert np.array_equal(HighsPool(body).solve(gains, shared(50), (50,)), first)


def test_threads_share_a_pool() -> None:
    pool = HighsPool(random_polytope(4))
    gains = np.random.default_rng(1).normal(size=(30, 9))
    expected = pool.solve(gains, shared(30))
    with ThreadPoolExecutor(4) as threads:
        for decisions in threads.map(lambda _: pool.solve(gains, shared(30)), range(8)):
            assert np.array_equal(decisions, expected)


def test_works_where_another_user_of_highs_chose_other_threads() -> None:
    import highspy

    def alone() -> np.ndarray:
        neighbor = highspy.Highs()
        neighbor.setOptionValue("output_flag", False)
        neighbor.setOptionValue("threads", 2)
        neighbor.addVar(0.0, 1.0)
        neighbor.run()
        return HighsPool(random_polytope(5)).solve(np.ones((1, 9)), shared(1))

    decisions: list[np.ndarray] = []
    thread = threading.Thread(target=lambda: decisions.append(alone()))
    thread.start()
    thread.join()
    assert len(decisions) == 1


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1.0, 1e12, 1e30])
def test_gains_in_any_unit(simplex: Polytope, scale: float) -> None:
    x = HighsPool(simplex).solve(scale * np.array([[1.0, 1.001], [1.001, 1.0], [-1.0, -1.0]]), shared(3))
    assert x.tolist() == [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]


class TestUnits:
    """The same program in other units has the same decision; HiGHS' tolerances are absolute and its zero is 1e-9."""

    gains = np.array([[1.0, 2.0]])

    @pytest.mark.parametrize("unit", [1e-12, 1e-10, 1e-7, 1e-3, 1e4, 1e9, 1e12])
    def test_of_a_row(self, unit: float) -> None:
        body = polytope([[unit, unit]], [unit], [False], [0.0, 0.0], [10.0, 10.0])
        assert HighsPool(body).solve(self.gains, shared(1)).tolist() == [[0.0, 1.0]]

    @pytest.mark.parametrize("unit", [1e-12, 1e-10, 1e-7, 1e-3, 1e4, 1e9, 1e12])
    def test_of_the_variables(self, unit: float) -> None:
        body = polytope([[1.0, 1.0], [2.0, -1.0]], [unit, -unit / 2], [False, False], [0.0, 0.0], [np.inf, 0.75 * unit])
        x = HighsPool(body).solve(np.array([[3.0, 2.0]]), shared(1))
        np.testing.assert_allclose(x, [[0.125 * unit, 0.75 * unit]], rtol=1e-9)

    @pytest.mark.parametrize("unit", [1e-12, 1e-7, 1e9])
    def test_of_the_variables_of_an_infeasible_program(self, unit: float) -> None:
        body = polytope([[1.0, 1.0]], [unit], [True], [0.0, 0.0], [unit / 4, unit / 4])
        assert not is_feasible(body)
        with pytest.raises(InfeasibleError):
            HighsPool(body).solve(self.gains, shared(1))

    def test_of_single_rows_and_columns(self) -> None:
        """Scaled up and down at random, against the program as it was."""
        rng = np.random.default_rng(0)
        for seed in range(30):
            body = random_polytope(seed)
            rows, columns = 10.0 ** rng.uniform(-8, 8, 6), 10.0 ** rng.uniform(-6, 6, 9)
            matrix = body.rows.values.numpy() * rows[:, None] * columns
            other = Polytope(
                DenseRows(torch.from_numpy(matrix)), body.rhs * torch.from_numpy(rows), body.equality,
                body.lower, body.upper / torch.from_numpy(columns),
            )  # fmt: skip
            gains = rng.normal(size=(3, 9))
            plain = HighsPool(body).solve(gains, shared(3))
            scaled = HighsPool(other).solve(gains * columns, shared(3)) * columns
            np.testing.assert_allclose((gains * scaled).sum(-1), (gains * plain).sum(-1), rtol=1e-8)

    def test_one_large_right_hand_side_does_not_loosen_the_other_rows(self) -> None:
        body = polytope([[1.0, 1.0], [1.0, 0.0]], [1e-8, 1e10], [False, False], [0.0, 0.0], [np.inf, np.inf])
        np.testing.assert_allclose(HighsPool(body).solve(self.gains, shared(1)), [[0.0, 1e-8]], rtol=1e-9)


class TestSearch:
    def test_a_stopped_search_has_a_decision_and_a_bound(self) -> None:
        body, integer = hard()
        pool, gains = HighsPool(body, integer), hard_gains()
        (best,) = pool.search(gains, shared(1))
        (stopped,) = pool.search(gains, shared(1), Limits(nodes=1))
        assert (best.ending, stopped.ending) == (Ending.OPTIMAL, Ending.NODE_LIMIT)
        assert best.x is not None
        assert stopped.x is not None
        assert gains[0] @ stopped.x <= best.bound + 1e-6 <= stopped.bound + 2e-6
        assert best.bound == gains[0] @ best.x
        (again,) = pool.search(gains, shared(1), Limits(nodes=1))
        assert np.array_equal(again.x, stopped.x)  # type: ignore[arg-type]

    def test_a_gap_that_is_good_enough(self) -> None:
        body, integer = hard()
        (outcome,) = HighsPool(body, integer).search(hard_gains(), shared(1), Limits(gap=0.2))
        assert outcome.ending == Ending.WITHIN_GAP
        assert outcome.x is not None
        value = hard_gains()[0] @ outcome.x
        assert value < outcome.bound <= 1.2 * value

    def test_seconds(self) -> None:
        body, integer = hard()
        (outcome,) = HighsPool(body, integer).search(hard_gains(), shared(1), Limits(seconds=1e-9))
        assert outcome.ending == Ending.TIME_LIMIT

    def test_a_decision_within_highs_tolerance_but_not_within_ours(self) -> None:
        """Both items together are too heavy by 2e-8 of the row."""
        body = polytope([[1.0, 1.0000001]], [2.0], [False], [0.0, 0.0], [1.0, 1.0])
        assert HighsPool(body, np.ones(2)).solve(np.array([[1.0, 2.0]]), shared(1)).tolist() == [[0.0, 1.0]]

    def test_a_repeated_row_does_not_make_it_infeasible(self) -> None:
        """What HiGHS 1.15 with presolve says of some: an equality, three times it, and a continuous variable."""
        rng = np.random.default_rng(0)
        for _ in range(300):
            integer = np.array([True, False, True, False])
            rows = rng.normal(size=(3, 4)) * (rng.random((3, 4)) < 0.7)
            point = np.where(integer, np.round(rng.random(4)), rng.random(4))
            rows = np.concatenate([rows, 3 * rows[:1]])
            rhs = rows @ point + np.array([0.0, *rng.random(2), 0.0])
            body = polytope(rows.tolist(), rhs.tolist(), [True, False, False, True], [0.0] * 4, [1.0] * 4)
            (outcome,) = HighsPool(body, integer).search(rng.normal(size=(1, 4)), shared(1))
            assert outcome.ending == Ending.OPTIMAL

    @pytest.mark.parametrize("unit", [1.0, 1e7])
    def test_switches_on_large_numbers(self, unit: float) -> None:
        """Lot sizes: production up to a capacity where a switch is on, and a store, against every setting."""
        rng = np.random.default_rng(3)
        demand, n = unit * rng.random(6), 6
        store = np.eye(n, k=-1) - np.eye(n)
        balance = np.concatenate([np.eye(n), store, np.zeros((n, n))], 1)
        capacity = np.concatenate([np.eye(n), np.zeros((n, n)), -2.5 * unit * np.eye(n)], 1)
        rows, rhs = np.concatenate([balance, capacity]), np.concatenate([demand, np.zeros(n)])
        upper = [np.inf] * (2 * n) + [1.0] * n
        body = polytope(rows.tolist(), rhs.tolist(), [True] * n + [False] * n, [0.0] * (3 * n), upper)
        gains = -np.concatenate([rng.random(n) / unit, 0.2 * rng.random(n) / unit, 1 + rng.random(n)])
        (outcome,) = HighsPool(body, np.arange(3 * n) >= 2 * n).search(gains[None], shared(1))
        assert outcome.ending == Ending.OPTIMAL
        best = -np.inf
        for switches in np.ndindex(*[2] * n):
            bounds = [(0, None)] * (2 * n) + [(on, on) for on in switches]
            result = scipy.optimize.linprog(-gains, rows[n:], rhs[n:], rows[:n], rhs[:n], bounds)
            best = max(best, -result.fun if result.success else -np.inf)
        assert gains @ outcome.x == pytest.approx(best, rel=1e-9)  # type: ignore[operator]

    def test_integer_bounds_that_are_none(self) -> None:
        body = polytope([[1.0, 1.0]], [9.0], [False], [0.5, 0.0], [2.5, 3.0 - 1e-15])
        assert HighsPool(body, np.ones(2)).solve(np.array([[-1.0, 1.0]]), shared(1)).tolist() == [[1.0, 3.0]]
        assert HighsPool(body, np.ones(2)).solve(np.array([[1.0, -1.0]]), shared(1)).tolist() == [[2.0, 0.0]]


@pytest.fixture
def listening() -> Iterator[None]:
    """A process that a shell put into the background ignores Ctrl-C: here it is heard."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("listening")
def test_an_interrupt_ends_a_search_that_would_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(1).normal(size=(2, 5))
    body = polytope(rows.tolist(), (rows @ np.full(5, 0.5)).tolist(), [True] * 2, [0.0] * 5, [np.inf] * 5)
    run = HighsModel.run

    def interrupted(self: HighsModel, **options: object) -> str:
        _thread.interrupt_main()
        return run(self, **options)  # type: ignore[arg-type]

    pool = HighsPool(body, np.ones(5))
    monkeypatch.setattr(HighsModel, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pool.search(np.zeros((3, 5)), shared(3), Limits(nodes=10**9))
    monkeypatch.undo()
    (outcome,) = pool.search(np.zeros((1, 5)), shared(1), Limits(nodes=10))
    assert (outcome.ending, outcome.x) == (Ending.NODE_LIMIT, None)


class TestModelPerInstance:
    def test_right_hand_sides_and_bounds(self) -> None:
        body = polytope([[1.0, 1.0]], [[1.0], [2.0], [3.0]], [False], [0.0, 0.0], [[9.0, 9.0], [0.5, 9.0], [9.0, 9.0]])
        pool = HighsPool(body)
        gains = np.tile([2.0, 1.0], (5, 1))
        expected = [[3.0, 0.0], [1.0, 0.0], [0.5, 1.5], [1.0, 0.0], [3.0, 0.0]]
        assert pool.solve(gains, np.array([2, 0, 1, 0, 2])).tolist() == expected
        assert pool.solve(gains, np.array([2, 0, 1, 0, 2])).tolist() == expected

    def test_matrices_dense_and_sparse(self) -> None:
        bounds = ([0.0, 0.0], [9.0, 9.0])
        dense = polytope([[[1.0, 2.0]], [[2.0, 1.0]]], [2.0], [False], *bounds)
        index = torch.tensor([[0, 0], [0, 1]])
        values = torch.tensor([[1.0, 2.0], [2.0, 1.0]], dtype=torch.float64)
        sparse = Polytope(SparseRows(1, 2, index, values), dense.rhs, dense.equality, dense.lower, dense.upper)
        for body in (dense, sparse):
            x = HighsPool(body).solve(np.ones((3, 2)), np.array([0, 1, 0]))
            assert x.tolist() == [[2.0, 0.0], [0.0, 2.0], [2.0, 0.0]]

    def test_one_infeasible_instance_is_named(self) -> None:
        body = polytope([[1.0, 1.0]], [[1.0], [-1.0], [3.0], [-2.0]], [False], [0.0, 0.0], [9.0, 9.0])
        with mistake("", "(0, 1), (1, 1)", kind=InfeasibleError, instances=[1, 3]):
            HighsPool(body).solve(np.ones((4, 2)), np.arange(4), (2, 2))
        assert [is_feasible(body, i) for i in range(4)] == [True, False, True, False]


class TestEndings:
    @pytest.mark.parametrize("integer", [None, np.array([1, 1])])
    def test_unbounded(self, integer: np.ndarray | None) -> None:
        body = polytope([[1.0, -1.0]], [1.0], [False], [0.0, 0.0], [np.inf, np.inf])
        with mistake("", "`bounds`", kind=UnboundedError, instances=[1]):
            HighsPool(body, integer).solve(np.array([[1.0, -2.0], [1.0, 1.0]]), shared(2), (2,))
        assert is_feasible(body)

    @pytest.mark.parametrize("integer", [None, np.array([1, 1])])
    def test_infeasible_though_a_ray_exists(self, integer: np.ndarray | None) -> None:
        body = polytope([[1.0, -1.0], [-1.0, 1.0]], [1.0, -2.0], [False, False], [0.0, 0.0], [np.inf, np.inf])
        with mistake(kind=InfeasibleError, instances=[0]):
            HighsPool(body, integer).solve(np.array([[1.0, 1.0]]), shared(1))

    def test_integers_alone_make_it_infeasible(self) -> None:
        body = polytope([[2.0]], [1.0], [True], [0.0], [1.0])
        assert is_feasible(body)
        with pytest.raises(InfeasibleError):
            HighsPool(body, np.array([1])).solve(np.ones((1, 1)), shared(1))

    def test_a_limit_is_an_error_that_says_how_to_go_on(self) -> None:
        pool = HighsPool(*hard())
        with mistake("", "nodes=1", "`problem.solution(theta)`", kind=StoppedError, instances=[0]):
            pool.solve(hard_gains(), shared(1), (1,), Limits(nodes=1))

    def test_infeasible_or_unbounded_by_a_short_search(self) -> None:
        """Integer points on a plane with irrational slopes: one search does not end, another one cannot tell why."""
        rows = np.random.default_rng(1).normal(size=(2, 5))
        body = polytope(rows.tolist(), (rows @ np.full(5, 0.5)).tolist(), [True] * 2, [0.0] * 5, [np.inf] * 5)
        with mistake("", "`bounds`", kind=SolverError, instances=[0]):
            HighsPool(body, np.ones(5)).solve(np.ones((1, 5)), shared(1))

    def test_no_rows_and_an_empty_batch(self) -> None:
        free = torch.zeros(1, 2, dtype=torch.float64)
        body = Polytope(DenseRows(torch.zeros(0, 2).double()), free[:, :0], torch.zeros(0).bool(), free, free + 1)
        assert HighsPool(body).solve(np.array([[1.0, -1.0]]), shared(1)).tolist() == [[1.0, 0.0]]
        assert HighsPool(body).solve(np.zeros((0, 2)), shared(0), (0,)).shape == (0, 2)


class TestWithoutHighspy:
    def test_error_says_how_to_get_it(self, simplex: Polytope, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "highspy", None)
        with mistake("", "pip install highspy", "ortools", kind=MissingExtraError):
            HighsPool(simplex).solve(np.ones((1, 2)), shared(1))

    def test_importing_the_problems_does_not_import_it(self) -> None:
        code = "import sys, foresolve.problems.linear; sys.exit('highspy' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

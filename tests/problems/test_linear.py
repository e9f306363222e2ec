from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
import torch
from torch import Tensor

import foresolve
from foresolve.errors import InfeasibleError
from foresolve.problems import LinearProgram
from mistakes import mistake
from problems.conformance import LinearConformance, scipy_value


class TestRandomPrograms(LinearConformance):
    """Feasible by construction, with dependent rows, fixed variables, both senses, dense or sparse."""

    integral = False

    def make(self, seed: int) -> LinearProgram:
        rng = np.random.default_rng(seed)
        n, m = int(rng.integers(2, 8)), int(rng.integers(0, 5))
        inside = rng.integers(0, 4, n).astype(float)
        a_ub, a_eq = rng.integers(-3, 4, (m, n)).astype(float), rng.integers(-3, 4, (1, n)).astype(float)
        a_eq = np.concatenate([a_eq, 2 * a_eq])
        lower = inside - rng.integers(0, 3, n)
        upper = inside + rng.integers(0, 3, n)
        form = scipy.sparse.csr_array if seed % 2 else np.asarray
        return LinearProgram(
            form(a_ub) if m else None, a_ub @ inside + rng.random(m) if m else None, form(a_eq), a_eq @ inside,
            (lower, upper), 1 if self.integral else None, "min" if seed % 3 else "max",
        )  # fmt: skip

    def best(self, problem: LinearProgram, theta: Tensor) -> float:
        return scipy_value(problem, theta)


class TestRandomIntegerPrograms(TestRandomPrograms):
    integral = True


DENSE = [[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]]


KINDS = {
    "list": lambda: DENSE,
    "int": lambda: np.array(DENSE, dtype=int),
    "float32": lambda: np.array(DENSE, dtype=np.float32),
    "csr_matrix": lambda: scipy.sparse.csr_matrix(DENSE),
    "coo_array": lambda: scipy.sparse.coo_array(DENSE),
    "dense": lambda: torch.tensor(DENSE),
    "coo": lambda: torch.tensor(DENSE).to_sparse(),
    "csr": lambda: torch.tensor(DENSE).to_sparse_csr(),
    "batched": lambda: torch.tensor(DENSE).expand(2, 2, 3),
    "batched coo": lambda: torch.tensor(DENSE).expand(2, 2, 3).to_sparse(),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
def test_every_kind_of_matrix(kind: str) -> None:
    problem = LinearProgram(KINDS[kind](), [2.0, 3.0])
    theta = torch.tensor([[1.0, 1.0, 1.0], [0.0, 5.0, 1.0]])
    assert problem.solve(theta).tolist() == [[2.0, 0.0, 3.0], [0.0, 1.0, 2.0]]
    assert "A_ub row 0" in str(problem.check(torch.tensor([3.0, 0.0, 0.0])))


@pytest.mark.parametrize(
    "bounds",
    [
        (np.array([0.0, -1.0]), np.array([1.0, np.inf])),
        [(0, 1), (-1, None)],
        scipy.optimize.Bounds([0.0, -1.0], [1.0, np.inf]),
        (torch.tensor([0.0, -1.0]), torch.tensor([1.0, torch.inf])),
    ],
)
def test_every_kind_of_bounds(bounds: object) -> None:
    problem = LinearProgram([[1.0, 1.0]], [2.0], bounds=bounds)
    assert problem.lower.tolist() == [0.0, -1.0]
    assert problem.upper.tolist() == [1.0, torch.inf]
    assert problem.solve(torch.tensor([2.0, 1.0])).tolist() == [1.0, 1.0]


def test_no_bounds_at_all() -> None:
    problem = LinearProgram(A_eq=[[1.0, 1.0]], b_eq=[1.0], A_ub=[[1.0, 0.0]], b_ub=[-2.0], bounds=(None, None))
    assert problem.solve(torch.tensor([1.0, 0.0])).tolist() == [-2.0, 3.0]


def test_constraints_per_instance_broadcast_with_theta() -> None:
    problem = LinearProgram([[1.0, 1.0]], torch.tensor([[1.0], [2.0]]))
    x = problem.solve(torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]], [[-1.0, -1.0]]]))
    assert x.tolist() == [[[1, 0], [2, 0]], [[0, 1], [0, 2]], [[0, 0], [0, 0]]]
    assert problem.check(x)
    assert problem.batch_shape == (2,)
    with mistake("", "`theta` (3,)", "(2,)"):
        problem.solve(torch.zeros(3, 2))


def test_sense_is_the_sign_of_the_objective() -> None:
    theta, x = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0])
    assert LinearProgram(n=2, bounds=(0, 1)).objective(x, theta) == 3.0
    assert LinearProgram(n=2, bounds=(0, 1), sense="min").objective(x, theta) == -3.0


def test_infeasible_in_the_middle_of_a_batch() -> None:
    problem = LinearProgram([[1.0, 1.0]], torch.tensor([[1.0], [-1.0], [2.0]]))
    with mistake(kind=InfeasibleError, instances=[1]) as caught:
        problem.solve(torch.ones(3, 2))
    assert caught.value.instances == (1,)


def test_check_lists_rows_bounds_and_fractions() -> None:
    problem = LinearProgram(
        [[1.0, 1.0]], [1.0], [[1.0, -1.0]], [0.0], (0, 1), integrality=[1, 0], names=["open", "flow"]
    )
    report = str(problem.check(torch.tensor([[0.0, 0.0], [0.5, 2.0]])))
    assert report.startswith("infeasible: instance 1")
    for line in (
        "A_ub row 0 is broken by 1.5", "A_eq row 0 is broken by 1.5", "upper variable 1 (flow) is broken by 1",
        "integrality variable 0 (open) is broken by 0.5",
    ):  # fmt: skip
        assert f"instance 1: {line}" in report
    assert str(problem.check(torch.zeros(2))) == "feasible"
    assert not problem.check(torch.tensor([torch.nan, 0.0]))


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        ({}, ("n",)),
        ({"A_ub": [[1.0]]}, ("b_ub", "A_ub")),
        ({"b_eq": [1.0]}, ("A_eq", "b_eq")),
        ({"A_ub": [1.0, 2.0], "b_ub": [1.0]}, ("A_ub", "(2,)", "[[...]]")),
        (
            {"A_ub": [[1.0, 2.0]], "b_ub": [1.0, 2.0]},
            ("b_ub", "(*batch, 1)", "1 rows", "(2,)"),
        ),
        ({"A_ub": [[1.0, np.nan]], "b_ub": [1.0]}, ("A_ub", "nan at [0, 1]")),
        ({"A_ub": [[1.0, 2.0]], "b_ub": [np.inf]}, ("b_ub", "inf at [0]")),
        ({"A_ub": [["a", 2.0]], "b_ub": [1.0]}, ("A_ub", "got list")),
        ({"A_ub": [[1.0, 2.0]], "b_ub": [1.0], "A_eq": [[1.0]], "b_eq": [1.0]}, ("", "A_eq 1", "A_ub 2")),
        ({"n": 2, "bounds": (np.array([0.0, 2.0]), 1.0)}, ("bounds", "2.0 > 1.0 at [1]")),
        ({"n": 2, "bounds": (np.inf, np.inf)}, ("lower", "got inf")),
        ({"n": 2, "bounds": (0.0, np.nan)}, ("upper", "nan at [0]")),
        ({"n": 2, "bounds": ([0.0] * 3, [1.0] * 3)}, ("", "n 2", "lower 3", "upper 3")),
        ({"n": 2, "bounds": [(0, 1, 2), (0, 1, 2)]}, ("bounds", "(2, 3)")),
        ({"n": 2, "integrality": 2}, ("integrality", "[2]")),
        ({"n": 2, "integrality": [1, 0, 1]}, ("integrality", "(3,)")),
        ({"n": 2, "sense": "up"}, ("sense", "'up'")),
        ({"n": 2, "names": ["one"]}, ("names", "2 variables", "1 names")),
        ({"n": 0}, ("n", ">= 1")),
    ],
)
def test_bad_input(arguments: dict[str, object], about: tuple[str, ...]) -> None:
    with mistake(*about):
        LinearProgram(**arguments)  # type: ignore[arg-type]


def test_a_far_corner_is_not_taken_for_infinity() -> None:
    """Two rows that are nearly opposite meet at 2e8; without the small difference there is no limit."""
    gains = torch.tensor([1.0, 1.0], dtype=torch.float64)
    bounded = foresolve.LinearProgram(A_ub=[[1.0, -1.0], [-1.0, 1.0 + 1e-8]], b_ub=[1.0, 1.0])
    torch.testing.assert_close(
        bounded.solve(gains), torch.tensor([2e8 + 1, 2e8], dtype=torch.float64), rtol=1e-6, atol=0
    )
    open_ended = foresolve.LinearProgram(A_ub=[[1.0, -1.0], [-1.0, 1.0]], b_ub=[1.0, 1.0])
    with pytest.raises(foresolve.UnboundedError):
        open_ended.solve(gains)


def test_rows_are_named_by_their_block() -> None:
    problem = foresolve.LinearProgram(A_ub=np.eye(2), b_ub=[1.0, 1.0], A_eq=[[1.0, 1.0]], b_eq=[1.0])
    assert [problem.row_name(i) for i in range(3)] == ["A_eq row 0", "A_ub row 0", "A_ub row 1"]
    assert foresolve.BipartiteMatching(2, 2).row_name(3) == "A_ub row 3 (right 1)"


def test_a_decision_does_not_depend_on_the_units_of_its_batch() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        rows, side = rng.integers(1, 4, (3, 5)).astype(float), rng.integers(2, 9, 3).astype(float)
        sides = np.stack([side, side * 10.0 ** rng.integers(4, 9)])
        gains = torch.ones(2, 5, dtype=torch.float64)
        together = foresolve.LinearProgram(A_ub=rows, b_ub=sides).solve(gains)
        alone = foresolve.LinearProgram(A_ub=rows, b_ub=side).solve(gains[0])
        assert torch.equal(together[0], alone)

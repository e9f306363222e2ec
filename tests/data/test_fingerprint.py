from __future__ import annotations

import pickle

import numpy as np
import scipy.sparse as sp
import torch

from foresolve.data.fingerprint import fingerprint
from foresolve.problems.black_box import OracleProblem
from foresolve.problems.knapsack import Knapsack
from foresolve.problems.linear import LinearProgram
from foresolve.problems.matching import BipartiteMatching
from foresolve.problems.shortest_path import ShortestPath
from foresolve.problems.submodular import SubmodularProblem
from foresolve.problems.top_k import TopK
from foresolve.problems.travelling_salesman import TravellingSalesman
from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.matroids.laminar import UniformMatroid


def first_largest(theta: np.ndarray) -> np.ndarray:
    return (theta == theta.max()).astype(float)


def test_solving_does_not_change_it() -> None:
    coverage = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(5, 2))
    problems = [
        (TopK(5, 2), 5), (ShortestPath.grid(3, 3), 12), (Knapsack([1, 2, 3], 4), 3), (BipartiteMatching(2, 3), 6),
        (Knapsack([[1.5, 2, 3], [1, 2, 2]], [4.0, 3.0]), 3), (TravellingSalesman(5), 10), (coverage, (5, 4)),
        (OracleProblem(first_largest, n=3), 3),
    ]  # fmt: skip
    prints = set()
    for problem, shape in problems:
        before = fingerprint(problem)
        theta = torch.rand(
            4, *(shape if isinstance(shape, tuple) else (shape,)), generator=torch.Generator().manual_seed(0)
        )
        problem.solve(theta)
        assert fingerprint(problem) == before == fingerprint(pickle.loads(pickle.dumps(problem)))
        prints.add(before)
    assert len(prints) == len(problems)


def test_every_datum_counts() -> None:
    base = {"A_ub": [[1.0, 2.0]], "b_ub": [1.0], "bounds": (0, 1), "integrality": 0, "sense": "max"}
    changes = [{}, {"A_ub": [[1.0, 3.0]]}, {"b_ub": [2.0]}, {"bounds": (0, 2)}, {"integrality": 1}, {"sense": "min"}]
    programs = [LinearProgram(**(base | change)) for change in changes]  # type: ignore[arg-type]
    assert len({fingerprint(program) for program in programs}) == len(changes)


def test_how_long_to_search_does_not_count() -> None:
    program = LinearProgram([[1.0, 2.0]], [1.0], integrality=1)
    assert fingerprint(program) == fingerprint(program.limited(nodes=7, seconds=1.0))


def test_code_counts() -> None:
    def scaled(k: float):
        return OracleProblem(lambda theta: k * theta, n=2)

    assert fingerprint(scaled(1.0)) == fingerprint(scaled(1.0)) != fingerprint(scaled(2.0))
    assert fingerprint(OracleProblem(lambda theta: theta + 1)) != fingerprint(OracleProblem(lambda theta: theta - 1))


def test_plain_values_count_with_their_types_and_shapes() -> None:
    values = [1, 1.0, True, "1", None, [1], (1,), {1: 2}, {2: 1}, torch.ones(2), torch.ones(1, 2), np.ones(2)]
    assert len({fingerprint(value) for value in values}) == len(values)
    assert fingerprint({1, 2, 3}) == fingerprint({3, 2, 1})


def test_sparse_matrices_count_by_their_entries() -> None:
    dense = np.array([[0.0, 2.0], [1.0, 0.0]])
    assert fingerprint(sp.csr_array(dense)) == fingerprint(sp.csr_array(dense.copy()))
    assert fingerprint(sp.csr_array(dense)) != fingerprint(sp.csr_array(2 * dense))


def test_what_refers_to_itself_ends() -> None:
    cycle: list[object] = [1]
    cycle.append(cycle)
    assert fingerprint(cycle) == fingerprint(cycle)

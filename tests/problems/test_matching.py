from __future__ import annotations

import itertools

import networkx
import numpy as np
import pytest
import torch
from torch import Tensor

from foresolve.problems import Assignment, BipartiteMatching
from mistakes import mistake
from problems.conformance import LinearConformance, scipy_value


class TestBipartiteMatching(LinearConformance):
    def make(self, seed: int) -> BipartiteMatching:
        rng = np.random.default_rng(seed)
        return BipartiteMatching(int(rng.integers(1, 6)), int(rng.integers(1, 6)))

    def best(self, problem: BipartiteMatching, theta: Tensor) -> float:
        graph = networkx.Graph()
        for k, weight in enumerate(theta.tolist()):
            graph.add_edge(("l", k // problem.right), ("r", k % problem.right), weight=weight)
        pairs = networkx.max_weight_matching(graph)
        return sum(graph.edges[pair]["weight"] for pair in pairs)

    def test_leaves_non_positive_pairs_unmatched(self) -> None:
        problem = BipartiteMatching(2, 3)
        assert problem.solve(torch.tensor([-1.0, -2.0, 0.0, -1.0, 0.0, -3.0])).tolist() == [0.0] * 6
        assert problem.solve(torch.tensor([1.0, -2.0, 0.0, -1.0, 0.0, -3.0])).tolist() == [1.0, 0, 0, 0, 0, 0]

    def test_agrees_with_scipy_milp(self) -> None:
        problem = BipartiteMatching(6, 4)
        theta = torch.randn(24, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        assert problem.objective(problem.solve(theta), theta).item() == pytest.approx(scipy_value(problem, theta))

    def test_check_names_nodes_and_pairs(self) -> None:
        report = BipartiteMatching(2, 2).check(torch.tensor([1.0, 1.0, 0.0, 0.0]))
        assert "left 0" in str(report)
        report = BipartiteMatching(2, 2).check(torch.tensor([0.0, 0.0, 0.0, -1.0]))
        assert "pair (1, 1)" in str(report)

    def test_matrix_theta_is_told_to_flatten(self) -> None:
        with mistake("theta", "(*batch, 6)", "(5, 2, 3)", "theta.flatten(-2)"):
            BipartiteMatching(2, 3).solve(torch.zeros(5, 2, 3))

    @pytest.mark.parametrize("size", [0, -1, 2.5, True, "two", None])
    def test_sizes_are_positive_integers(self, size: object) -> None:
        with mistake("right", ">= 1"):
            BipartiteMatching(2, size)  # type: ignore[arg-type]


class TestAssignment(LinearConformance):
    def make(self, seed: int) -> Assignment:
        rng = np.random.default_rng(seed)
        right = None if seed % 4 == 0 else int(rng.integers(1, 5))
        return Assignment(int(rng.integers(1, 5)), right, sense="min" if seed % 2 else "max")

    def best(self, problem: Assignment, theta: Tensor) -> float:
        grid = problem.gain(theta).reshape(problem.left, problem.right).numpy()
        grid = grid if problem.left <= problem.right else grid.T
        choices = itertools.permutations(range(grid.shape[1]), grid.shape[0])
        return max(sum(grid[i, j] for i, j in enumerate(choice)) for choice in choices)

    def test_rows_of_the_smaller_side_are_equalities(self) -> None:
        assert (Assignment(2, 3).A_eq.shape, Assignment(2, 3).A_ub.shape) == ((2, 6), (3, 6))  # type: ignore[union-attr]
        assert (Assignment(3, 2).A_eq.shape, Assignment(3, 2).A_ub.shape) == ((2, 6), (3, 6))  # type: ignore[union-attr]
        assert Assignment(3).A_eq.shape == (6, 9)  # type: ignore[union-attr]

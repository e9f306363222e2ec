from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from foresolve.problems import TopK
from mistakes import mistake
from problems.conformance import LinearConformance


class TestTopK(LinearConformance):
    def make(self, seed: int) -> TopK:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 9))
        return TopK(n, int(rng.integers(1, n + 1)), sense="min" if seed % 2 else "max")

    def best(self, problem: TopK, theta: Tensor) -> float:
        return sum(sorted(problem.gain(theta).tolist(), reverse=True)[: problem.k])

    def test_takes_exactly_k(self) -> None:
        assert TopK(5, 3).solve(-torch.ones(2, 5)).sum(-1).tolist() == [3.0, 3.0]

    @pytest.mark.parametrize(("k", "about"), [(6, ("k", "`n` (5)", "got 6")), (0, ("k", ">= 1", "got 0"))])
    def test_bad_k(self, k: int, about: tuple[str, ...]) -> None:
        with mistake(*about):
            TopK(5, k)

    def test_costs(self) -> None:
        problem = TopK(4, 2, sense="min")
        assert problem.solve(torch.tensor([3.0, 1.0, -2.0, 5.0])).tolist() == [0, 1, 1, 0]

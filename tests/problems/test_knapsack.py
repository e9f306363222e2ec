from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor

from foresolve.problems import Knapsack
from mistakes import mistake
from problems.conformance import LinearConformance


class KnapsackConformance(LinearConformance):
    def best(self, problem: Knapsack, theta: Tensor) -> float:
        choices = torch.tensor(list(itertools.product([0.0, 1.0], repeat=problem.n)), dtype=torch.float64)
        fits = (choices @ problem.weights.double().mT <= problem.capacity + 1e-9).all(-1)
        return (choices[fits] @ theta).max().item()

    def test_skips_items_of_no_worth(self) -> None:
        problem = self.make(12)
        assert problem.solve(torch.zeros(problem.n)).sum() == 0
        assert problem.solve(-torch.ones(problem.n)).sum() == 0


class TestIntegerWeights(KnapsackConformance):
    def make(self, seed: int) -> Knapsack:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 9))
        scale = 7 if seed % 2 else 1  # a common factor
        return Knapsack(scale * rng.integers(0, 9, n), scale * float(rng.uniform(0, 25)))


class TestSeveralDimensions(KnapsackConformance):
    def make(self, seed: int) -> Knapsack:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 7))
        return Knapsack(rng.integers(0, 9, (2, n)), rng.integers(3, 20, 2))


class TestDecimalWeights(KnapsackConformance):
    def make(self, seed: int) -> Knapsack:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 7))
        return Knapsack(rng.random(n).round(3), float(rng.uniform(0.2, 2.0)))


class TestRealWeights(KnapsackConformance):
    def make(self, seed: int) -> Knapsack:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 7))
        return Knapsack(rng.random(n), float(rng.uniform(0.2, 2.0)))


@pytest.mark.parametrize(
    ("weights", "capacity", "best"),
    [
        ([0.1, 0.2, 0.3], 0.3, [1, 1, 0]),  # 0.1 + 0.2 > 0.3 in floating point
        ([0.14, 0.15, 0.29], 0.29, [1, 1, 0]),
        ([1.25, 2.5, 0.75], 3.74, [0, 1, 1]),
        ([0.1, 0.2, 0.35], 0.2999, [0, 1, 0]),
    ],
)
def test_decimal_weights_need_no_branch_and_bound(
    weights: list[float], capacity: float, best: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Knapsack, "_search", lambda *_: pytest.fail("branch and bound"))
    problem = Knapsack(weights, capacity)
    x = problem.solve(torch.tensor([1.0, 1.5, 2.0], dtype=torch.float64))
    assert x.tolist() == best
    assert problem.check(x)


def test_capacity_per_instance() -> None:
    problem = Knapsack([2, 3, 4], torch.tensor([[0.0], [3.0], [5.9], [9.0]]))
    x = problem.solve(torch.tensor([2.0, 3.5, 4.0]))
    assert x.tolist() == [[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 1]]
    assert problem.check(x)
    assert problem.solve(torch.ones(2, 1, 3)).shape == (2, 4, 3)


def test_weights_per_instance() -> None:
    problem = Knapsack(torch.tensor([[[2.0, 3.0]], [[3.0, 2.0]]]), 2)
    assert problem.solve(torch.tensor([1.0, 1.0])).tolist() == [[1, 0], [0, 1]]


def test_table_agrees_with_highs() -> None:
    rng = np.random.default_rng(0)
    problem = Knapsack(rng.integers(5, 60, 25), 200)
    gains = torch.from_numpy(rng.normal(size=(6, 25)) + 0.5)
    assert problem._table is not None
    by_table = (gains * problem.solve(gains)).sum(-1)
    outcomes = problem._search(gains, torch.Size([6]), problem.limits)
    by_highs = (gains * torch.from_numpy(np.stack([outcome.x for outcome in outcomes]))).sum(-1)
    torch.testing.assert_close(by_table, by_highs)


@pytest.mark.parametrize("exponent", range(-12, 13, 3))
def test_weights_in_any_unit(exponent: int) -> None:
    """HiGHS alone takes 7.6 units into a knapsack of 4 once they are small."""
    unit = 10.0**exponent
    problem = Knapsack([1.5 * unit, 2.2 * unit, 3.9 * unit], 4 * unit)
    assert problem.solve(torch.tensor([1.0, 1.1, 1.2])).tolist() == [1.0, 1.0, 0.0]


def test_items_of_no_worth_stay_out_of_incumbents_too() -> None:
    problem = Knapsack([[1.5, 2.2, 0.3]], [9.0])
    assert problem.solution(torch.tensor([1.0, 0.0, -1.0])).x.tolist() == [1.0, 0.0, 0.0]


def test_a_large_batch_is_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Knapsack([1, 2, 3], 4)
    theta = torch.rand(10, 3, generator=torch.Generator().manual_seed(0))
    expected = problem.solve(theta)
    monkeypatch.setattr("foresolve.solvers.exact.knapsack.TABLE_BYTES", 40)
    assert torch.equal(problem.solve(theta), expected)


@pytest.mark.parametrize(
    ("weights", "capacity", "about"),
    [
        ([1.0, -2.0], 1.0, ("weights", ">= 0", "-2.0 at [0, 1]")),
        ([1.0, 2.0], -1.0, ("capacity", ">= 0", "-1.0 at [0]")),
        ([1.0, float("nan")], 1.0, ("weights", "nan at [0, 1]")),
        ([1.0, 2.0], [1.0, 2.0], ("capacity", "(*batch, 1)")),
        ([[1.0, 2.0], [1.0, 2.0]], [1.0, 2.0, 3.0], ("capacity", "(*batch, 2)", "(3,)")),
        (3.0, 1.0, ("weights", "(n,)", "(*batch, d, n)")),
        (["a"], 1.0, ("weights", "got list")),
    ],
)
def test_bad_input(weights: object, capacity: object, about: tuple[str, ...]) -> None:
    with mistake(*about):
        Knapsack(weights, capacity)

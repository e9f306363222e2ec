from __future__ import annotations

import pytest
import torch
from torch import Tensor

from foresolve.sets import FacilityLocation, ProbabilisticCoverage, SetFunction
from foresolve.testing.counterexamples import find_counterexamples
from mistakes import mistake


class Power(SetFunction):
    """Submodular for powers up to 1, not beyond."""

    def __init__(self, power: float, shift: float = 0.0) -> None:
        self.power, self.shift = power, shift

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return self.shift + (mask * theta).sum(-1) ** self.power


class Cut(SetFunction):
    """Submodular, not monotone."""

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return (theta * mask).sum(-1) * (theta * (1 - mask)).sum(-1)


class WrongFormula(Power):
    def __init__(self, at_sets: bool) -> None:
        super().__init__(1.0)
        self.at_sets = at_sets

    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        return (x * theta).sum(-1) + (0.5 if self.at_sets else (x * (1 - x)).sum(-1))


@pytest.mark.parametrize("n", [1, 2, 7, 25])
def test_good_functions(n: int) -> None:
    theta = torch.rand(3, n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    search = find_counterexamples(Power(0.5), n, theta)
    assert not search.failures
    assert search.tests > 0
    assert search.exhaustive == (n <= 10)
    assert not find_counterexamples(FacilityLocation(), n, theta.unsqueeze(-1).float()).failures


@pytest.mark.parametrize("n", [4, 15])
@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (Power(2.0), "submodular"),
        (Cut(), "monotone"),
        (Power(0.5, 1.0), "empty set"),
        (WrongFormula(True), "extension at a set"),
    ],
)
def test_counter_examples(function: SetFunction, kind: str, n: int) -> None:
    theta = 0.5 + torch.rand(2, 2, n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    search = find_counterexamples(function, n, theta)
    assert {failure.kind for failure in search.failures} - {"extension"} == {kind}
    assert {failure.instance for failure in search.failures} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert any(str(failure).startswith(f"instance 0, 1: {kind} is broken by") for failure in search.failures)
    assert all(failure.amount > 0 for failure in search.failures)


def test_what_is_shown_is_a_counter_example() -> None:
    search = find_counterexamples(Cut(), 2, torch.tensor([1.0, 1.0]))
    assert str(search.failures[0]) == "monotone is broken by 1: f({0, 1}) = 0 < f({0}) = 1"


def test_wrong_formula_between_sets() -> None:
    search = find_counterexamples(WrongFormula(False), 3, torch.ones(3))
    assert [failure.kind for failure in search.failures] == ["extension"]
    assert "at x = [" in str(search.failures[0])


def test_nan_is_found() -> None:
    class Broken(Power):
        def value(self, mask: Tensor, theta: Tensor) -> Tensor:
            return (mask.sum(-1) - 2).sqrt()

    assert find_counterexamples(Broken(1.0), 3, torch.ones(3)).failures


def test_tolerance_is_relative() -> None:
    theta = 1e12 * torch.rand(6, 40, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert not find_counterexamples(Power(1.0), 40, theta).failures


def test_bad_input() -> None:
    with mistake("n", ">= 1"):
        find_counterexamples(Power(1.0), 0, torch.ones(3))
    with mistake("theta", "nan at [0]"):
        find_counterexamples(Power(1.0), 3, torch.full((3,), torch.nan))


def test_functions_with_data_of_each_instance() -> None:
    weights = torch.rand(3, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    theta = torch.rand(2, 3, 4, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    alone = find_counterexamples(ProbabilisticCoverage(weights[0]), 4, theta[0, 0])
    for parameters, instances in ((theta, 6), (theta[0, 0], 3)):
        search = find_counterexamples(ProbabilisticCoverage(weights), 4, parameters)
        assert not search.failures
        assert search.tests == instances * alone.tests

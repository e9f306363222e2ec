from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.optimize
import torch
from torch import Tensor

from foresolve.layers import QuadraticRelaxation
from foresolve.problems import TravellingSalesman
from mistakes import mistake
from problems.conformance import ProblemConformance


def enumerated(problem: TravellingSalesman, theta: Tensor) -> float:
    """The length of the shortest tour, by trying all."""
    number = {edge: i for i, edge in enumerate(problem.edges)}
    lengths = theta.tolist()

    def length(order: tuple[int, ...]) -> float:
        tour = (0, *order, 0)
        return sum(lengths[number[min(pair), max(pair)]] for pair in itertools.pairwise(tour))

    return min(length(order) for order in itertools.permutations(range(1, problem.cities)) if order[0] < order[-1])


def by_rounds_of_milp(problem: TravellingSalesman, costs: np.ndarray) -> float:
    """The shortest tour's length, from SciPy's integer programs and the subtours of their answers."""
    ends = np.array(problem.edges)
    rows, most = [(ends == city).any(1).astype(float) for city in range(problem.cities)], [2.0] * problem.cities
    least = [2.0] * problem.cities
    while True:
        result = scipy.optimize.milp(
            costs, integrality=np.ones(len(ends)), bounds=(0, 1), options={"mip_rel_gap": 0.0},
            constraints=scipy.optimize.LinearConstraint(np.array(rows), least, most),
        )  # fmt: skip
        label = np.arange(problem.cities)
        for _ in range(problem.cities):
            for a, b in ends[result.x > 0.5]:
                label[a] = label[b] = min(label[a], label[b])
        if (label == 0).all():
            return float(result.fun)
        for part in np.unique(label):
            members = label == part
            rows.append(members[ends].all(1).astype(float))
            least.append(-np.inf)
            most.append(members.sum() - 1.0)


class TestTravellingSalesman(ProblemConformance):
    def make(self, seed: int) -> TravellingSalesman:
        return TravellingSalesman(3 + seed % 5)

    def best(self, problem: TravellingSalesman, theta: Tensor) -> float:
        return -enumerated(problem, theta)


@pytest.mark.parametrize("seed", range(12))
def test_seven_cities_by_enumeration(seed: int) -> None:
    problem = TravellingSalesman(7)
    theta = torch.rand(5, problem.n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    theta = (4 * theta).round() if seed % 2 else theta
    value = problem.objective(problem.solve(theta), theta)
    expected = [-enumerated(problem, row) for row in theta]
    torch.testing.assert_close(value, torch.tensor(expected, dtype=torch.float64), atol=1e-6, rtol=0)


def test_twenty_cities_against_milp() -> None:
    generator = torch.Generator().manual_seed(0)
    problem = TravellingSalesman(20)
    points = torch.rand(6, 20, 2, generator=generator, dtype=torch.float64)
    random = torch.rand(6, problem.n, generator=generator, dtype=torch.float64)
    theta = torch.cat([problem.edge_costs(torch.cdist(points, points)), random])
    x = problem.solve(theta)
    assert problem.check(x)
    for row, decision in zip(theta, x):
        expected = by_rounds_of_milp(problem, row.numpy())
        assert -problem.objective(decision, row).item() == pytest.approx(expected, abs=1e-6)


def test_ties_are_broken_alike_whatever_was_solved_before() -> None:
    generator = torch.Generator().manual_seed(0)
    theta = torch.randint(1, 4, (40, 45), generator=generator).double()
    problem = TravellingSalesman(10)
    first = problem.solve(theta)
    problem.solve(torch.rand(40, 45, generator=generator))
    assert torch.equal(problem.solve(theta.flip(0)).flip(0), first)
    assert torch.equal(torch.stack([TravellingSalesman(10).solve(row) for row in theta[:5]]), first[:5])


def test_tours_are_walks_from_the_first_city() -> None:
    problem = TravellingSalesman(9)
    theta = torch.rand(2, 3, problem.n, generator=torch.Generator().manual_seed(0))
    tours = problem.tour(problem.solve(theta))
    assert tours.shape == (2, 3, 9)
    assert (tours.sort(-1).values == torch.arange(9)).all()
    assert (tours[..., 0] == 0).all()
    assert (tours[..., 1] < tours[..., -1]).all()


def test_two_triangles_are_no_tour() -> None:
    problem = TravellingSalesman(6)
    triangles = {(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)}
    x = torch.tensor([float(edge in triangles) for edge in problem.edges])
    report = problem.check(x)
    assert not report
    assert [violation.kind for violation in report.violations] == ["subtours"]
    assert problem.check(x, relaxed=True)
    with mistake("x", "subtours"):
        problem.tour(x)


def test_a_layer_relaxes_the_degrees() -> None:
    problem = TravellingSalesman(6)
    theta = torch.rand(2, 15, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)
    x = QuadraticRelaxation(gamma=1.0)(theta, problem)
    assert problem.check(x, relaxed=True)
    (x**2).sum().backward()
    assert theta.grad is not None
    assert theta.grad.abs().sum() > 0


def test_bad_input() -> None:
    with mistake("cities", "got 2"):
        TravellingSalesman(2)
    with mistake("distances", "(*batch, 4, 4)", "(3, 3)"):
        TravellingSalesman(4).edge_costs(torch.zeros(3, 3))
    with mistake("distances", "symmetric"):
        TravellingSalesman(3).edge_costs([[0, 1, 2], [1, 0, 3], [5, 3, 0]])

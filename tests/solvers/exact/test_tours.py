"""Shortest tours: exact, and the same whatever a model has seen before."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from foresolve.errors import SolverError
from foresolve.solvers.exact import model_pool, tours
from foresolve.solvers.exact.tours import COST_SCALE, TourModel, TourPool
from mistakes import mistake


def edge_count(cities: int) -> int:
    return cities * (cities - 1) // 2


def tie_costs(seed: int, count: int, cities: int) -> np.ndarray:
    """Costs of 1 and 2, under which many tours are equally short."""
    return np.random.default_rng(seed).integers(1, 3, (count, edge_count(cities))).astype(float)


def held_karp(costs: np.ndarray, cities: int) -> float:
    """The shortest length by dynamic programming over sets of cities."""
    distance = np.zeros((cities, cities))
    distance[np.triu_indices(cities, 1)] = costs
    distance += distance.T
    best = {(1 << city, city): distance[0, city] for city in range(1, cities)}
    for size in range(2, cities):
        for members in itertools.combinations(range(1, cities), size):
            mask = sum(1 << city for city in members)
            for last in members:
                before = mask ^ 1 << last
                best[mask, last] = min(best[before, city] + distance[city, last] for city in members if city != last)
    everyone = (1 << cities) - 2
    return min(best[everyone, city] + distance[city, 0] for city in range(1, cities))


def all_lengths(costs: np.ndarray, cities: int) -> list[float]:
    """The lengths of all tours, shortest first."""
    number = {pair: i for i, pair in enumerate(itertools.combinations(range(cities), 2))}
    lengths = []
    for order in itertools.permutations(range(1, cities)):
        if order[0] < order[-1]:
            steps = itertools.pairwise((0, *order, 0))
            lengths.append(math.fsum(costs[number[min(step), max(step)]] for step in steps))
    return sorted(lengths)


@pytest.mark.parametrize("cities", [3, 4, 6, 9])
def test_one_model_solves_one_cost_vector_after_the_other(cities: int) -> None:
    model, ends = TourModel(cities), np.stack(np.triu_indices(cities, 1), 1)
    rng = np.random.default_rng(cities)
    for costs in (*rng.random((6, len(ends))), *rng.standard_normal((6, len(ends))), *tie_costs(0, 6, cities)):
        tour = model.solve(costs)
        assert set(tour.tolist()) <= {0.0, 1.0}
        assert not np.signbit(tour).any()
        assert (np.bincount(ends[tour > 0.5].ravel(), minlength=cities) == 2).all()
        assert tour @ costs == pytest.approx(held_karp(costs, cities), abs=1e-6)


def test_costs_in_any_unit() -> None:
    costs = np.random.default_rng(0).random(edge_count(8))
    expected = TourModel(8).solve(costs)
    for unit in (1e-12, 1e9):
        assert np.array_equal(TourModel(8).solve(unit * costs), expected)
    assert TourModel(8).solve(0 * costs).sum() == 8


class TestHistory:
    def test_ties_are_broken_as_by_a_fresh_model(self) -> None:
        model = TourModel(12)
        for costs in tie_costs(12, 200, 12):
            assert np.array_equal(model.solve(costs), TourModel(12).solve(costs))

    def test_also_where_costs_alone_cannot_tell(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tours, "TIE", 0.0)
        model = TourModel(9)
        for costs in tie_costs(1, 20, 9):
            assert np.array_equal(model.solve(costs), TourModel(9).solve(costs))

    def test_threads_and_order_do_not_matter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tours, "TIE", 0.0)
        costs = tie_costs(2, 24, 9)
        monkeypatch.setattr(model_pool.os, "cpu_count", lambda: 1)
        expected = TourPool(9).solve(costs, (24,))
        monkeypatch.setattr(model_pool.os, "cpu_count", lambda: 5)
        pool = TourPool(9)
        assert np.array_equal(pool.solve(costs[::-1], (24,))[::-1], expected)
        assert np.array_equal(pool.solve(costs, (24,)), expected)

    def test_rows_found_once_are_kept(self) -> None:
        model = TourModel(10)
        points = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0.5, 0.5]])  # two towns far apart: subtours are tempting
        points = np.concatenate([points, points + 100])
        a, b = np.triu_indices(10, 1)
        costs = np.linalg.norm(points[a] - points[b], axis=1)
        model.solve(costs)
        known = model.cuts
        assert known > 0
        model.solve(costs)
        assert model.cuts == known

    def test_too_many_rows_are_dropped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tours, "CUTS_A_CITY", 0)
        model = TourModel(10)
        for costs in np.random.default_rng(4).random((5, edge_count(10))):
            assert np.array_equal(model.solve(costs), TourModel(10).solve(costs))
            assert model.highs.row_count == 10 + model.cuts


@pytest.mark.parametrize("seed", range(20))
def test_no_other_tour_is_within_the_margin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = COST_SCALE * rng.random(edge_count(7)) if seed % 2 else np.floor(3 * rng.random(edge_count(7)))
    tour, margin = TourModel(7)._search(costs)
    shortest, second, *_ = all_lengths(costs, 7)
    assert tour @ costs == pytest.approx(shortest, abs=1e-6)
    assert shortest + margin <= second + 1e-6


def test_a_search_that_ends_too_early_names_its_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tours, "MOST_NODES", 0)
    with mistake("", "0 parts", kind=SolverError, instances=[0, 1]):
        TourPool(5).solve(np.ones((2, 10)), (2,))

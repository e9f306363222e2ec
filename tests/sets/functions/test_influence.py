from __future__ import annotations

import itertools
import pickle

import networkx
import numpy as np
import pytest
import torch
from torch import Tensor

from foresolve.sets import InfluenceSpread
from foresolve.sets.functions import cascades
from mistakes import mistake
from sets.conformance import SetFunctionConformance

EDGES = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (1, 4), (4, 1), (0, 1)]
WEIGHTS = [1.0, 2.0, 0.0, 0.5, 3.0]
ENDS = torch.tensor([0.3, 0.6, 0.2, 0.9, 0.5, 0.0, 1.0, 0.1], dtype=torch.float64)  # among them 0 and 1
X = torch.tensor([0.2, 0.5, 0.1, 0.7, 0.0], dtype=torch.float64)


class TestInfluenceSpread(SetFunctionConformance):
    n = 5
    exact_theta = False

    def make(self) -> InfluenceSpread:
        return InfluenceSpread(EDGES, samples=7, seed=3, weights=WEIGHTS)

    def draw(self, batch: tuple[int, ...], n: int, seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        return 0.05 + 0.9 * torch.rand(*batch, len(EDGES), generator=generator, dtype=torch.float64)


class TestFewTargets(TestInfluenceSpread):
    def make(self) -> InfluenceSpread:
        return InfluenceSpread(EDGES, samples=7, seed=3, targets=2)


def spread(x: Tensor, theta: Tensor) -> Tensor:
    """The truth: over all live-edge graphs and all sets."""
    total = torch.zeros((), dtype=torch.float64)
    weights = torch.tensor(WEIGHTS, dtype=torch.float64)
    sets = torch.tensor(list(itertools.product([0.0, 1.0], repeat=5)), dtype=torch.float64)
    chance = torch.ones(len(sets), dtype=torch.float64)
    for i in range(5):
        chance = chance * torch.where(sets[:, i] == 1, x[i], 1 - x[i])
    for live in itertools.product([False, True], repeat=len(EDGES)):
        reached = sets.clone()
        for _ in range(5):
            for (u, v), present in zip(EDGES, live):
                if present:
                    reached[:, v] = torch.maximum(reached[:, v], reached[:, u])
        present = torch.tensor(live)
        likely = torch.ones((), dtype=torch.float64)
        for e in range(len(EDGES)):
            likely = likely * (theta[e] if present[e] else 1 - theta[e])
        total = total + likely * (chance * (reached @ weights)).sum()
    return total


@pytest.mark.parametrize("targets", [None, 2])
def test_estimates_are_unbiased_with_honest_errors(targets: int | None) -> None:
    """Over 100 seeds, z = (estimate - truth) / standard error has mean 0 and variance 1.

    For a sound estimator the mean of 100 such numbers lies within 0.5 of 0 up to a probability of 6e-7, and the
    variance within [0.5, 1.7] up to 1e-4 (chi-squared); 8 edges and F are tested. The seeds are fixed.
    """
    x, theta = X.clone().requires_grad_(), ENDS.clone().requires_grad_()
    value = spread(x, theta)
    (gradient,) = torch.autograd.grad(value, x, create_graph=True)
    (slope,) = torch.autograd.grad(value, theta, retain_graph=True)
    v = torch.tensor([1.0, -0.5, 2.0, 0.3, -1.0], dtype=torch.float64)
    (cross,) = torch.autograd.grad((gradient * v).sum(), theta)
    of_value, of_slope, crosses, gradients = [], [], [], []
    for seed in range(100):
        local = InfluenceSpread(EDGES, samples=400, seed=seed, weights=WEIGHTS, targets=targets).local(
            X[None], ENDS[None]
        )
        of_value.append((local.value[0] - value.detach()) / local.error[0])
        of_slope.append((local.slope()[0] - slope) / local.slope_error()[0])
        crosses.append(local.cross(v[None])[0])
        gradients.append(local.gradient[0])
        assert bool((local.slope() >= 0).all())
    for z in (torch.stack(of_value)[:, None], torch.stack(of_slope)):
        assert bool((z.mean(0).abs() < 0.5).all()), z.mean(0)
        assert bool(((z.var(0) > 0.5) & (z.var(0) < 1.7)).all()), z.var(0)
    for estimates, truth in ((torch.stack(crosses), cross), (torch.stack(gradients), gradient.detach())):
        z = (estimates.mean(0) - truth) / (estimates.std(0) / 10)
        assert bool((z.abs() < 5).all()), z


def test_the_ends_of_theta_are_exact_where_nothing_is_random() -> None:
    function = InfluenceSpread([(0, 1), (1, 2)], samples=2)
    x = torch.tensor([0.5, 0.0, 0.0], dtype=torch.float64)
    theta = torch.tensor([1.0, 0.0], dtype=torch.float64, requires_grad=True)
    function.multilinear(x, theta).backward()
    assert theta.grad is not None
    assert theta.grad.tolist() == [0.5, 0.5]
    assert function.standard_error(x, theta).item() == 0
    assert function.slope_error(x, theta).tolist() == [0, 0]


def test_same_seed_same_numbers_and_monotone_in_theta() -> None:
    function = InfluenceSpread(EDGES, samples=20)
    low, high = torch.full((8,), 0.3, dtype=torch.float64), torch.full((8,), 0.5, dtype=torch.float64)
    assert bool(function.multilinear(X, low) <= function.multilinear(X, high))
    again = InfluenceSpread(EDGES, samples=20)
    assert torch.equal(again.multilinear(X, low), function.multilinear(X, low))
    reseeded = function.with_seed(5)
    assert not torch.equal(reseeded.multilinear(X, low), function.multilinear(X, low))
    assert torch.equal(reseeded.multilinear(X, low), InfluenceSpread(EDGES, samples=20, seed=5).multilinear(X, low))
    assert not function.sampled


def test_rows_are_kept_while_theta_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    function = InfluenceSpread(EDGES, samples=5)
    theta = torch.full((3, 8), 0.3, dtype=torch.float64)
    theta[1] = 0.4
    first = function.multilinear(X, theta)
    assert len(function._known) == 2  # equal instances share
    monkeypatch.setattr(InfluenceSpread, "_sample", None)
    assert torch.equal(function.multilinear(X, theta.clone()), first)
    assert len(pickle.loads(pickle.dumps(function))._known) == 0
    monkeypatch.undo()
    monkeypatch.setattr("foresolve.sets.functions.influence.KEPT", 0)
    function.multilinear(X, theta + 0.1)
    assert len(function._known) == 2


def test_large_searches_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = np.random.default_rng(0).integers(0, 40, (120, 2))
    x, theta = torch.full((1, 40), 0.1, dtype=torch.float64), torch.full((1, 120), 0.3, dtype=torch.float64)
    theta[:, ::3] = 0.7
    expected = InfluenceSpread(edges, 40, samples=16).local(x, theta)
    monkeypatch.setattr(cascades, "MARKS", 300)
    local = InfluenceSpread(edges, 40, samples=16).local(x, theta)
    assert torch.equal(local.gradient, expected.gradient)
    torch.testing.assert_close(local.slope(), expected.slope())


@pytest.mark.parametrize(("work", "graphs"), [(40_000, 16), (1, 2)])
def test_thinned_derivatives_stay_unbiased(monkeypatch: pytest.MonkeyPatch, work: int, graphs: int) -> None:
    """100 fixed seeds against a large sample; 4.5 standard errors are exceeded with a probability below 1e-5."""
    edges = np.random.default_rng(0).integers(0, 20, (40, 2))
    x, theta = torch.full((1, 20), 0.1, dtype=torch.float64), torch.full((1, 40), 0.3, dtype=torch.float64)
    theta[:, ::3] = 0.7
    full = InfluenceSpread(edges, 20, samples=4000).local(x, theta).slope()[0]
    monkeypatch.setattr(cascades, "WORK", work)
    slopes = []
    for seed in range(100):
        local = InfluenceSpread(edges, 20, samples=16, seed=seed + 1).local(x, theta)
        assert len(local.rows[0].switched.row.unique()) < 320
        assert local.rows[0].switched.graphs == graphs
        slopes.append(local.slope()[0].sum())
    total = torch.stack(slopes)
    assert abs(total.mean() - full.sum()) < 4.5 * total.std() / 10


def test_thousands_of_nodes() -> None:
    edges = np.random.default_rng(0).integers(0, 3000, (20_000, 2))
    function = InfluenceSpread(edges, 3000, samples=64)
    theta = torch.full((20_000,), 0.08, requires_grad=True)
    x = torch.full((3000,), 0.01)
    value = function.multilinear(x, theta)
    value.backward()
    assert theta.grad is not None
    assert 30 < value.item() < 100
    assert float(theta.grad.min()) >= 0
    assert float(theta.grad.max()) > 0


def test_networkx() -> None:
    graph = networkx.path_graph(["a", "b", "c"])
    function = InfluenceSpread.from_networkx(graph, samples=3)
    assert function.edges.tolist() == [[0, 1], [1, 0], [1, 2], [2, 1]]
    assert function.nodes == ["a", "b", "c"]
    assert function.value(torch.tensor([1.0, 0, 0]), torch.tensor([1.0, 0, 1.0, 0])).item() == 3
    assert function.value(torch.tensor([0, 0, 1.0]), torch.tensor([1.0, 0, 1.0, 0])).item() == 1
    assert InfluenceSpread.from_networkx(networkx.DiGraph([(2, 5), (5, 7)])).edges.tolist() == [[0, 1], [1, 2]]
    with mistake("edges", "from_networkx(graph)"):
        InfluenceSpread(graph)


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        ({"edges": [(0, 1), (1, -2)]}, ("edges", "[1, -2] at edge 1")),
        ({"edges": [0, 1]}, ("edges", "(edges, 2)", "(2,)")),
        ({"edges": [(0, 3)], "n_nodes": 3}, ("n_nodes", "(3)", "got 3")),
        ({"edges": [(0, 1)], "samples": 1}, ("samples", "at least 2", "got 1")),
        ({"edges": [(0, 1)], "weights": [1.0]}, ("weights", "(*batch, 2)", "2 nodes")),
        ({"edges": [(0, 1)], "weights": [1.0, -1.0]}, ("weights", ">= 0", "-1 at [1]")),
        (
            {"edges": [(0, 1)], "weights": [[1.0, 1.0]] * 3},
            ("weights", "(2,)", "(3, 2)"),
        ),
    ],
)
def test_bad_input(arguments: dict[str, object], about: tuple[str, ...]) -> None:
    with mistake(*about):
        InfluenceSpread(**arguments)  # type: ignore[arg-type]


def test_bad_theta() -> None:
    function = InfluenceSpread([(0, 1)])
    with mistake("theta", "[0, 1]", "1.5"):
        function.value(torch.ones(2), torch.tensor([1.5]))
    with mistake("theta", "(*batch, 1)", "(3,)"):
        function.value(torch.ones(2), torch.ones(3))
    with mistake("x", "(*batch, 2)", "3 items"):
        function.multilinear(torch.ones(3), torch.ones(1))

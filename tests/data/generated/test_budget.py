from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from foresolve.data import DecisionDataset, budget_data
from foresolve.data.generated.budget import channel_features
from mistakes import mistake

RATINGS = Path(os.environ.get("FORESOLVE_DATA", "")) / "movietweetings-100k" / "ratings.dat"


def reached(theta: Tensor, chosen: Tensor) -> float:
    """Mean number of customers that the channels `chosen` `(N, k)` reach."""
    rows = theta.gather(1, chosen[..., None].expand(-1, -1, theta.shape[-1]))
    return (1.0 - (1.0 - rows).prod(1)).sum(-1).mean().item()


def greedy(theta: Tensor, k: int) -> Tensor:
    left = torch.ones(len(theta), 1, theta.shape[-1])
    chosen = torch.empty(len(theta), 0, dtype=torch.long)
    for _ in range(k):
        gains = (theta * left).sum(-1).scatter(1, chosen, -1.0)
        best = gains.argmax(1, keepdim=True)
        chosen = torch.cat([chosen, best], 1)
        left = left * (1.0 - theta.gather(1, best[..., None].expand_as(left)))
    return chosen


def same(a: DecisionDataset, b: DecisionDataset) -> bool:
    return torch.equal(a.features, b.features) and torch.equal(a.theta, b.theta)


def test_figures_of_the_paper() -> None:
    """Random choice and greedy on the truth; the tolerance is four standard errors of 150 instances."""
    theta = budget_data(150, features=1, seed=0).theta
    order = torch.rand(150, 100, generator=torch.Generator().manual_seed(1)).argsort(1)
    for k, random, best in ((5, 9.69, 50.2), (10, 18.92, 74.1), (20, 36.13, 100.2)):
        draws = [reached(theta, order.roll(shift, 1)[:, :k]) for shift in range(0, 100, k)]
        assert np.mean(draws) == pytest.approx(random, rel=0.06)
        assert reached(theta, greedy(theta, k)) == pytest.approx(best, rel=0.06)


def test_degrees_are_heavy_tailed() -> None:
    edges = budget_data(50, features=1, seed=0).theta > 0
    for degrees in (edges.sum(2).flatten().double(), edges.sum(1).flatten().double()):
        assert degrees.quantile(0.99) > 8 * degrees.median()


def test_theta_is_uniform_on_the_edges() -> None:
    theta = budget_data(20, features=1, seed=0).theta
    on = theta[theta > 0]
    assert theta.min() == 0
    assert on.max() <= 0.2
    torch.testing.assert_close(torch.histc(on, 4, 0.0, 0.2) / len(on), torch.full((4,), 0.25), atol=0.01, rtol=0.0)


def test_features_are_a_function_of_the_row() -> None:
    data = budget_data(40, channels=30, customers=60, features=7, seed=0)
    assert data.features.shape == (40, 30, 7)
    assert data.features.dtype == data.theta.dtype == torch.float32
    assert data.features.square().mean().item() == pytest.approx(1.0, rel=1e-4)
    empty = data.theta.sum(-1) == 0
    assert empty.any()
    assert not data.features[empty].any()
    assert data.features[~empty].any(-1).all()


def test_the_seed_decides_and_global_state_is_left_alone() -> None:
    before = torch.get_rng_state()
    first, second, third = (budget_data(2, seed=seed) for seed in (3, 3, 4))
    assert same(first, second)
    assert not same(first, third)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize(
    "text",
    [
        "1 10\n1 11\n2 11\n3 12\n",
        "user,item,rating\n1,10,5\n1,11,4\n2,11,3\n3,12,1\n3,12,2\n",
        "# comment\n% other\n\n1\t10\tx\n1\t11\n2\t11\n3\t12\n",
        "1::10::7::99\n1::11::7::99\n2::11::8\n3::12::9\n",
        "ann,x\nann,y\nbob,y\neve,z\n",
    ],
)
def test_edge_lists(tmp_path: Path, text: str) -> None:
    file = tmp_path / "edges.txt"
    file.write_text(text)
    data = budget_data(5, edges=file, channels=3, customers=3, k=1, features=2, seed=0)
    assert data.features.shape == (5, 3, 2)
    pairs = [("a", "x"), ("a", "y"), ("b", "y"), ("c", "z")]
    assert same(data, budget_data(5, edges=pairs, channels=3, customers=3, k=1, features=2, seed=0))
    assert ((data.theta > 0).sum((1, 2)) == 4).all()
    assert (data.theta <= 0.2).all()


def test_edges_in_an_array() -> None:
    edges = np.array([[0, 5], [1, 5], [1, 6]])
    options = {"channels": 2, "customers": 2, "k": 1, "features": 2}
    first = budget_data(3, edges=edges, **options, seed=0)
    assert same(first, budget_data(3, edges=torch.from_numpy(edges), **options, seed=0))


def test_customers_are_among_those_reached() -> None:
    edges = [(u, v) for u in range(4) for v in range(3 * u, 3 * u + 3)]
    theta = budget_data(20, edges=edges, channels=2, customers=6, k=1, features=1, seed=0).theta
    assert (theta > 0).any(1).all()
    theta = budget_data(20, edges=edges, channels=2, customers=8, k=1, features=1, seed=0).theta
    assert ((theta > 0).any(1).sum(-1) == 6).all()


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("", ("edges", "none in", "edges.txt")),
        ("1,2\n3\n", ("edges", "2 columns", "line 2 of", "'3'")),
        ("1,2\n\n3, ,4\n", ("edges", "line 3 of")),
        ("1 2\n3 4\n5 x\n", ("edges", "line 3 of", "'5 x'")),
        ("a::b\n1::2\nc::d\n", ("edges", "line 3")),
    ],
)
def test_malformed_files(tmp_path: Path, text: str, about: tuple[str, ...]) -> None:
    file = tmp_path / "edges.txt"
    file.write_text(text)
    with mistake(*about):
        budget_data(1, edges=file, channels=1, customers=1, k=1, seed=0)


@pytest.mark.parametrize(
    ("edges", "options", "about"),
    [
        ("no-such-file", {}, ("edges", "'no-such-file'")),
        ([], {}, ("edges", "got none")),
        ([(1, 2), (3,)], {}, ("edges", "(3,) at 1")),
        ([(1, 2)], {"channels": 2}, ("channels", "at most 1", "got 2")),
        ([(1, 2)], {"customers": 7}, ("customers", "at most 1", "got 7")),
        ([(1, 2)], {"features": 0}, ("features", ">= 1", "got 0")),
        ([(1, 2)], {"count": -1}, ("count", ">= 1")),
        ([(1, 2)], {"seed": -1}, ("seed", ">= 0", "-1")),
    ],
)
def test_bad_input(edges: object, options: dict[str, object], about: tuple[str, ...]) -> None:
    settings = {"count": 1, "channels": 1, "customers": 1, "k": 1} | options
    with mistake(*about):
        budget_data(edges=edges, **settings)  # type: ignore[arg-type]


@pytest.mark.skipif(not RATINGS.is_file(), reason="FORESOLVE_DATA does not point at the data sets")
def test_movietweetings() -> None:
    data = budget_data(5, edges=RATINGS, seed=0)
    edges = data.theta > 0
    assert edges.any(2).sum() > 0.8 * 5 * 100
    assert (edges.any(1).sum(1) > 200).all()
    assert same(data, budget_data(5, edges=str(RATINGS), seed=0))


def test_the_features_of_the_published_code() -> None:
    """Three layers with the default weights and biases of torch, a ReLU behind each, no scale."""
    text = budget_data(5, channels=40, customers=80, features=30, seed=1)
    code = budget_data(5, channels=40, customers=80, features=30, recipe="code", seed=1)
    assert code.features.shape == text.features.shape
    assert bool((code.features >= 0).all())
    torch.manual_seed(0)
    sizes = ((80, 80), (80, 80), (80, 30))
    layers = [part for n, m in sizes for part in (torch.nn.Linear(n, m), torch.nn.ReLU())]
    with torch.no_grad():
        expected = torch.nn.Sequential(*layers)(code.theta)
    assert code.features.mean() == pytest.approx(expected.mean().item(), rel=0.5)
    assert (code.features == 0).float().mean() == pytest.approx((expected == 0).float().mean().item(), abs=0.2)
    assert torch.equal(channel_features(code.theta, features=30, recipe="code", seed=1), code.features)
    with mistake("recipe", "'paper'"):
        budget_data(1, recipe="paper")  # type: ignore[arg-type]

from __future__ import annotations

import pytest
import torch
from torch import nn

from foresolve.errors import ForesolveError
from foresolve.learning.registry import build
from foresolve.models import MLP
from mistakes import mistake


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize(
    ("outputs", "features", "shape"),
    [(4, (7, 3), (7, 4)), (4, (7, 6, 3), (7, 6, 4)), (None, (7, 6, 3), (7, 6)), ((2, 5), (7, 3), (7, 2, 5))],
)
@pytest.mark.parametrize("hidden", [(), (200,)])
def test_shapes(outputs: object, features: tuple[int, ...], shape: tuple[int, ...], hidden: tuple[int, ...]) -> None:
    model = MLP(3, outputs, hidden)  # type: ignore[arg-type]
    assert model(torch.randn(features, generator=generator())).shape == shape


def test_flattens_for_a_tuple() -> None:
    assert MLP(18, (2, 5))(torch.zeros(7, 6, 3)).shape == (7, 2, 5)


def test_heads() -> None:
    features = 100 * torch.randn(50, 3, generator=generator())
    free, probability, positive = (
        MLP(3, 4, head=head, seed=generator())(features)  # type: ignore[arg-type]
        for head in ("free", "probability", "non_negative")
    )
    torch.testing.assert_close(probability, free.sigmoid())
    torch.testing.assert_close(positive, nn.functional.softplus(free))


def test_initial_weights_come_from_the_generator_alone() -> None:
    before = torch.get_rng_state()
    first, second = MLP(3, 4, (8,), seed=generator()), MLP(3, 4, (8,), seed=0)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters()))
    assert first.layers[0].weight.abs().max().item() <= 3**-0.5  # type: ignore[union-attr]


def test_without_a_seed_weights_come_from_the_global_generator() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = MLP(3, 4)
        torch.manual_seed(0)
        layer = nn.Linear(3, 4)
    assert torch.equal(model.layers[0].weight, layer.weight)  # type: ignore[arg-type]
    assert not torch.equal(MLP(3, 4, seed=1).layers[0].weight, MLP(3, 4, seed=2).layers[0].weight)  # type: ignore[arg-type]


def test_bad_input() -> None:
    with mistake("head", "'sigmoid'"):
        MLP(3, 4, head="sigmoid")  # type: ignore[arg-type]
    with mistake("hidden", "got 0"):
        MLP(3, 4, (0,))
    with mistake("seed", "torch.Generator", "got -1"):
        MLP(3, 4, seed=-1)
    with mistake("features", "(*batch, 3)", "(2, 4)"):
        MLP(3, 4)(torch.zeros(2, 4))
    with mistake("", "'Sequential'", kind=ForesolveError):
        build("Sequential", {})
    with mistake("", "MLP", "'surprise'", kind=ForesolveError):
        build("MLP", {"inputs": 3, "surprise": 1})

from __future__ import annotations

import pytest
import torch

from foresolve.models import BilinearPairs, PairModel
from foresolve.models.pairs import drop
from mistakes import mistake


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize("hidden", [None, 16])
def test_pairs_are_those_of_the_concatenated_features(hidden: int | None) -> None:
    a, b = torch.randn(2, 3, 5, generator=generator()), torch.randn(2, 4, 6, generator=generator())
    model = PairModel(5, 6, hidden, seed=generator())
    joint = torch.cat([a.unsqueeze(2).expand(-1, -1, 4, -1), b.unsqueeze(1).expand(-1, 3, -1, -1)], -1)
    first = joint @ torch.cat([model.left, model.right], 1).mT + model.bias
    expected = first if model.last is None else model.last(first.relu())
    torch.testing.assert_close(model((a, b)), expected.sigmoid().reshape(2, 12))
    assert torch.equal(model({"left": a, "right": b}), model((a, b)))


def test_bilinear_pairs() -> None:
    a, b = torch.randn(2, 3, 5, generator=generator()), torch.randn(2, 4, 5, generator=generator())
    model = BilinearPairs(5, 5, rank=2, siamese=True, head="free", seed=generator())
    assert model.u is model.v
    theta = model((a, b)).reshape(2, 3, 4)
    torch.testing.assert_close(theta[1, 2, 3], (model.u(a[1, 2]) @ model.u(b[1, 3])) / 2**0.5 + model.bias)
    assert BilinearPairs(5, 6, hidden=7)((a, torch.zeros(2, 4, 6))).shape == (2, 12)


def test_bilinear_dropout_is_for_training_only() -> None:
    a, b = torch.randn(2, 3, 5, generator=generator()), torch.randn(2, 4, 5, generator=generator())
    model = BilinearPairs(5, 5, rank=2, dropout=0.5, seed=generator())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        dropped = model.train()((a, b))
        torch.manual_seed(1)
        assert torch.equal(model((a, b)), dropped)
        assert not torch.equal(model((a, b)), dropped)
    before = torch.get_rng_state()
    plain = model.eval()((a, b))
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.allclose(dropped, plain)
    without = BilinearPairs(5, 5, rank=2, seed=generator())
    assert torch.equal(without.train()((a, b)), plain)


def test_dropout_takes_the_same_features_from_all_nodes_of_an_instance() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        a, b = drop((torch.ones(5, 3, 40), torch.ones(5, 4, 40)), 0.25)
        c, d = drop((torch.ones(5, 3, 40), torch.ones(5, 4, 30)), 0.25)
    for side in (a, b, c, d):
        assert torch.equal(side, side[:, :1].expand_as(side))
    assert torch.equal(a[:, 0], b[:, 0])  # as many features: the same ones
    assert not torch.equal(c[:, 0, :30], d[:, 0])
    assert not torch.equal(a[0], a[1])
    torch.testing.assert_close(a[a > 0], torch.full_like(a[a > 0], 1 / 0.75))
    assert 0.65 < float((a[:, 0] > 0).float().mean()) < 0.85


def test_a_seed_gives_both_sides_weights_of_their_own() -> None:
    model, again = (BilinearPairs(5, 5, rank=2, seed=0) for _ in range(2))
    u, v = (side.layers[0].weight for side in (model.u, model.v))
    assert not torch.equal(u, v)  # type: ignore[arg-type]
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters()))
    drawn = PairModel(5, 6, 4, seed=generator())
    assert all(torch.equal(a, b) for a, b in zip(drawn.parameters(), PairModel(5, 6, 4, seed=0).parameters()))


def test_bad_input() -> None:
    with mistake("features", "tuple"):
        PairModel(3, 4)(torch.zeros(3, 2, 3))
    with mistake("right", "left"):
        BilinearPairs(3, 4, siamese=True)
    for share in (1.0, -0.1, float("nan")):
        with mistake("dropout"):
            BilinearPairs(3, 4, dropout=share)

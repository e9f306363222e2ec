from __future__ import annotations

import pytest
import torch
from torch import Tensor

from foresolve.data.generated.citations import generate_citations
from foresolve.data.real.cora import CitationInstances, TfIdfSimilarity
from foresolve.errors import InvalidInputError


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def all_words(data: CitationInstances) -> Tensor:
    return torch.cat([data.left, data.right], 1)


def score(data: CitationInstances, theta_hat: Tensor) -> float:
    problem = data.dataset().problem
    return float(problem.objective(problem.solve(theta_hat), data.theta).mean())


@pytest.fixture(scope="module")
def like_cora() -> CitationInstances:
    return generate_citations(60, generator=seeded())


def test_shapes(like_cora: CitationInstances) -> None:
    assert like_cora.left.shape == like_cora.right.shape == (60, 50, 1433)
    assert like_cora.theta.shape == (60, 2500)
    assert len(like_cora.nodes.unique()) == 60 * 100
    assert set(like_cora.theta.unique().tolist()) == set(like_cora.left.unique().tolist()) == {0.0, 1.0}


def test_figures_of_cora(like_cora: CitationInstances) -> None:
    """As measured on the parts of Cora, within what seeds change."""
    assert float(like_cora.theta.sum(1).mean()) == pytest.approx(132, abs=4)
    assert float(like_cora.dataset().values.mean()) == pytest.approx(40.8, abs=1)
    assert float(all_words(like_cora).sum(2).mean()) == pytest.approx(18.2, abs=1.5)
    guess = TfIdfSimilarity(all_words(like_cora))(like_cora.dataset().features)
    assert score(like_cora, guess) == pytest.approx(18.1, abs=1.5)


def test_degrees_are_heavy_tailed(like_cora: CitationInstances) -> None:
    cites = like_cora.theta.reshape(60, 50, 50)
    degrees = torch.cat([cites.sum(1), cites.sum(2)]).flatten()
    assert degrees.min() >= 1
    assert 0.25 < float((degrees == 1).float().mean()) < 0.35
    assert 0.015 < float((degrees >= 8).float().mean()) < 0.045


def test_halves_are_alike(like_cora: CitationInstances) -> None:
    cites = like_cora.theta.reshape(60, 50, 50)
    for one, other in ((like_cora.left, like_cora.right), (cites.sum(2), cites.sum(1))):
        assert float(one.sum()) == pytest.approx(float(other.sum()), rel=0.03)
    spread = [float(cites.sum(dim).std()) for dim in (1, 2)]
    assert spread[0] == pytest.approx(spread[1], rel=0.15)


@pytest.mark.parametrize(("side", "words"), [(20, 150), (20, 300), (30, 400)])
def test_words_guide_in_small_instances_too(side: int, words: int) -> None:
    data = generate_citations(60, side=side, words=words, generator=seeded())
    random = float(data.theta.sum(1).mean()) / side
    guided = score(data, TfIdfSimilarity(all_words(data))(data.dataset().features))
    assert random == pytest.approx(2.6, abs=0.15)
    assert 2.5 * random < guided < 0.6 * float(data.dataset().values.mean())


def test_weights_of_words_can_be_learned() -> None:
    """Cosine similarity with weights from the citations of other instances is ahead of TF-IDF."""
    data = generate_citations(160, side=20, words=150, generator=seeded())
    train = slice(0, 100)
    both = torch.einsum("niw,njw->nijw", data.left[train], data.right[train]).flatten(1, 2)
    cited = torch.einsum("np,npw->w", data.theta[train], both)
    lift = (cited + 1.0) / (data.theta[train].mean() * both.sum((0, 1)) + 1.0)
    learned = TfIdfSimilarity(all_words(data))
    test = CitationInstances(data.left[100:], data.right[100:], data.theta[100:], data.nodes[100:])
    plain = score(test, learned(test.dataset().features))
    learned.weights = lift.clamp_min(1.0).log() + 0.1
    assert score(test, learned(test.dataset().features)) > plain + 0.5


def test_the_seed_decides() -> None:
    one, again, other = (generate_citations(2, side=10, words=100, generator=seeded(seed)) for seed in (0, 0, 1))
    for name in ("left", "right", "theta"):
        assert torch.equal(getattr(one, name), getattr(again, name))
        assert not torch.equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("side", [1, 2, 3])
def test_tiny_halves(side: int) -> None:
    data = generate_citations(4, side=side, words=20, generator=seeded())
    assert bool((data.theta.sum(1) >= 1).all())


def test_bad_arguments() -> None:
    with pytest.raises(InvalidInputError, match=r"`words` must be at least \d+ for halves of 50 papers; got 100"):
        generate_citations(1, words=100, generator=seeded())
    with pytest.raises(InvalidInputError, match="`count` must be an integer >= 1"):
        generate_citations(0, generator=seeded())
    with pytest.raises(InvalidInputError, match=r"`generator` must be a torch\.Generator on the CPU"):
        generate_citations(1, generator=0)  # pyright: ignore[reportArgumentType]

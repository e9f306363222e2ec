from __future__ import annotations

import pytest
import torch
from torch import Tensor

from foresolve.data import DecisionDataset, citation_data
from foresolve.models import TfIdfSimilarity
from mistakes import mistake


def all_words(data: DecisionDataset) -> Tensor:
    return torch.cat([data.features["left"], data.features["right"]], 1)


def score(data: DecisionDataset, theta_hat: Tensor) -> float:
    return float(data.problem.objective(data.problem.solve(theta_hat), data.theta).mean())


@pytest.fixture(scope="module")
def like_cora() -> DecisionDataset:
    return citation_data(60, seed=0)


def test_shapes(like_cora: DecisionDataset) -> None:
    left, right = like_cora.features["left"], like_cora.features["right"]
    assert left.shape == right.shape == (60, 50, 1433)
    assert like_cora.theta.shape == (60, 2500)
    assert set(like_cora.theta.unique().tolist()) == set(left.unique().tolist()) == {0.0, 1.0}


def test_figures_of_cora(like_cora: DecisionDataset) -> None:
    """As measured on the parts of Cora, within what seeds change."""
    assert float(like_cora.theta.sum(1).mean()) == pytest.approx(132, abs=4)
    assert float(like_cora.values.mean()) == pytest.approx(40.8, abs=1)
    assert float(all_words(like_cora).sum(2).mean()) == pytest.approx(18.2, abs=1.5)
    guess = TfIdfSimilarity(all_words(like_cora))(like_cora.features)
    assert score(like_cora, guess) == pytest.approx(18.1, abs=1.5)


def test_degrees_are_heavy_tailed(like_cora: DecisionDataset) -> None:
    cites = like_cora.theta.reshape(60, 50, 50)
    degrees = torch.cat([cites.sum(1), cites.sum(2)]).flatten()
    assert degrees.min() >= 1
    assert 0.25 < float((degrees == 1).float().mean()) < 0.35
    assert 0.015 < float((degrees >= 8).float().mean()) < 0.045


def test_halves_are_alike(like_cora: DecisionDataset) -> None:
    cites = like_cora.theta.reshape(60, 50, 50)
    for left, right in (like_cora.features.values(), (cites.sum(2), cites.sum(1))):
        assert float(left.sum()) == pytest.approx(float(right.sum()), rel=0.03)
    spread = [float(cites.sum(dim).std()) for dim in (1, 2)]
    assert spread[0] == pytest.approx(spread[1], rel=0.15)


@pytest.mark.parametrize(("side", "words"), [(20, 150), (20, 300), (30, 400)])
def test_words_guide_in_small_instances_too(side: int, words: int) -> None:
    data = citation_data(60, side=side, words=words, seed=0)
    random = float(data.theta.sum(1).mean()) / side
    guided = score(data, TfIdfSimilarity(all_words(data))(data.features))
    assert random == pytest.approx(2.6, abs=0.15)
    assert 2.5 * random < guided < 0.6 * float(data.values.mean())


def test_weights_of_words_can_be_learned() -> None:
    """Cosine similarity with weights from the citations of other instances is ahead of TF-IDF."""
    data = citation_data(160, side=20, words=150, seed=0)
    train, test = data.subset(slice(0, 100)), data.subset(slice(100, 160))
    both = torch.einsum("niw,njw->nijw", train.features["left"], train.features["right"]).flatten(1, 2)
    cited = torch.einsum("np,npw->w", train.theta, both)
    lift = (cited + 1.0) / (train.theta.mean() * both.sum((0, 1)) + 1.0)
    learned = TfIdfSimilarity(all_words(data))
    plain = score(test, learned(test.features))
    learned.weights = lift.clamp_min(1.0).log() + 0.1
    assert score(test, learned(test.features)) > plain + 0.5


def test_the_seed_decides() -> None:
    first, again, different = (citation_data(2, side=10, words=100, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(first.theta, again.theta)
    assert not torch.equal(first.theta, different.theta)
    for side in ("left", "right"):
        assert torch.equal(first.features[side], again.features[side])
        assert not torch.equal(first.features[side], different.features[side])


@pytest.mark.parametrize("side", [1, 2, 3])
def test_tiny_halves(side: int) -> None:
    data = citation_data(4, side=side, words=20, seed=0)
    assert bool((data.theta.sum(1) >= 1).all())


def test_bad_arguments() -> None:
    with mistake("words", "at least 201", "got 100"):
        citation_data(1, words=100, seed=0)
    with mistake("count", ">= 1"):
        citation_data(0, seed=0)
    with mistake("seed", ">= 0", "'zero'"):
        citation_data(1, seed="zero")  # pyright: ignore[reportArgumentType]

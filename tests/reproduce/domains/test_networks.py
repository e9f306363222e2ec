from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from foresolve.models import MLP, PairModel
from foresolve.reproduce.domains.networks import Calibrated, EvenRows, Rectified, Squashed, start_at


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


class Given(nn.Module):
    """What comes out is what goes in."""

    def forward(self, features: Tensor) -> Tensor:
        return features


@pytest.mark.parametrize("mean", [0.0033, 0.5, 0.9])
def test_predictions_start_at_the_mean(mean: float) -> None:
    model = start_at(MLP(4, 5, (8,), "probability", generator()), mean)
    features = 0.01 * torch.randn(50, 4, generator=generator())
    assert model(features).mean().item() == pytest.approx(mean, rel=0.3)
    torch.testing.assert_close(model.layers[-1].bias.sigmoid(), torch.full((5,), mean))  # type: ignore[union-attr]


@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_a_mean_at_an_end_leaves_finite_weights(mean: float) -> None:
    model = start_at(MLP(4, 5, head="probability", seed=generator()), mean)
    assert bool(model.layers[-1].bias.isfinite().all())  # type: ignore[union-attr, operator]


def test_starting_at_a_mean_changes_nothing_but_the_last_bias() -> None:
    plain, started = (MLP(4, 5, (8,), "probability", generator()) for _ in range(2))
    assert start_at(started, 0.1) is started
    before, after = plain.state_dict(), started.state_dict()
    assert [name for name in before if not torch.equal(before[name], after[name])] == ["layers.1.bias"]


def test_even_rows_have_a_mean_square_of_one() -> None:
    seen: list[tuple[Tensor, Tensor]] = []

    class Spy(nn.Module):
        def forward(self, features: tuple[Tensor, Tensor]) -> Tensor:
            seen.append(features)
            return features[0]

    left, right = torch.rand(2, 3, 6, generator=generator()), torch.rand(2, 4, 6, generator=generator())
    left[0, 0] = 0.0
    EvenRows(Spy())({"left": left, "right": right})
    a, b = seen[0]
    squares = a.square().mean(-1)
    assert squares[0, 0] == 0.0
    torch.testing.assert_close(squares.flatten()[1:], torch.ones(5))
    torch.testing.assert_close(b.square().mean(-1), torch.ones(2, 4))
    torch.testing.assert_close(b / b.norm(dim=-1, keepdim=True), right / right.norm(dim=-1, keepdim=True))


def test_even_rows_make_long_texts_count_as_short_ones() -> None:
    left, right = torch.rand(2, 3, 6, generator=generator()), torch.rand(2, 4, 6, generator=generator())
    model = EvenRows(PairModel(6, 6, 5, seed=generator()))
    torch.testing.assert_close(model((3.0 * left, right)), model((left, 0.5 * right)))


def test_calibrated_scores_are_probabilities_in_the_same_order() -> None:
    score = torch.linspace(0.0, 1.0, 7)
    rare, frequent = Calibrated(Given(), 0.05), Calibrated(Given(), 0.5)
    probability = rare(score)
    assert probability[0].item() <= 0.05 + 1e-6  # nodes without anything in common are at most as likely as any
    assert probability[-1].item() > 0.5
    assert bool((probability.diff() > 0).all())
    odds = [torch.logit(model(score)) for model in (rare, frequent)]
    torch.testing.assert_close(odds[0].diff(), odds[0].diff().mean().expand(6), rtol=1e-3, atol=1e-3)  # a straight line
    torch.testing.assert_close(odds[1] - odds[0], torch.full((7,), math.log(0.95 / 0.05)), rtol=1e-3, atol=1e-3)
    probability.sum().backward()
    assert {name for name, p in rare.named_parameters() if p.grad is not None} == {"slope", "offset"}


def test_squashed_probabilities_stay_in_order_between_a_half_and_three_quarters() -> None:
    """The sigmoid of a probability: 0 is one half, 1 is 0.731, and what was larger is larger."""
    probability = torch.linspace(0.0, 1.0, 9)
    squashed = Squashed(Given())(probability)
    assert squashed[0].item() == 0.5
    assert squashed[-1].item() == pytest.approx(0.7310586)
    assert bool((squashed.diff() > 0).all())
    model = MLP(4, 5, head="probability", seed=generator())
    features = torch.randn(6, 4, generator=generator())
    assert torch.equal(Squashed(model)(features).argsort(-1), model(features).argsort(-1))


def test_rectified_stays_between_0_and_1() -> None:
    theta = torch.tensor([-2.0, 0.25, 0.75, 3.0], requires_grad=True)
    rectified = Rectified(Given())(theta)
    assert rectified.tolist() == [0.0, 0.25, 0.75, 1.0]
    rectified.sum().backward()
    assert theta.grad is not None
    assert theta.grad.tolist() == [0.0, 1.0, 1.0, 0.0]

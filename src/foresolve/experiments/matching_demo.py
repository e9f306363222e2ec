r"""Matching trained end to end: decision-focused against two-stage, on generated data.

Each instance has papers on the left and papers on the right. What a pair is worth is how much the left one cites in
general, plus how much the right one is cited in general, plus how close their topics are:

    theta_ij = out(l_i) + in(r_j) + exp(-2 |T l_i - S r_j|^2) + noise

The first two terms make most of the variance, yet every perfect matching collects the same sum of them: only the
closeness of topics tells matchings apart. A network too small for all three terms has to choose, and mean squared
error chooses the first two. The rule and the width of the network were chosen to show the effect: `--hidden 32` fits
all three terms, and closes the gap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from foresolve.experiments.comparison import Config, Domain, Instances, Story
from foresolve.experiments.networks import PairScorer
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.problems.matching import BipartiteMatching

STORY = Story(
    title="Matching",
    data=(
        "Each instance has papers on the left and papers on the right; every pair has a worth, and each paper may be "
        "in one pair. The worth is how much the left paper cites in general, plus how much the right one is cited in "
        "general, plus how close their topics are, plus a little noise. The first two terms make most of the variance "
        "of the worth, but every perfect matching collects the same sum of them: only the closeness of topics tells "
        "matchings apart."
    ),
    training=(
        "The layer behind the network is QuadraticRelaxation. Decisions are exact matchings for the predicted worths. "
        "The decision-focused network is free to add whatever does not change the matching, so its prediction error "
        "says little."
    ),
    notes=(
        "The rule and the network were chosen to show the effect. The network is small on purpose: a larger one "
        "(foresolve demo --only matching --hidden 32) fits all three terms in two stages too, and little or nothing "
        "is left to gain.",
    ),
    random="random matching",
    best="optimum",
)


@dataclass(frozen=True)
class MatchingConfig(Config):
    """The settings of the matching demo: `side` papers on each side, with `features` numbers each."""

    name = "matching"
    two_stage_epochs: int = 8  # with 3 it is still improving
    side: int = 20
    features: int = 6

    def domain(self, generator: torch.Generator) -> Domain:
        rule = Rule(self.features, generator)
        instances = tuple(rule.instances(size, self.side, generator) for size in self.sizes)
        mean = instances[0].theta.mean().item()
        return Domain(
            STORY,
            BipartiteMatching(self.side, self.side),
            instances,
            lambda source: PairScorer(2 * self.features, self.hidden, mean, source),
            QuadraticRelaxation,
        )


class Rule:
    """How features make values; drawn once, the same for all instances."""

    def __init__(self, features: int, generator: torch.Generator) -> None:
        def directions(count: int) -> Tensor:
            return torch.randn(count, features, generator=generator) / math.sqrt(features)

        self.cites, self.cited = directions(3), directions(3)
        self.left_topic, self.right_topic = directions(2), directions(2)

    def instances(self, count: int, side: int, generator: torch.Generator) -> Instances:
        """Fresh papers with normal features: those of all pairs `(count, side, side, 2 * features)`, their worths."""
        features = self.cites.shape[1]
        left, right = (torch.randn(count, side, features, generator=generator) for _ in range(2))
        cites = 0.5 * (1 + torch.sin(1.5 * left @ self.cites.T)).sum(-1)
        cited = 0.5 * (1 + torch.sin(1.5 * right @ self.cited.T)).sum(-1)
        topics = (left @ self.left_topic.T)[:, :, None] - (right @ self.right_topic.T)[:, None]
        noise = 0.1 * torch.rand(count, side, side, generator=generator)
        theta = cites[:, :, None] + cited[:, None] + torch.exp(-2 * topics.square().sum(-1)) + noise
        shape = (count, side, side, features)
        pairs = torch.cat([left[:, :, None].expand(shape), right[:, None].expand(shape)], -1)
        return Instances(pairs, theta.flatten(1))

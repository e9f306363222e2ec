r"""Instances like those that `cora_data` cuts from a citation graph, made up from nothing.

Papers are about ideas, and cite papers about the same idea. An idea shows in some of its own words, each with its own
probability, so that two papers about one idea need not share a word. A few words go with fame: papers that have them
are cited more often, but the words do not tell by whom, which helps to predict citations and hardly to decide on a
matching. All other words say nothing, and some of them are as rare. So the similarity of words is a good guide, and a
model that learns which words count, and which go together, is a better one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.randomness import Seed, as_generator
from foresolve.data.dataset import DecisionDataset
from foresolve.problems.matching import BipartiteMatching

# Chosen by hand until 300 instances looked like those of Cora (seeds 0 to 2), which stand in brackets: 133 citations
# (132); 2.66 of them in a random matching (2.64), 41.1 in the best (40.5), 17.9 in that of TF-IDF (18.1); 18.2 words in
# a paper (18.2), of which a pair shares 2.6 with a citation (3.1) and 1.8 without (1.5); 29 % of the papers with one
# citation (30 %), 2.8 % with eight or more (3.1 %).
OWN_WORDS = (0.6, 0.5, 0.4, 0.4, 0.3, 0.3)  # the chance of each of an idea's words in a paper about it
OWN_SHARE = 0.5  # of the vocabulary belongs to ideas
PAPERS_PER_IDEA = 1.5  # in each half
FURTHER_IDEA = 0.3  # the chance that a paper is about a second one
OTHER_WORDS = 14.5  # in a paper, with the vocabulary of Cora
CORA_WORDS = 1433
FLAT, MOST_FREQUENT, FIELD_SPREAD = 12.0, 0.4, 1.0  # the frequency of other words, by rank; at most; among fields
FAME_SHARE, FAME_COUNT = 0.02, 1.0  # words that go with fame: their share of the vocabulary, how many are in a paper
FAME_BY_WORD, FAME_SPREAD = 1.3, 0.8  # of the logarithm of fame
STRAY = 0.1  # the chance that a citation has nothing to do with ideas
CITED = (0.6, 0.27, 0.13)  # the chances to cite 1, 2 and 3 papers


@dataclass(frozen=True)
class _Field:
    """A field of research: the chances `(K, W)` of words by idea, and those of all other words `(W,)`."""

    ideas: Tensor
    common: Tensor


def citation_data(count: int, *, side: int = 50, words: int = CORA_WORDS, seed: Seed = 0) -> DecisionDataset:
    """Match two halves of papers such that many of the pairs cite each other, as in instances that are cut from Cora.

    Density, degrees and word counts are those of Cora.

    Parameters
    ----------
    count: how many instances. All share the vocabulary, and each belongs to one of a few fields with ideas of their
        own, as the parts of a citation graph do.
    side: papers in each half.
    words: in the vocabulary, at least about four for each paper of a half; with a smaller one, papers have fewer words.
    seed: of all randomness, a number or a generator on the CPU.

    Returns
    -------
    A data set with features `{"left": ..., "right": ...}`, `(count, side, words)` each, 1 where a paper has a word, and
    theta `(count, side * side)`, 1 where there is a citation: pair `(i, j)` is entry `i * side + j`.

    Examples
    --------
    >>> from foresolve.data import citation_data
    >>> data = citation_data(3, side=20, words=150, seed=0)
    >>> data.features["left"].shape, data.theta.shape
    (torch.Size([3, 20, 150]), torch.Size([3, 400]))
    """
    for name, value in (("count", count), ("side", side), ("words", words)):
        checks.positive_int(name, value)
    generator = as_generator("seed", seed, cpu=True)
    fields, famous = _fields(side, words, generator)
    left, right = torch.empty(count, side, words), torch.empty(count, side, words)
    theta = torch.empty(count, side, side)
    for i in range(count):
        field = fields[int(torch.randint(len(fields), (), generator=generator))]
        shares = 1.0 + torch.empty(len(field.ideas)).exponential_(generator=generator)
        left[i], left_ideas = _papers(field, shares, side, generator)
        right[i], right_ideas = _papers(field, shares, side, generator)
        related = (left_ideas @ right_ideas.T > 0).float()
        fame = [_fame(half @ famous, generator) for half in (left[i], right[i])]
        theta[i] = torch.maximum(_cited(related, fame[1], generator), _cited(related.T, fame[0], generator).T)
    return DecisionDataset({"left": left, "right": right}, theta.flatten(1), BipartiteMatching(side, side))


def _fields(side: int, words: int, generator: torch.Generator) -> tuple[list[_Field], Tensor]:
    """Fields that share the vocabulary but no idea, and a 1 `(W,)` for every word that goes with fame."""
    chances = torch.tensor(OWN_WORDS)
    together = max(2, round(side / PAPERS_PER_IDEA))
    count = max(1, round(OWN_SHARE * words / (len(chances) * together)))
    special, known = count * together * len(chances), max(1, round(FAME_SHARE * words))
    rest = words - special - known
    if rest < 1:
        least = special + known + 1
        raise checks.fail("words", f"at least {least} for halves of {side} papers", str(words))
    places = torch.arange(special).reshape(count, together, -1)
    ideas = torch.zeros(count, together, words).scatter_(2, places, chances.expand_as(places))
    order = torch.randperm(words, generator=generator)  # a word's position says nothing
    zipf = 1.0 / (torch.arange(rest) + FLAT)
    fields = []
    for idea in ideas:
        usual = zipf * torch.exp(FIELD_SPREAD * torch.randn(rest, generator=generator))
        usual *= OTHER_WORDS * math.sqrt(words / CORA_WORDS) / usual.sum()
        fame = torch.full((known,), FAME_COUNT / known)
        common = torch.cat([torch.zeros(special), fame, usual]).clamp_max(MOST_FREQUENT)
        fields.append(_Field(idea[:, order], common[order]))
    return fields, ((order >= special) & (order < special + known)).float()


def _papers(field: _Field, shares: Tensor, side: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Which words `(side, W)` papers have, and which ideas `(side, K)` they are about."""
    drawn = torch.multinomial(shares.expand(side, -1), 2, generator=generator)
    about = torch.zeros(side, len(shares)).scatter_(1, drawn[:, :1], 1.0)
    about.scatter_(1, drawn[:, 1:], (torch.rand(side, 1, generator=generator) < FURTHER_IDEA).float())
    chance = about @ field.ideas + field.common
    return (torch.rand(chance.shape, generator=generator) < chance).float(), about


def _fame(counted: Tensor, generator: torch.Generator) -> Tensor:
    """How likely papers `(side,)` are to be cited, from how many of their words go with fame."""
    return torch.exp(FAME_BY_WORD * counted + FAME_SPREAD * torch.randn(len(counted), generator=generator))


def _cited(related: Tensor, fame: Tensor, generator: torch.Generator) -> Tensor:
    """Which papers of the columns each paper of the rows cites: mostly related ones, and famous ones more often."""
    close = related * fame
    chance = STRAY * fame / fame.sum() + (1.0 - STRAY) * close / close.sum(1, keepdim=True).clamp_min(1e-9)
    drawn = torch.multinomial(chance, min(len(fame), len(CITED)), generator=generator)
    many = 1 + torch.multinomial(torch.tensor(CITED), len(related), replacement=True, generator=generator)
    taken = torch.arange(drawn.shape[1]) < many[:, None]
    return torch.zeros_like(chance).scatter_(1, drawn, taken.float())

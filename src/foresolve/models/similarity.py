"""Similarities of pairs of nodes, with learned weights of their features."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from foresolve._base import checks
from foresolve.models.pairs import drop, sides
from foresolve.models.reference import Reference

TINY = 1e-6


class CosinePairs(Reference):
    r"""Weights of all pairs as a cosine similarity with learned weights of the features, the same on both sides.

    .. math::
        \hat\theta_{ij} = \frac{\sum_f w_f^2 \, a_{if} \, b_{jf}}{|w \odot a_i|^q \, |w \odot b_j|^q}, \quad
        w_f = \text{prior}_f^{\,p} \, e^{d_f}

    with `p` and `q` (1 at the start) and `d` (0 at the start) learned. With the inverse document frequencies of words
    as the prior it starts as TF-IDF similarity, and there is little to learn: how much rare words count, how much long
    texts do, and which words matter more or less than their frequency says. Let weight decay hold `d`, not `p` and `q`:
    `groups` gives them apart.

    Parameters
    ----------
    features: how many a node has.
    prior: `(features,)`, positive weights to start from; all ones where none is given.
    dropout: the share of features that are dropped in training, for all nodes of an instance alike.

    Shapes
    ------
    As in `PairModel`; features are non-negative (counts, or 0 and 1).

    Examples
    --------
    >>> import torch
    >>> from foresolve.models import CosinePairs
    >>> a, b = torch.tensor([[[1.0, 1.0, 0.0]]]), torch.tensor([[[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]])
    >>> CosinePairs(3)((a, b)).detach().round(decimals=3)
    tensor([[1., 0.]])
    """

    log_prior: Tensor

    def __init__(self, features: int, prior: Any = None, dropout: float = 0.0) -> None:
        super().__init__()
        count = checks.positive_int("features", features)
        weights = torch.ones(count) if prior is None else torch.as_tensor(prior).detach().float()
        if weights.shape != (count,) or not (weights.is_meta or bool((weights > 0).all())):
            raise checks.fail("prior", f"({count},), positive", str(tuple(weights.shape)))
        self.register_buffer("log_prior", weights.log())
        self.power = nn.Parameter(torch.ones(()))
        self.norm = nn.Parameter(torch.ones(()))
        self.shift = nn.Parameter(torch.zeros(count))
        self.dropout = checks.between("dropout", dropout, "[0, 1)")
        self._config = {"features": count, "dropout": self.dropout}

    def forward(self, features: Any) -> Tensor:
        weights = (self.power * self.log_prior + self.shift).exp()
        count = len(self.shift)
        nodes = drop(sides(features, count, count), self.dropout if self.training else 0.0)
        left, right = (self._embed(side * weights) for side in nodes)
        return (left @ right.mT).flatten(-2)

    def _embed(self, weighted: Tensor) -> Tensor:
        return weighted / (weighted.norm(dim=-1, keepdim=True) + TINY) ** self.norm

    def groups(self, lr: float, decay: float) -> list[dict[str, Any]]:
        """Parameter groups for an optimizer: `p` and `q` at three times the rate of `d`, which alone decays."""
        return [
            {"params": [self.power, self.norm], "lr": 3 * lr, "weight_decay": 0.0},
            {"params": [self.shift], "lr": lr, "weight_decay": decay},
        ]


def tfidf(words: Tensor) -> Tensor:
    r"""The weight of each word, `(W,)`, from a table `(..., W)` of which document has which word.

    .. math::
        \text{idf}_w = \ln \frac{1 + N}{1 + \text{df}_w} + 1,

    the smooth form that scikit-learn uses by default, for `N` documents of which `df_w` have the word.

    Examples
    --------
    >>> import torch
    >>> from foresolve.models import tfidf
    >>> tfidf(torch.tensor([[1.0, 0.0], [1.0, 1.0]]))
    tensor([1.0000, 1.4055])
    """
    table = checks.as_tensor("words", words).flatten(0, -2)
    return torch.log((1.0 + len(table)) / (1.0 + (table > 0).sum(0))) + 1.0


class TfIdfSimilarity:
    r"""A model that learns nothing: the cosine similarity of the TF-IDF vectors of two papers.

    .. math::
        \hat\theta_{ij} = \frac{\langle d \odot a_i, d \odot b_j \rangle}{|d \odot a_i| \, |d \odot b_j|}

    with `d` the weights of `tfidf`; 0 for a paper without words.

    Parameters
    ----------
    words: `(..., W)`, the documents that are counted for the weights. They need no citations, so that every paper at
        hand may be among them.

    Examples
    --------
    >>> import torch
    >>> from foresolve.models import TfIdfSimilarity
    >>> words = torch.tensor([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    >>> model = TfIdfSimilarity(words)
    >>> model({"left": words[None, :1], "right": words[None, 1:]})
    tensor([[0.3119, 1.0000]])
    """

    def __init__(self, words: Tensor) -> None:
        self.weights = tfidf(words)

    def __call__(self, features: Any) -> Tensor:
        """`(B, L * R)` from features with "left" `(B, L, W)` and "right" `(B, R, W)`."""
        left, right = (features["left"], features["right"]) if isinstance(features, dict) else features
        for name, side in (("left", left), ("right", right)):
            checks.last_dim(f"{name} features", side, len(self.weights), "the words that were counted")
        weights = self.weights.to(left)
        a, b = (functional.normalize(side * weights, dim=-1) for side in (left, right))
        return (a @ b.mT).flatten(-2)


def most_rated(features: Tensor, topics: int = 500) -> Tensor:
    """A prediction without learning: greedy on it chooses the movies with the most ratings.

    Every topic of a movie gets the share of users who rated it, divided by the number of movies. All columns being
    equal, the gain of a movie is that number times what is left uncovered, a factor which all movies have in common and
    which the division keeps away from zero: greedy goes through the movies from the most rated to the least, for every
    `k`, and takes the first among equals.

    Shapes
    ------
    `features` `(*batch, movies, users)` of ratings, 0 where there is none; the result is `(*batch, movies, topics)`.

    Examples
    --------
    >>> import torch
    >>> from foresolve.models import most_rated
    >>> most_rated(torch.tensor([[0.0, 3.5], [4.0, 5.0]]), topics=3)
    tensor([[0.2500, 0.2500, 0.2500],
            [0.5000, 0.5000, 0.5000]])
    """
    if features.ndim < 2:
        raise checks.fail("features", "(*batch, movies, users)", str(tuple(features.shape)))
    share = (features != 0).to(torch.get_default_dtype()).mean(-1, keepdim=True)
    share /= max(1, features.shape[-2])
    return share.repeat(*(1 for _ in features.shape[:-1]), checks.positive_int("topics", topics))

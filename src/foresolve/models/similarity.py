"""How alike two nodes are, with learned weights of their features."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

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
        """Parameter groups for an optimiser: `p` and `q` at three times the rate of `d`, which alone decays."""
        return [
            {"params": [self.power, self.norm], "lr": 3 * lr, "weight_decay": 0.0},
            {"params": [self.shift], "lr": lr, "weight_decay": decay},
        ]

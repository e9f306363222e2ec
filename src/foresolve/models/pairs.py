"""Networks on the pairs of two sides' nodes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from foresolve._base import checks
from foresolve._base.randomness import Seed
from foresolve.models.heads import Head, apply_head, check_head
from foresolve.models.mlp import MLP, linear, weights_from
from foresolve.models.scaling import ScaledReference, Scaling, TargetScaling, rows_of, weights_of_rows

_PAIR = 'a tuple of two tensors (B, nodes, d), or a dict with "left" and "right"'


class PairReference(ScaledReference):
    """A network on pairs, with units of both sides' features and of the targets."""

    def _make_units(self, left: int, right: int, head: Head, standardize: bool, siamese: bool = False) -> None:
        self.head: Head = check_head(head)
        self.units_left = Scaling(left) if standardize else None
        self.units_right = self.units_left if siamese or not standardize else Scaling(right)
        self.units_out = TargetScaling(self.head) if standardize else None
        if not standardize:
            self._config["standardize"] = False
        self._drawn = self._digest() if standardize else None

    def _scaled(self, nodes: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        a, b = nodes
        if self.units_left is None or self.units_right is None:
            return a, b
        return self.units_left(a), self.units_right(b)

    def _out(self, theta: Tensor) -> Tensor:
        return apply_head(self.head, theta) if self.units_out is None else self.units_out(theta)

    def _measure(self, train: Any) -> None:
        assert self.units_left is not None
        assert self.units_right is not None
        assert self.units_out is not None
        sides = [(self.units_left, pair(train.features)[0]), (self.units_right, pair(train.features)[1])]
        if self.units_left is self.units_right:
            sides = [(self.units_left, torch.cat(pair(train.features), 1))]
        for units, nodes in sides:
            rows = rows_of(nodes, len(units.center))
            units.measure(rows, weights_of_rows(train.weights, len(rows)))
        if train.has_theta:
            targets = train.theta.flatten()
            self.units_out.measure(targets, weights_of_rows(train.weights, len(targets)))


class PairModel(PairReference):
    r"""Weights of all pairs from the features of both nodes, the paper's network for matchings.

    .. math::
        \hat\theta_{ij} = h(w^\top \mathrm{relu}(W [a_i; b_j] + c) + d), \quad
        W [a_i; b_j] = W_\text{left} a_i + W_\text{right} b_j

    The right-hand side is how it is computed: the concatenated pairs (2,500 x 2,866 numbers in the paper) are never
    there, only the `hidden` activations of each pair.

    Parameters
    ----------
    left, right: the number of features of a node on each side.
    hidden: the width of the hidden layer; `None` for the 1-layer network.
    head, seed, standardize: as in `MLP`, the units of features for each side.

    Shapes
    ------
    Features are a tuple `(a, b)` or a dict with "left" and "right": `(B, L, left)` and `(B, R, right)`; the result is
    `(B, L * R)`, pair `(i, j)` at `i * R + j`, as `BipartiteMatching` has it.

    Examples
    --------
    >>> import torch
    >>> from foresolve.models import PairModel
    >>> PairModel(5, 6, hidden=8)((torch.zeros(2, 3, 5), torch.zeros(2, 4, 6))).shape
    torch.Size([2, 12])
    """

    def __init__(
        self,
        left: int,
        right: int,
        hidden: int | None = 200,
        head: Head = "probability",
        seed: Seed | None = None,
        standardize: bool = True,
    ) -> None:
        super().__init__()
        left, right = checks.positive_int("left", left), checks.positive_int("right", right)
        width = 1 if hidden is None else checks.positive_int("hidden", hidden)
        source = weights_from(seed)
        joint = linear(left + right, width, source)  # the bounds of the initial weights are those of the whole
        self.left = nn.Parameter(joint.weight[:, :left].detach().clone())
        self.right = nn.Parameter(joint.weight[:, left:].detach().clone())
        self.bias = nn.Parameter(joint.bias.detach().clone())
        self.last = None if hidden is None else linear(width, 1, source)
        self._config = {"left": left, "right": right, "hidden": hidden, "head": head}
        self._make_units(left, right, head, standardize)

    def forward(self, features: Any) -> Tensor:
        a, b = self._scaled(sides(features, self.left.shape[1], self.right.shape[1]))
        rows, columns = functional.linear(a, self.left, self.bias), functional.linear(b, self.right)
        pairs = rows.unsqueeze(-2) + columns.unsqueeze(-3)
        if self.last is not None:
            pairs = self.last(functional.relu(pairs))
        return self._out(pairs.squeeze(-1).flatten(-2))


class BilinearPairs(PairReference):
    r"""Weights of all pairs as inner products of two embeddings.

    .. math::
        \hat\theta_{ij} = h\Big(\frac{u(a_i)^\top v(b_j)}{\sqrt{\text{rank}}} + d\Big)

    with `u` and `v` linear, or networks of one hidden layer. It takes `O((L + R) rank)` activations where `PairModel`
    takes `O(L R hidden)`.

    Parameters
    ----------
    left, right: the number of features of a node on each side.
    rank: the length of the embeddings.
    hidden: the width of a hidden ReLU layer in each embedding; `None` for none.
    siamese: whether both sides share one embedding (`left` must be `right`).
    head, seed, standardize: as in `MLP`, the units of features for each side.
    dropout: the share of features that are dropped in training, for all nodes of an instance alike.

    Shapes
    ------
    As in `PairModel`.
    """

    def __init__(
        self,
        left: int,
        right: int,
        rank: int = 32,
        hidden: int | None = None,
        siamese: bool = False,
        head: Head = "probability",
        seed: Seed | None = None,
        dropout: float = 0.0,
        standardize: bool = True,
    ) -> None:
        super().__init__()
        if siamese and left != right:
            raise checks.fail("right", f"`left` ({left}) for a siamese model", str(right))
        layers = () if hidden is None else (hidden,)
        source = weights_from(seed)  # one for both sides: the same integer twice would give them equal weights
        self.u = MLP(left, checks.positive_int("rank", rank), layers, seed=source, standardize=False)
        self.v = self.u if siamese else MLP(right, rank, layers, seed=source, standardize=False)
        self.bias = nn.Parameter(torch.zeros(()))
        self.dropout = checks.between("dropout", dropout, "[0, 1)")
        self._sizes, self._scale = (left, right), rank**-0.5
        sizes = {"left": left, "right": right, "rank": rank, "hidden": hidden}
        self._config = {**sizes, "siamese": siamese, "dropout": self.dropout, "head": head}
        self._make_units(left, right, head, standardize, siamese)

    def forward(self, features: Any) -> Tensor:
        a, b = drop(self._scaled(sides(features, *self._sizes)), self.dropout if self.training else 0.0)
        return self._out((self.u(a) @ self.v(b).mT * self._scale + self.bias).flatten(-2))


def drop(nodes: tuple[Tensor, Tensor], dropout: float) -> tuple[Tensor, Tensor]:
    """Both sides without a share of the features, the same for all nodes of an instance.

    Where both sides have as many features, they are taken to be the same ones, and dropped on both. One draw for an
    instance instead of one for each node is cheap, and leaves pairs comparable.
    """
    if dropout == 0.0:
        return nodes
    a, b = nodes
    left, right = (functional.dropout(side.new_ones(*side.shape[:-2], 1, side.shape[-1]), dropout) for side in nodes)
    return a * left, b * (left if left.shape == right.shape else right)


def pair(features: Any) -> tuple[Any, Any]:
    """The two sides of pairs."""
    try:
        a, b = (features["left"], features["right"]) if isinstance(features, dict) else features
    except (KeyError, TypeError, ValueError) as error:
        raise checks.fail("features", _PAIR, type(features).__name__) from error
    return a, b


def sides(features: Any, left: int, right: int) -> tuple[Tensor, Tensor]:
    """The nodes of both sides."""
    a, b = pair(features)
    for side in (a, b):
        if not isinstance(side, Tensor) or side.ndim < 2:
            raise checks.fail("features", _PAIR, f"a part that is {getattr(side, 'shape', type(side).__name__)}")
    checks.last_dim("left features", a, left, "the model")
    checks.last_dim("right features", b, right, "the model")
    return a, b

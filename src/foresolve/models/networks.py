"""Reference models: plain modules from features to parameters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from foresolve._base import checks

Head = Literal["free", "probability", "non_negative"]


class Reference(nn.Module):
    """A model that can be rebuilt from its name and `config()`, so that a saved policy needs no code of the user's."""

    _config: dict[str, Any]

    def config(self) -> dict[str, Any]:
        """The arguments that make the same model, fit for JSON."""
        return dict(self._config)


class MLP(Reference):
    r"""A linear model or a network of ReLU layers, with an output that suits the domain.

    .. math::
        \hat\theta = h(W_L \, \mathrm{relu}(\dots \mathrm{relu}(W_1 a + b_1) \dots) + b_L)

    The paper's 1-layer networks are `MLP(inputs, outputs)`, its 2-layer ones `MLP(inputs, outputs, hidden=(200,))`.

    Parameters
    ----------
    inputs: the number of features of a row.
    outputs: what comes out for features `(B, *rows, inputs)`.

        - an integer: `(B, *rows, outputs)`, every row by itself;
        - `None`: `(B, *rows)`, one number for every row;
        - a tuple: `(B, *outputs)`, from all features of an instance at once; `inputs` counts them all.
    hidden: the widths of the hidden layers.
    head: `h`: "free" (nothing), "probability" (sigmoid) or "non_negative" (softplus).
    generator: of the initial weights, by the rule of `nn.Linear`; torch's global one where none is given.

    Examples
    --------
    >>> import torch
    >>> from foresolve.models import MLP
    >>> MLP(5, 40)(torch.zeros(8, 5)).shape
    torch.Size([8, 40])
    >>> MLP(5, 3, hidden=(200,), head="probability")(torch.zeros(8, 10, 5)).shape
    torch.Size([8, 10, 3])
    >>> MLP(50, (10, 3))(torch.zeros(8, 10, 5)).shape
    torch.Size([8, 10, 3])
    """

    def __init__(
        self,
        inputs: int,
        outputs: int | Sequence[int] | None,
        hidden: Sequence[int] = (),
        head: Head = "free",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        shape = None if outputs is None or isinstance(outputs, int) else tuple(outputs)
        last = math.prod(shape) if shape is not None else 1 if outputs is None else outputs
        widths = [inputs, *hidden, last]
        for name, width in zip(["inputs", *["hidden"] * len(hidden), "outputs"], widths, strict=True):
            checks.positive_int(name, width)
        self.head: Head = _head(head)
        self.layers = nn.ModuleList(_linear(a, b, generator) for a, b in itertools.pairwise(widths))
        self._shape, self._squeeze = shape, outputs is None
        listed = list(shape) if shape is not None else outputs
        self._config = {"inputs": inputs, "outputs": listed, "hidden": list(hidden), "head": head}

    def forward(self, features: Tensor) -> Tensor:
        a = features.flatten(1) if self._shape is not None else features
        checks.last_dim("features", a, self.layers[0].in_features, "the model")  # type: ignore[arg-type]
        for layer in self.layers[:-1]:
            a = functional.relu(layer(a))
        theta = _apply(self.head, self.layers[-1](a))
        if self._shape is not None:
            return theta.reshape(len(theta), *self._shape)
        return theta.squeeze(-1) if self._squeeze else theta


class PairModel(Reference):
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
    head, generator: as of `MLP`.

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
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        left, right = checks.positive_int("left", left), checks.positive_int("right", right)
        width = 1 if hidden is None else checks.positive_int("hidden", hidden)
        joint = _linear(left + right, width, generator)  # the bounds of the initial weights are those of the whole
        self.left = nn.Parameter(joint.weight[:, :left].detach().clone())
        self.right = nn.Parameter(joint.weight[:, left:].detach().clone())
        self.bias = nn.Parameter(joint.bias.detach().clone())
        self.last = None if hidden is None else _linear(width, 1, generator)
        self.head: Head = _head(head)
        self._config = {"left": left, "right": right, "hidden": hidden, "head": head}

    def forward(self, features: Any) -> Tensor:
        a, b = sides(features, self.left.shape[1], self.right.shape[1])
        one, other = functional.linear(a, self.left, self.bias), functional.linear(b, self.right)
        pairs = one.unsqueeze(-2) + other.unsqueeze(-3)
        if self.last is not None:
            pairs = self.last(functional.relu(pairs))
        return _apply(self.head, pairs.squeeze(-1).flatten(-2))


class BilinearPairs(Reference):
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
    head, generator: as of `MLP`.
    dropout: the share of features that are dropped in training, for all nodes of an instance alike.

    Shapes
    ------
    As of `PairModel`.
    """

    def __init__(
        self,
        left: int,
        right: int,
        rank: int = 32,
        hidden: int | None = None,
        siamese: bool = False,
        head: Head = "probability",
        generator: torch.Generator | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if siamese and left != right:
            raise checks.fail("right", f"`left` ({left}) for a siamese model", str(right))
        layers = () if hidden is None else (hidden,)
        self.u = MLP(left, checks.positive_int("rank", rank), layers, generator=generator)
        self.v = self.u if siamese else MLP(right, rank, layers, generator=generator)
        self.bias = nn.Parameter(torch.zeros(()))
        self.head: Head = _head(head)
        self.dropout = share("dropout", dropout)
        self._sizes, self._scale = (left, right), rank**-0.5
        sizes = {"left": left, "right": right, "rank": rank, "hidden": hidden}
        self._config = {**sizes, "siamese": siamese, "dropout": self.dropout, "head": head}

    def forward(self, features: Any) -> Tensor:
        a, b = drop(sides(features, *self._sizes), self.dropout if self.training else 0.0)
        return _apply(self.head, (self.u(a) @ self.v(b).mT * self._scale + self.bias).flatten(-2))


def _linear(inputs: int, outputs: int, generator: torch.Generator | None) -> nn.Linear:
    """`nn.Linear` with the same distribution of weights, drawn from a generator where one is given."""
    if generator is None:
        return nn.Linear(inputs, outputs)
    layer = nn.Linear(inputs, outputs, device="meta").to_empty(device=generator.device)
    bound = inputs**-0.5
    nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
    nn.init.uniform_(layer.bias, -bound, bound, generator=generator)
    return layer


def _head(head: Any) -> Head:
    if head not in get_args(Head):
        raise checks.fail("head", f"one of {', '.join(map(repr, get_args(Head)))}", repr(head))
    return head


def share(name: str, value: float) -> float:
    """A number in [0, 1)."""
    if not 0 <= value < 1:
        raise checks.fail(name, "in [0, 1)", str(value))
    return float(value)


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


def _apply(head: Head, theta: Tensor) -> Tensor:
    if head == "probability":
        return theta.sigmoid()
    return functional.softplus(theta) if head == "non_negative" else theta


_PAIR = 'a tuple of two tensors (B, nodes, d), or a dict with "left" and "right"'


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

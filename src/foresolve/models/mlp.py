"""A network on vectors, or on each row of a table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from foresolve._base import checks
from foresolve._base.randomness import Seed, as_generator
from foresolve.models.heads import Head, apply_head, check_head
from foresolve.models.scaling import ScaledReference, Scaling, TargetScaling, rows_of, weights_of_rows


class MLP(ScaledReference):
    r"""A linear model or a network of ReLU layers, with an output that suits the domain.

    .. math::
        \hat\theta = h(W_L \, \mathrm{relu}(\dots \mathrm{relu}(W_1 a + b_1) \dots) + b_L)

    The paper's 1-layer networks are `MLP(inputs, outputs)`, its 2-layer ones `MLP(inputs, outputs, hidden=(200,))`.

    Parameters
    ----------
    inputs: the number of features of a row.
    outputs: what comes out for features `(B, *rows, inputs)`.

        - an integer: `(B, *rows, outputs)`, every row separately;
        - `None`: `(B, *rows)`, one number for every row;
        - a tuple: `(B, *outputs)`, from all features of an instance at once; `inputs` counts them all.
    hidden: the widths of the hidden layers.
    head: `h`: "free" (nothing), "probability" (sigmoid), "non_negative" (softplus) or "positive" (exponential, for
        skewed targets).
    standardize: the first `fit` takes the units of features and targets from its training data: buffers `units_in` and
        `units_out`, saved with the weights. Features are standardized; outputs are in units of the targets, around
        their mean (`TargetScaling` has the formulas). Later calls of `fit` leave them as they are, and the first one
        does so too where weights have been changed since they were drawn.
    seed: of the initial weights, which follow the rule of `nn.Linear`: an integer, a `torch.Generator` to draw from, or
        `None` for torch's global one.

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
        seed: Seed | None = None,
        standardize: bool = True,
    ) -> None:
        super().__init__()
        shape = None if outputs is None or isinstance(outputs, int) else tuple(outputs)
        last = math.prod(shape) if shape is not None else 1 if outputs is None else outputs
        widths = [inputs, *hidden, last]
        for name, width in zip(["inputs", *["hidden"] * len(hidden), "outputs"], widths, strict=True):
            checks.positive_int(name, width)
        source = weights_from(seed)
        self.head: Head = check_head(head)
        self.layers = nn.ModuleList(linear(a, b, source) for a, b in itertools.pairwise(widths))
        self._shape, self._squeeze = shape, outputs is None
        sizes = list(shape) if shape is not None else outputs
        self._config = {"inputs": inputs, "outputs": sizes, "hidden": list(hidden), "head": head}
        if not standardize:
            self._config["standardize"] = False
        self.units_in = Scaling(inputs) if standardize else None
        columns = shape if shape is not None else () if outputs is None else (widths[-1],)
        self.units_out = TargetScaling(self.head, *columns) if standardize else None
        self._drawn = self._digest() if standardize else None

    def forward(self, features: Tensor) -> Tensor:
        a = features.flatten(1) if self._shape is not None else features
        checks.last_dim("features", a, self.layers[0].in_features, "the model")  # type: ignore[arg-type]
        a = a if self.units_in is None else self.units_in(a)
        for layer in self.layers[:-1]:
            a = functional.relu(layer(a))
        theta = self.layers[-1](a)
        if self._shape is not None:
            theta = theta.reshape(len(theta), *self._shape)
        elif self._squeeze:
            theta = theta.squeeze(-1)
        return apply_head(self.head, theta) if self.units_out is None else self.units_out(theta)

    def _measure(self, train: Any) -> None:
        assert self.units_in is not None
        assert self.units_out is not None
        rows = rows_of(train.features, len(self.units_in.center))
        self.units_in.measure(rows, weights_of_rows(train.weights, len(rows)))
        if train.has_theta:
            targets = train.theta.reshape(-1, *self.units_out.center.shape)
            self.units_out.measure(targets, weights_of_rows(train.weights, len(targets)))


def weights_from(seed: Seed | None) -> torch.Generator | None:
    """The generator of initial weights; `None` is torch's global generator."""
    return None if seed is None else as_generator("seed", seed)


def linear(inputs: int, outputs: int, generator: torch.Generator | None) -> nn.Linear:
    """`nn.Linear` with the same distribution of weights, drawn from a generator where one is given."""
    if generator is None:
        return nn.Linear(inputs, outputs)
    layer = nn.Linear(inputs, outputs, device="meta").to_empty(device=generator.device)
    bound = inputs**-0.5
    nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
    nn.init.uniform_(layer.bias, -bound, bound, generator=generator)
    return layer

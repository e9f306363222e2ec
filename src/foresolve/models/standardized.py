"""Any module in the units of the data."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from foresolve._base import checks
from foresolve.models.heads import Head, check_head
from foresolve.models.open_scaling import OpenTargetScaling, TableScaling, beside, target_shape
from foresolve.models.scaling import ScaledReference, weights_of_rows


class Standardized(ScaledReference):
    r"""Any module, with standardized features and outputs in the units of the targets.

    .. math::
        \hat\theta = h\Big(\text{module}\Big(\frac{a - \mu}{\sigma}\Big)\Big), \qquad
        h(z) = m + s z \;\text{(free)}, \quad e^{m + s z} \;\text{(positive)}, \quad
        s \, \mathrm{softplus}(z + m) \;\text{(non-negative)}, \quad \mathrm{sigmoid}(z + m) \;\text{(probability)}

    The first `fit` takes :math:`\mu, \sigma` from the features and :math:`m, s` from the targets of its training data,
    as for the models of this package; they are buffers (`units_in`, `units_out`), part of the `state_dict`, and stay
    as they are in later calls. Before, nothing is scaled. The module sees numbers of size 1 and may answer with such:
    where it gives zeros, the prediction is the mean of the targets (the geometric one where they are positive).

    Each entry of `theta` has its own :math:`m` and :math:`s`; where rows of the features are items, `(N, items, d)` for
    `theta` `(N, items, ...)`, or two tables the sides of pairs, all items and all pairs share them. Weights of
    instances count.

    Parameters
    ----------
    module: from features to numbers of the shape of `theta`. It ends without a sigmoid or an exponential: the head is
        here.
    head: the range of predictions: "free", "positive", "non_negative" or "probability".
    features: whether features are standardized. One table `(N, ..., d)` has a mean and a deviation for each of its `d`
        columns; in a dict or tuple, each floating table has its own, and integers and booleans pass as they are: give
        masks and adjacency so. `False` leaves all features as they are.
    fitted: the shapes of the units, from a file.

    A `Policy` with it is saved whole where the module is one of this package, and otherwise as any module of your own:
    the weights and units, and `Policy.load` wants a `Standardized` around such a module.

    Examples
    --------
    >>> import torch, foresolve
    >>> from torch import nn
    >>> from foresolve.models import Standardized
    >>> g = torch.Generator().manual_seed(0)
    >>> features = 1000 + torch.randn(64, 3, generator=g)
    >>> theta = 50 + (features - 1000) @ torch.randn(3, 4, generator=g)
    >>> data = foresolve.DecisionDataset(features, theta, foresolve.TopK(4, 2))
    >>> model = Standardized(nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 4)))
    >>> history = foresolve.fit(model, "mse", data, epochs=1)
    >>> model.units_in, model.units_out
    (TableScaling(
      (0): OpenScaling((3,), known)
    ), OpenTargetScaling((4,), known))
    """

    wraps = ("module",)

    def __init__(
        self, module: nn.Module, head: Head = "free", *, features: bool = True, fitted: dict[str, Any] | None = None
    ) -> None:
        super().__init__()
        if not isinstance(module, nn.Module):
            got = f"the class {module.__name__}" if isinstance(module, type) else type(module).__name__
            raise checks.fail("module", "an nn.Module", got)
        self.module, self.head = module, check_head(head)
        self._scales_features = bool(features)
        known: dict[str, Any] = {} if fitted is None else fitted
        self.units_in = TableScaling(known.get("features", ()))
        self.units_out = OpenTargetScaling(self.head, *known.get("targets", ()))
        beside(self.units_in, module)
        beside(self.units_out, module)
        self._drawn = self._digest()

    def forward(self, features: Any) -> Tensor:
        """Predicted parameters `(B, ...)`."""
        return self.units_out(self.module(self.units_in(features)))

    def _measure(self, train: Any) -> None:
        if self._scales_features:
            self.units_in.measure(train.features, train.weights)
        if train.has_theta:
            targets = train.theta.reshape(-1, *target_shape(train.features, train.theta))
            self.units_out.measure(targets, weights_of_rows(train.weights, len(targets)))

    def config(self) -> dict[str, Any]:
        shapes = {"features": self.units_in.shapes(), "targets": list(self.units_out.center.shape)}
        return {"head": self.head, "features": self._scales_features, "fitted": shapes}

    def extra_repr(self) -> str:
        return f"head={self.head!r}"

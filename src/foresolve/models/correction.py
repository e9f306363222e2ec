"""A network that corrects a forecaster."""

from __future__ import annotations

import copy
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from foresolve._base import checks
from foresolve.data.inputs import map_tables
from foresolve.errors import InvalidInputError
from foresolve.models.open_scaling import OpenScaling, beside, target_shape
from foresolve.models.reference import Baseline, Reference
from foresolve.models.scaling import moments, weights_of_rows
from foresolve.models.scikit_learn import ScikitLearn, check_fitted

CorrectionHead = Literal["free", "positive", "probability"]
LEAST_SHARE = 1e-2  # of the spread of the targets: residuals of a forecaster that remembers training are next to none
CERTAIN = 60.0  # log-odds beyond which a probability does not change any more


class Correction(Reference):
    r"""A network that learns the errors of a frozen forecaster; at the start, the forecast itself.

    With :math:`f` the forecaster, :math:`g` the network and :math:`g_0` the network as it was at the start,

    .. math::
        \Delta = s \, (g(a) - g_0(a)), \qquad
        \hat\theta = f(a) + \Delta \;\text{(free)}, \quad f(a) \, e^{\Delta} \;\text{(positive)}, \quad
        \mathrm{sigmoid}(\mathrm{logit} f(a) + \Delta) \;\text{(probability)}

    The first `fit` takes :math:`s` from its training data, for each column: the standard deviation of
    :math:`\theta - f(a)`, of :math:`\log \theta - \log f(a)` where the head is "positive" (at least a hundredth of that
    of the targets), and 1 for probabilities. It is a buffer, `units`, saved with the weights; so is :math:`g_0`, a
    frozen copy. Epoch 0 of training is the forecaster's decision, bit for bit, and with validation data `fit` gives
    back nothing worse.

    Why a copy is subtracted: any module will do, whatever its last layer is, and its gradient is there from the first
    step on. (A last layer of zeros has to be found first; a gate that starts at 0 lets no gradient through at the
    start.) It costs a second forward pass without gradients.

    Parameters
    ----------
    forecaster: a `Baseline`, a regressor of scikit-learn, or any module that predicts `theta`. One that is not fitted
        yet is fitted by `fit`, on the training data. Its parameters are frozen (`requires_grad` is off), it stays in
        evaluation mode and sees features in their own precision.
    network: any module from features to numbers of the shape of `theta`; its own head is best left free. An `MLP` or
        `Standardized` takes the units of the features from the training data.
    head: the range of predictions. "positive" needs forecasts and targets above 0 (`LinearRegression(transform="log")`,
        say), "probability" forecasts in [0, 1]; a forecast of exactly 0 or 1 stays.
    fitted: the shape of the units, from a file.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.models import Correction, LinearRegression, MLP
    >>> g = torch.Generator().manual_seed(0)
    >>> features = torch.randn(64, 3, generator=g)
    >>> theta = (features @ torch.randn(3, 4, generator=g)).square()
    >>> data = foresolve.DecisionDataset(features, theta, foresolve.TopK(4, 2))
    >>> model = Correction(LinearRegression(), MLP(3, 4, hidden=(16,), seed=g))
    >>> history = foresolve.fit(model, "spo+", data, epochs=0)
    >>> bool(torch.equal(model(features), LinearRegression().fit(data)(features)))
    True
    """

    wraps = ("forecaster", "network")
    keeps_precision = True

    def __init__(
        self, forecaster: Any, network: nn.Module, head: CorrectionHead = "free", *, fitted: Any = None
    ) -> None:
        super().__init__()
        if not isinstance(network, nn.Module) or isinstance(network, Baseline):
            got = f"the class {network.__name__}" if isinstance(network, type) else type(network).__name__
            raise checks.fail("network", "an nn.Module that can be trained", got)
        self.forecaster, self.network = _frozen(_as_forecaster(forecaster)), network
        self.head = checks.one_of("head", head, get_args(CorrectionHead))
        self.origin = _frozen(copy.deepcopy(network))
        self.units = ResidualScaling(*(() if fitted is None else fitted))
        beside(self.units, network)

    def forward(self, features: Any) -> Tensor:
        """Predicted parameters `(B, ...)`."""
        forecast = self._forecast(features)
        inputs = _placed(features, self.network)
        with torch.no_grad():
            start = self.origin(inputs)
        change = self.units.scale * (self.network(inputs) - start)
        if change.shape != forecast.shape:
            expected = f"{tuple(forecast.shape)}, as the forecaster's are"
            raise checks.fail("network(features)", expected, str(tuple(change.shape)))
        if self.head == "positive":
            return forecast * change.exp()
        if self.head == "probability":
            # sigmoid(logit(f) + change), written so that no change is none to the bit.
            odds = change.clamp(max=CERTAIN).expm1()
            return (forecast + forecast * (1 - forecast) * odds / (1 + forecast * odds)).clamp(0, 1)  # rounding
        return forecast + change

    def train(self, mode: bool = True) -> Correction:
        """Training mode, for the network alone."""
        super().train(mode)
        self.forecaster.eval()
        self.origin.eval()
        return self

    def known_columns(self) -> tuple[str, ...] | None:
        """The columns of the forecaster."""
        return self.forecaster.known_columns() if isinstance(self.forecaster, Reference) else None

    @property
    def predicts(self) -> bool:
        """True once its forecaster is fitted."""
        forecaster = self.forecaster
        if isinstance(forecaster, Baseline):
            return forecaster._fitted is not None
        return not isinstance(forecaster, Reference) or forecaster.predicts

    def standardize(self, train: Any) -> None:
        if bool(self.units.known):
            return
        self._fit_forecaster(train)
        if isinstance(self.network, Reference):
            self.network.standardize(_FeaturesAlone(train.features, train.weights))
        self.origin = _frozen(copy.deepcopy(self.network))
        if train.has_theta and self.head != "probability":
            residuals, targets = self._residuals(train)
            self.units.measure_residuals(residuals, targets, weights_of_rows(train.weights, len(residuals)))
        else:
            self.units.measure(torch.zeros(1))

    def config(self) -> dict[str, Any]:
        return {"head": self.head, "fitted": list(self.units.center.shape)}

    def extra_repr(self) -> str:
        return f"head={self.head!r}"

    def _forecast(self, features: Any) -> Tensor:
        with torch.no_grad():
            return self.forecaster(_placed(features, self.forecaster))

    def _fit_forecaster(self, train: Any) -> None:
        forecaster = self.forecaster
        if isinstance(forecaster, Correction):  # of a correction: the innermost may not be fitted
            forecaster._fit_forecaster(train)
        if not isinstance(forecaster, Baseline) or forecaster._fitted is not None:
            return
        if forecaster.uses_theta and not train.has_theta:
            expected = f"with `theta` for {type(forecaster).__name__}, which is not fitted yet"
            raise checks.fail("train", expected, "decisions alone", "Give a forecaster that is fitted")
        forecaster.check_weights(train)
        forecaster.fit(train)

    def _residuals(self, train: Any) -> tuple[Tensor, Tensor]:
        """Rows of what the forecaster lacks, and of the targets: of logarithms where they are positive."""
        forecast, theta = self._forecast(train.features).double(), train.theta.detach().double()
        forecast = forecast.to(theta.device)
        if forecast.shape != theta.shape:
            raise checks.fail(
                "forecaster(features)", f"{tuple(theta.shape)}, as `theta` is", str(tuple(forecast.shape))
            )
        if self.head == "positive":
            for name, table in (("theta", theta), ("forecaster(features)", forecast)):
                if not bool((table > 0).all()):
                    remedy = 'Take the head "free", or a forecaster of logarithms, `LinearRegression(transform="log")`'
                    raise checks.fail(name, 'positive for the head "positive"', f"{float(table.min()):g}", remedy)
            forecast, theta = forecast.log(), theta.log()
        shape = target_shape(train.features, theta)
        return (theta - forecast).reshape(-1, *shape), theta.reshape(-1, *shape)


class ResidualScaling(OpenScaling):
    """The size of residuals, for each column: `scale` is their standard deviation, `center` their mean, to look at."""

    def measure_residuals(self, residuals: Tensor, targets: Tensor, weights: Tensor | None) -> None:
        """Take the units of residuals `(R, *shape)`; 1 where neither they nor the targets vary."""
        center, deviation = moments(residuals, weights)
        scale = torch.maximum(deviation, LEAST_SHARE * moments(targets, weights)[1])
        self._set(center, torch.where(scale > 0, scale, 1.0))


class _FeaturesAlone(NamedTuple):
    """The training data for a network that learns a correction: features and weights, nothing of the targets."""

    features: Any
    weights: Tensor | None
    has_theta: bool = False


def _as_forecaster(forecaster: Any) -> nn.Module:
    """A module as itself, a regressor of scikit-learn as a baseline, fitted or to be fitted."""
    if isinstance(forecaster, nn.Module):
        return forecaster
    if isinstance(forecaster, type) or not hasattr(forecaster, "fit") or not hasattr(forecaster, "predict"):
        got = f"the class {forecaster.__name__}" if isinstance(forecaster, type) else type(forecaster).__name__
        raise checks.fail("forecaster", "a Baseline, a regressor of scikit-learn or an nn.Module", got)
    try:
        check_fitted(forecaster)
    except InvalidInputError:
        return ScikitLearn(forecaster)
    return ScikitLearn.trained(forecaster)


def _frozen(module: nn.Module) -> nn.Module:
    return module.requires_grad_(False).eval()


def _placed(features: Any, module: nn.Module) -> Any:
    """Features where a module works, in its precision; in their own where it has no parameters."""
    first = next(module.parameters(), None)
    place = next(module.buffers(), None) if first is None else first
    if place is None:
        return features
    dtype = None if first is None or not first.is_floating_point() else first.dtype

    def moved(table: Any) -> Any:
        floating = isinstance(table, Tensor) and table.is_floating_point()
        return table.to(place.device, dtype if floating else None) if isinstance(table, Tensor) else table

    return map_tables(moved, features)

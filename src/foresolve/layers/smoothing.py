"""How strongly a decision is smoothed, and what layers with a smoothing term share."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from foresolve._base import checks
from foresolve.errors import NoGradientWarning
from foresolve.layers.base import Layer, Shortfall, expanded
from foresolve.layers.calibration import Calibration, calibrate, sample
from foresolve.problems.base import Problem


@dataclass(frozen=True)
class RelativeGamma:
    r"""A `gamma` in units of the data, so that rescaling `theta` or `x` leaves the decision as it is.

    .. math:: \gamma = \text{factor} \cdot \frac{\text{spread}(\theta)}{\text{size}(x)}, \quad
        \text{spread}(\theta)^2 = \mathrm{Var}(\theta) + 0.01 \, \mathrm{mean}(\theta^2)

    per instance, with `size` the mean width of the finite boxes; where there are none, or the rows imply the upper
    bounds (matchings), the largest right-hand side over the norm of its row. Where the problem is `parametrized` the
    spread is that of the parameters, in units of the coefficients which they move, and only the boxes of those
    variables count: what is known, or tied to a parameter a second time, is no spread of the prediction. It is part of
    the differentiated map: gradients are those of the layer as it is called, and finite differences agree with them.
    """

    factor: float = 0.3

    def __post_init__(self) -> None:
        checks.positive("factor", self.factor)

    def __call__(self, theta: Tensor, size: Tensor) -> Tensor:
        """`gamma` for each instance: `theta` `(B, n)`, `size` `(1 or B,)`, result `(B,)`."""
        # In units of a power of two, so that squares neither vanish nor overflow, and no digit changes.
        most = theta.detach().abs().amax(-1)
        unit = torch.ldexp(torch.ones_like(most), torch.frexp(most).exponent - 1)
        theta = theta / unit.unsqueeze(-1)
        variance = (theta - theta.mean(-1, keepdim=True)).square().mean(-1)
        square = variance + 0.01 * theta.square().mean(-1)
        flat = square <= 0  # theta = 0: any gamma gives the same decision
        spread = torch.where(flat, 1.0, unit) * torch.where(flat, 1.0, square).sqrt()
        return self.factor * spread / size


@dataclass(frozen=True)
class CalibratedGamma(RelativeGamma):
    r"""A `gamma` that is worked out on decisions: the default of layers in a loss.

    Before training, `Loss.prepare` looks for the largest number at which smoothed decisions under the true parameters
    still keep a share of the way from the point of smallest norm to the best decision,

    .. math:: \frac{f(x_\gamma) - f(x_\infty)}{f(x_0) - f(x_\infty)} \ge \text{keep},

    the mean over some training instances; `layer.calibration` says what it found. That number stays as it is: a model
    can make its decisions sharper by larger predictions. A layer that is used alone, or learns from decisions alone,
    follows the closed-form rule of `RelativeGamma(factor)`.

    Parameters
    ----------
    keep: the share, in (0, 1); by default that of the loss, `loss.keep`: 0.97 in `DecisionLoss`, whose gradient
        vanishes at vertices, 0.99 in `FenchelYoung`, whose gradient does not. Smaller ones pass more gradient and train
        for decisions that nobody takes.
    """

    keep: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep is not None:
            checks.between("keep", self.keep, "(0, 1)")


class SmoothedLayer(Layer):
    """A layer that maximizes an objective less `gamma` times a penalty.

    A `gamma` that is an `nn.Parameter` is one of the layer, `_gamma` in its `state_dict`, and can be trained.
    """

    _may_vanish = False  # whether `gamma` may be 0
    _concave = True  # whether what is smoothed has no local maximum but the best
    calibration: Calibration | None = None

    def __init__(self, gamma: float | Tensor | RelativeGamma) -> None:
        super().__init__()
        self.gamma = gamma
        self._warned = False

    @property
    def gamma(self) -> float | Tensor | RelativeGamma:
        """The smoothing."""
        return self._gamma

    @gamma.setter
    def gamma(self, value: float | Tensor | RelativeGamma) -> None:
        if isinstance(value, Tensor):
            value = checks.as_tensor("gamma", value)
            _check_positive(value, _AT_ZERO, or_zero=self._may_vanish)
        elif not isinstance(value, RelativeGamma):
            if not (self._may_vanish and isinstance(value, int | float) and value == 0 and value is not False):
                value = checks.positive("gamma", value, _remedy(value), expected=_EXPECTED)
            value = float(value)
        self._keep(value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "gamma":  # torch would register a parameter under this name, past the property
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    def calibrate(self, problem: Problem, theta: Tensor, keep: float = 0.97) -> Calibration | None:
        """Work out a `CalibratedGamma` for true parameters `(N, *shape)`; `None` for any other `gamma`.

        `keep` is the share where the rule says none.

        Afterwards `calibration.gamma` is what the layer smooths by, until it is calibrated again or `gamma` is set.
        """
        rule = self._gamma
        self.calibration = None
        if not isinstance(rule, CalibratedGamma) or not len(theta):
            return None
        self.check_problem(problem)
        problem, theta = sample(problem, theta.detach().double())
        usual = self.smoothing(theta, problem)
        if not bool((usual > 0).all()):  # some instances are strictly concave without, and need none
            return None
        unit = float(usual.mean()) / rule.factor
        self.calibration = calibrate(
            lambda gamma: self.with_gamma(gamma)(theta, problem), lambda x: problem.objective(x, theta), unit,
            rule.keep or keep, falls=self._concave,
        )  # fmt: skip
        return self.calibration

    def _keep(self, gamma: float | Tensor | RelativeGamma) -> None:
        self.calibration = None
        self._parameters.pop("_gamma", None)  # torch refuses to put anything else in the place of a parameter
        self._gamma = gamma

    def _twin(self) -> Self:
        twin = copy.copy(self)
        twin._parameters = dict(self._parameters)
        return twin

    def with_gamma(self, gamma: float | Tensor | RelativeGamma) -> Self:
        """The same layer with another smoothing."""
        twin = self._twin()
        twin.gamma = gamma
        return twin

    def _with_checked(self, gamma: Tensor) -> Self:
        """The same with a `gamma` that came from this layer: asking a GPU again whether it is positive takes longer."""
        twin = self._twin()
        twin._keep(gamma)
        return twin

    def penalty(self, x: Tensor) -> Tensor:
        """What `gamma` multiplies, `(*batch,)`: `|x|^2`."""
        return x.square().sum(-1)

    def smoothing(self, theta: Tensor, problem: Problem) -> Tensor:
        """`gamma` for parameters `theta`: `()`, or `(*batch,)` where it differs between instances."""
        self.check_problem(problem)
        fixed = self._gamma if self.calibration is None else self.calibration.gamma
        if isinstance(fixed, float):
            return torch.tensor(fixed, dtype=torch.float64, device=problem.device)
        full = expanded(theta, problem)
        batch = problem.batch_for(full)
        gamma = self._gammas(full, batch, lambda rule: self._relative(rule, full, problem))
        return gamma.reshape(()) if gamma.numel() == 1 else gamma.reshape(batch)

    def _unit_smoothing(self, theta: Tensor, problem: Problem) -> Tensor:
        """`gamma` where the truth is not known: a rule that follows it takes a spread of 1, that of zeros."""
        full = expanded(theta.detach(), problem)
        batch = problem.batch_for(full)
        gamma = self._gammas(full, batch, lambda rule: self._of_spread_one(rule, full, problem))
        return gamma.reshape(()) if gamma.numel() == 1 else gamma.reshape(batch)

    def _of_spread_one(self, rule: RelativeGamma, theta: Tensor, problem: Problem) -> Tensor:
        """What a rule gives where the spread of the parameters is 1."""
        return rule(theta.new_zeros(1, 1), self._size(theta, problem))

    def _size(self, theta: Tensor, problem: Problem) -> Tensor:
        """The size of `x` that rules divide by, `()` or `(1 or B,)`; here 1."""
        return theta.new_ones(())

    def _relative(self, rule: RelativeGamma, theta: Tensor, problem: Problem) -> Tensor:
        """What a rule gives for parameters `(*batch, *shape)`: `gamma` `(B,)`."""
        return rule(in_units_of_gains(theta, problem), self._size(theta, problem))

    def _gammas(self, like: Tensor, batch: torch.Size, relative: Callable[[RelativeGamma], Tensor]) -> Tensor:
        """`gamma` for each instance, `(1 or B,)`; `relative` works out one that follows the data."""
        if self.calibration is not None:
            return torch.tensor([self.calibration.gamma], dtype=like.dtype, device=like.device)
        if isinstance(self._gamma, RelativeGamma):
            return relative(self._gamma)
        if isinstance(self._gamma, Tensor):
            if isinstance(self._gamma, nn.Parameter):  # the last step of an optimizer knows no bounds
                remedy = "Train its logarithm: `layer.with_gamma(log_gamma.exp())`"
                _check_positive(self._gamma, remedy, or_zero=self._may_vanish)
            gamma = self._gamma.to(like)
            if gamma.ndim and tuple(gamma.shape) != tuple(batch):
                expected = f"a number or of the batch shape {tuple(batch)}, one for each instance"
                raise checks.fail("gamma", expected, f"shape {tuple(gamma.shape)}")
            return gamma.reshape(-1)
        return torch.tensor([self._gamma], dtype=like.dtype, device=like.device)

    def fenchel_young(self) -> Shortfall:
        """`max_x [f(x) - gamma penalty(x)] - [f(y) - gamma penalty(y)]` for the objective `f`."""
        return self._shortfall

    def _shortfall(self, theta: Tensor, y: Tensor, problem: Problem, truth: Tensor | None) -> Tensor:
        """`max_x [f(x) - gamma penalty(x)] - [f(y) - gamma penalty(y)]` for the objective `f`, `gamma` of the truth."""
        theta = theta.double()
        gamma = self._unit_smoothing(theta, problem) if truth is None else self.smoothing(truth.double(), problem)
        with torch.no_grad():
            x = self._with_checked(gamma.detach())(theta, problem)
        # x is best, so that by the envelope theorem it need not be differentiated.
        return problem.advantage(x, y, theta) - gamma * (self.penalty(x) - self.penalty(y))

    def _warn_of_vertices(self) -> None:
        """Once for each layer."""
        if not self._warned:
            self._warned = True
            checks.warn(
                "no coordinate is free in any instance of this batch: every decision sits on a vertex and no gradient "
                "reaches theta. Raise gamma (said once per layer; `layer.solve(...).free` counts the free coordinates)",
                NoGradientWarning,
            )


def in_units_of_gains(theta: Tensor, problem: Problem) -> Tensor:
    """What of the gains `(B, n)` of a linear problem is predicted: where it is `parametrized`, the parameters `(B, p)`.

    They are of the size of the coefficients that they move. What is known, or follows a parameter a second time, is no
    spread of the prediction; where all coefficients are known, theirs is the only one.
    """
    maps = None if problem.parameters is None else problem.parameters.moving
    numbers = problem.gain(theta) if maps is None else theta[..., maps.used] * maps.unit
    return numbers.reshape(-1, numbers.shape[-1])


def _check_positive(gamma: Tensor, remedy: str, *, or_zero: bool = False) -> None:
    enough = (gamma >= 0 if or_zero else gamma > 0).all()
    if not bool(enough) or not bool(torch.isfinite(gamma).all()):
        raise checks.fail("gamma", f"finite and {'>=' if or_zero else '>'} 0", f"minimum {gamma.min().item()}", remedy)


def _remedy(gamma: object) -> str:
    """What whoever gave this `gamma` is likely to want."""
    if isinstance(gamma, Problem):
        return "A layer is made without a problem and called with it: `layer(theta, problem)`"
    if isinstance(gamma, int | float) and not isinstance(gamma, bool):
        return _AT_ZERO
    if callable(gamma) and not isinstance(gamma, type):
        return "A schedule goes to `fit(..., anneal=schedule)`"
    return "For one that follows the scale of the data, give `RelativeGamma()`"


_EXPECTED = "a finite number > 0, a tensor of them or RelativeGamma(factor)"
_AT_ZERO = "At test time use `problem.solve(theta)`, the decision without smoothing"

"""How strongly a decision is smoothed, and what layers with a smoothing term share."""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self, cast

import torch
from torch import Tensor, nn

from foresolve._base import checks, functorch
from foresolve._base.autograd import held_fixed
from foresolve._base.copies import SharesGraph
from foresolve.errors import ForesolveWarning, NoGradientWarning
from foresolve.layers import pictures
from foresolve.layers.base import Layer, Shortfall, expanded
from foresolve.layers.calibration import FLAT, SHARP, Calibration, Shares, calibrate, sample
from foresolve.layers.gamma_rules import CalibratedGamma, RelativeGamma, as_shares, in_units_of_gains
from foresolve.problems.base import Problem

DRAWN = (30.0, 0.03)  # factors of `RelativeGamma` that a picture goes from and to


class SmoothedLayer(SharesGraph, Layer):
    """A layer that maximizes an objective less `gamma` times a penalty.

    A `gamma` that is an `nn.Parameter` is one of the layer, `_gamma` in its `state_dict`; `fit` trains it. Any
    other tensor moves with the layer from device to device, and is not saved.
    """

    _may_vanish = False  # whether `gamma` may be 0
    _concave = True  # whether what is smoothed has no local maximum but the best
    _checked = False  # whether a `gamma` that is a tensor is known to be positive
    calibration: Calibration | None = None
    progress: float | None = None  # of the training that the layer is a part of, from 0 to 1

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

    def calibrate(self, problem: Problem, theta: Tensor, keep: float | tuple[float, float] = 0.9) -> Calibration | None:
        """Work out a `CalibratedGamma` for true parameters `(N, *shape)`; `None` for any other `gamma`.

        `keep` is what the rule leaves open. Afterwards `calibration.gamma` is what the layer smooths by, and in a
        training `calibration.at(progress)`, until it is calibrated again or `gamma` is set.
        """
        rule = self._gamma
        self._keep(rule)
        if not isinstance(rule, CalibratedGamma) or not len(theta):
            return None
        self.check_problem(problem)
        problem, theta = sample(problem, theta.detach().double())
        usual = self.smoothing(theta, problem)
        if not bool((usual > 0).all()):  # some instances are strictly concave without, and need none
            return None
        self.calibration = calibrate(
            lambda gamma: problem.objective(self.with_gamma(gamma)(theta, problem), theta),
            self._shares(theta, problem), float(usual.mean()) / rule.factor,
            as_shares(keep if rule.keep is None else rule.keep), falls=self._concave,
        )  # fmt: skip
        return self.calibration

    def _shares(self, theta: Tensor, problem: Problem) -> Shares:
        """What smoothed decisions can be worth at least and at most."""
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore", ForesolveWarning)  # nobody asked for these decisions
            ends = (self.with_gamma(RelativeGamma(factor))(theta, problem) for factor in (FLAT, SHARP))
            flat, sharp = (problem.objective(x, theta) for x in ends)
        return Shares(flat, sharp)

    def _kept(self, theta: Tensor, problem: Problem, x: Tensor) -> Callable[[], Tensor]:
        """A function that works out the share of the way to the best decision that each of `x` keeps."""
        theta, x = theta.detach(), x.detach()
        return lambda: self._shares(theta, problem)(problem.objective(x, theta))

    def _keep(self, gamma: float | Tensor | RelativeGamma) -> None:
        self.calibration, self.progress, self._checked = None, None, False
        for registered in (self._parameters, self._buffers):  # torch refuses to put anything else in their place
            registered.pop("_gamma", None)
        if isinstance(gamma, Tensor) and not isinstance(gamma, nn.Parameter):
            self.__dict__.pop("_gamma", None)
            self.register_buffer("_gamma", gamma, persistent=False)
        else:
            self._gamma = gamma

    @property
    def learned(self) -> bool:
        """Whether `gamma` is a parameter that is trained."""
        return isinstance(self._gamma, nn.Parameter) and self._gamma.requires_grad

    @property
    def calibrated(self) -> float | None:
        """What a layer that is calibrated smooths by, at this point of a training; `None` for others."""
        if self.calibration is None:
            return None
        return self.calibration.gamma if self.progress is None else self.calibration.at(self.progress)

    def _twin(self) -> Self:
        twin = copy.copy(self)
        twin._parameters, twin._buffers = dict(self._parameters), dict(self._buffers)
        twin._non_persistent_buffers_set = set(self._non_persistent_buffers_set)
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
        twin._checked = True
        return twin

    def plot_path(self, theta: Any, problem: Problem, ax: Any = None, *, gammas: Any = None) -> Any:
        """Draw how the decision moves from the center to a vertex as `gamma` falls; give the matplotlib axes back.

        Parameters
        ----------
        theta: of one instance.
        problem: one that all instances share.
        ax: axes to draw on; by default those of a new figure.
        gammas: the smoothings to draw; by default from one that leaves nothing of `theta` to one that leaves all.
        """
        self.check_problem(problem)
        theta = pictures.one_instance("theta", theta, problem)[None].double()
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ForesolveWarning)  # vertices are what the picture is about
            usual = [float(self.with_gamma(RelativeGamma(f)).smoothing(theta, problem).reshape(())) for f in DRAWN]
            values = pictures.as_gammas(gammas, usual)
            xs = torch.cat([self.with_gamma(float(gamma))(theta, problem) for gamma in values]).cpu()
            own = float(self.smoothing(theta, problem).reshape(-1)[0])
            return pictures.draw_path(values, xs, problem.maximizer(theta)[0].cpu(), own, problem.names, ax)

    def penalty(self, x: Tensor) -> Tensor:
        """What `gamma` multiplies, `(*batch,)`: `|x|^2`."""
        return x.square().sum(-1)

    def _penalty(self, x: Tensor, problem: Problem) -> Tensor:
        """The same, where a problem has a say in it."""
        return self.penalty(x)

    def smoothing(self, theta: Tensor, problem: Problem) -> Tensor:
        """`gamma` for parameters `theta`: `()`, or `(*batch,)` where it differs between instances."""
        self.check_problem(problem)
        fixed = self._gamma if self.calibration is None else self.calibrated
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
            return torch.tensor([self.calibrated], dtype=like.dtype, device=like.device)
        if isinstance(self._gamma, RelativeGamma):
            return relative(self._gamma)
        if isinstance(self._gamma, Tensor):
            if not self._checked:  # the last step of an optimizer knows no bounds, nor does a transform of `torch.func`
                remedy = "Train its logarithm: `layer.with_gamma(log_gamma.exp())`"
                _check_positive(
                    self._gamma, remedy if self._gamma.requires_grad else _AT_ZERO, or_zero=self._may_vanish
                )
            gamma = self._gamma.to(like)
            if gamma.ndim and tuple(gamma.shape) != tuple(batch)[len(batch) - gamma.ndim :]:
                expected = f"a number or of the batch shape {tuple(batch)}, one for each instance"
                raise checks.fail("gamma", expected, f"shape {tuple(gamma.shape)}")
            return gamma.reshape(-1) if gamma.ndim in (0, len(batch)) else gamma.expand(batch).reshape(-1)
        return torch.tensor([self._gamma], dtype=like.dtype, device=like.device)

    def fenchel_young(self) -> Shortfall:
        """`max_x [f(x) - gamma penalty(x)] - [f(y) - gamma penalty(y)]` for the objective `f`."""
        return self._shortfall

    def _shortfall(self, theta: Tensor, y: Tensor, problem: Problem, truth: Tensor | None) -> Tensor:
        """`max_x [f(x) - gamma penalty(x)] - [f(y) - gamma penalty(y)]` for the objective `f`, `gamma` of the truth."""
        theta = theta.double()
        gamma = self._unit_smoothing(theta, problem) if truth is None else self.smoothing(truth.double(), problem)
        theta, gamma = held_fixed(theta, gamma)
        with torch.no_grad():
            x = self._with_checked(gamma.detach())(theta, problem)
        # x is best, so that by the envelope theorem it need not be differentiated.
        return problem.advantage(x, y, theta) - gamma * (self._penalty(x, problem) - self._penalty(y, problem))

    def _warn_of_vertices(self) -> None:
        """Once for each layer; not where a training has made it sharper on purpose."""
        if not self._warned and not self.progress:
            self._warned = True
            checks.warn(
                "no coordinate is free in any instance of this batch: every decision sits on a vertex and no gradient "
                "reaches theta (`layer.solve(...).passing` is 0). Raise gamma as long as `layer.solve(...).kept` stays "
                "near 1, start from a smoother one (`fit(..., anneal=...)`), or take a loss that needs no free "
                "coordinates, such as FenchelYoung; docs/choosing.md. Said once per layer",
                NoGradientWarning,
            )


@contextlib.contextmanager
def keeping_positive(layers: Sequence[SmoothedLayer]) -> Iterator[None]:
    """A step of an optimizer, of which each learned `gamma` takes so much that it falls to half at most.

    As interior point methods do at a boundary: where less smoothing is better and better, steps get smaller, and no
    step leads to where there is no decision.
    """
    before = [cast(nn.Parameter, layer.gamma).detach().clone() for layer in layers]
    yield
    with torch.no_grad():
        for layer, gamma in zip(layers, before):
            parameter = cast(nn.Parameter, layer.gamma)
            parameter.copy_(torch.maximum(parameter, gamma / 2))


def _check_positive(gamma: Tensor, remedy: str, *, or_zero: bool = False) -> None:
    if functorch.batched(gamma):
        return  # under `torch.vmap` there are no numbers to look at
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

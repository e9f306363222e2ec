"""Learning rate, batch size and smoothing, chosen by short trainings from the same start."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch import Tensor

from foresolve._base import checks
from foresolve._base.progress import reporting
from foresolve.errors import ForesolveError, ForesolveWarning
from foresolve.layers.gamma_rules import RelativeGamma
from foresolve.layers.smoothing import SmoothedLayer
from foresolve.learning.checkpoint import Checkpoint
from foresolve.learning.history import History
from foresolve.learning.options import Options
from foresolve.learning.preparation import Preparation
from foresolve.losses.base import Loss

RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
BATCH_SIZES = (8, 32, 128)
MULTIPLES = (0.1, 0.3, 1.0, 3.0)  # of what the layers smooth by
SHARE = 0.5  # of the epochs of a training, for all that is chosen together

Trial = Callable[[Any, int], float]


def check_search(options: Options, loss: Loss) -> None:
    """Refuse a smoothing to be chosen where there is none, or where something else sets it."""
    if options.gamma is None:
        return
    if "gamma" in options.schedules:
        remedy = "Leave one of the two out"
        raise checks.fail("gamma", "None where `anneal` sets it", repr(options.gamma), remedy)
    layers = loss.smoothed_layers
    if not layers:
        got = f"{type(loss).__name__}, which has none"
        raise checks.fail("gamma", "left out for a loss without a smoothed layer", got, "Nothing is smoothed there")
    if any(layer.learned for layer in layers):
        remedy = "Give the layer a number for the search, or leave `gamma` out and it is trained"
        raise checks.fail("gamma", "left out where the layer's is trained", "an nn.Parameter in the layer", remedy)
    if options.monitor == "loss":
        remedy = "Smoother decisions have another loss: give the layer a number, or a `repair` to the loss"
        raise checks.fail("gamma", "left out where validation is by the loss", repr(options.gamma), remedy)
    if smoothing_of(layers[0]) == 0:
        raise checks.fail("gamma", 'left out where a layer does not smooth, or "auto" where it does', "a gamma of 0")


def choose(ready: Preparation, options: Options) -> tuple[Options, dict[str, Any]]:
    r"""The options with a number in the place of each "auto", and these numbers by name.

    They are chosen one after the other, the rest at its default until its turn comes, by successive halving: all
    candidates are trained for a few epochs, the better half for twice as many, each time from the start that `ready`
    has, until one is left. With :math:`E` epochs, :math:`k` numbers to choose and :math:`r = \lceil \log_2 n \rceil`
    rounds, a round trains its :math:`m` candidates for :math:`E / (2 k r m)` epochs each, at least one: all together
    cost half a training. A candidate's score is the best that `monitor` says of its epochs; one that is no number, or
    an error, loses. The chosen smoothing is that of the caller's loss afterwards.
    """
    if not options.searched:
        return options, {}
    recorded = _recorded(options)
    if recorded is not None:
        for name, value in recorded.items():
            options = _with(ready, options, name, value)
        return options, recorded
    chosen: dict[str, Any] = {}
    budget = SHARE * options.epochs / len(options.searched)
    usual = {"lr": ready.loss.lr, "batch_size": Options().batch_size}
    trial = replace(options, checkpoint=None, resume=False, progress=False, patience=None, gamma=None)
    for name in ("lr", "batch_size"):
        if name in options.searched:
            trial = replace(trial, **{name: usual[name]})
    for name in options.searched:
        candidates, default = _candidates(ready, name)
        score = _trial(ready, trial, name)
        with reporting(options.bar, f"choosing {name}") as report:
            chosen[name] = _halved(candidates, default, score, budget, report)
        trial = _with(ready, trial, name, chosen[name])
        options = _with(ready, options, name, chosen[name])
    return options, chosen


def _candidates(ready: Preparation, name: str) -> tuple[list[Any], float]:
    """What may be chosen, and the default, which wins a tie."""
    if name == "lr":
        return list(RATES), ready.loss.lr
    if name == "batch_size":
        total = len(ready.train)
        return [size for size in BATCH_SIZES if size <= total] or [total], float(Options().batch_size)
    base = smoothing_of(ready.loss.smoothed_layers[0])
    return [base * multiple for multiple in MULTIPLES], base


def _trial(ready: Preparation, options: Options, name: str) -> Trial:
    """A function from a candidate and a number of epochs to the best validation of a training of a copy."""

    def score(candidate: Any, epochs: int) -> float:
        copied = ready.copied()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ForesolveWarning)  # of a training that nobody sees
            loop = copied.loop(_with(copied, replace(options, epochs=epochs), name, candidate))
            history = loop.run()
        if history.interrupted:
            raise KeyboardInterrupt
        scores = [value for value in history.monitored if value is not None and math.isfinite(value)]
        return min(scores, default=math.inf)

    return score


def _halved(
    candidates: list[Any], default: float, score: Trial, budget: float, report: Callable[[int, int], Any]
) -> Any:
    """The candidate that is left when the worse half has gone in each round."""
    sizes, left = [], len(candidates)
    while left > 1:
        sizes.append(left)
        left = math.ceil(left / 2)
    rounds = [(size, max(1, int(budget / len(sizes) / size))) for size in sizes]
    done, total = 0, sum(size * epochs for size, epochs in rounds)
    for _, epochs in rounds:
        scores: dict[Any, float] = {}
        failure: ForesolveError | None = None
        for candidate in candidates:
            try:
                scores[candidate] = score(candidate, epochs)
            except ForesolveError as error:  # it diverged
                scores[candidate], failure = math.inf, error
            done += epochs
            report(done, total)
        if failure is not None and min(scores.values()) == math.inf:
            raise failure
        ranked = sorted(candidates, key=lambda c: (scores[c], abs(math.log(c / default))))
        candidates = ranked[: math.ceil(len(ranked) / 2)]
    return candidates[0]


def _with(ready: Preparation, options: Options, name: str, value: Any) -> Options:
    """The options with a number that was chosen; a smoothing goes to the layers of the loss."""
    if name == "gamma":
        smooth_by(ready.loss, value)
        return replace(options, gamma=None)
    return replace(options, **{name: value})


def _recorded(options: Options) -> dict[str, Any] | None:
    """What the run that is resumed had chosen; `None` for a run that begins."""
    if options.checkpoint is None or not options.resume:
        return None
    file = Checkpoint(options.checkpoint, {})
    if not file.exists():
        return None
    chosen = History.from_dict(file.peek("history")).chosen
    if set(chosen) != set(options.searched):
        expected = f"of a run that chose {', '.join(options.searched)}"
        raise checks.fail("checkpoint", expected, f"{file.path}, which chose {', '.join(chosen) or 'nothing'}")
    return {name: chosen[name] for name in options.searched}


# -- smoothing -------------------------------------------------------------------------------------------------------


def smoothing_of(layer: SmoothedLayer) -> float:
    """What a layer smooths by: what was calibrated, the factor of a rule, or the number; of several, their mean."""
    if layer.calibration is not None:
        return layer.calibration.gamma
    gamma = layer.gamma
    if isinstance(gamma, RelativeGamma):
        return gamma.factor
    return float(gamma.detach().double().mean()) if isinstance(gamma, Tensor) else gamma


def smooth_by(loss: Loss, number: float) -> None:
    """Let the first layer smooth by `number` (the factor of its rule), and others by as many times what they did."""
    first, *others = loss.smoothed_layers
    numbers = {layer: smoothing_of(layer) * (number / smoothing_of(first)) for layer in others}
    for layer, gamma in {first: number, **numbers}.items():
        rule = layer.gamma
        if layer.calibration is not None:
            layer.calibration = layer.calibration.times(gamma / layer.calibration.gamma)
        elif isinstance(rule, RelativeGamma):
            layer.gamma = replace(rule, factor=gamma)
        elif isinstance(rule, Tensor):
            layer.gamma = rule.detach() * (gamma / smoothing_of(layer))
        else:
            layer.gamma = gamma

"""Training: `fit`."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn
from torch.utils.data import Subset

from foresolve._base import checks
from foresolve._base.randomness import Seed, as_seed
from foresolve.data.dataset import DecisionDataset
from foresolve.data.solutions import Failure
from foresolve.learning.distributed import unwrap
from foresolve.learning.evaluation import evaluate
from foresolve.learning.features import arranged
from foresolve.learning.history import History
from foresolve.learning.metrics import distance, ranges
from foresolve.learning.named_losses import as_loss
from foresolve.learning.options import Monitor, Options, Schedule
from foresolve.learning.prediction import is_estimator
from foresolve.learning.stages import train_once, train_twice
from foresolve.learning.subsets import as_dataset
from foresolve.learning.weak_reference import warn_if_weak
from foresolve.losses.base import FROM_DECISIONS, Loss
from foresolve.losses.prediction import OF_PREDICTION
from foresolve.models.reference import Baseline
from foresolve.models.scikit_learn import ScikitLearn
from foresolve.models.table import layout_of


def fit(
    model: nn.Module | Any,
    loss: Loss | str | None,
    train: DecisionDataset | Subset,
    valid: DecisionDataset | Subset | None = None,
    *,
    epochs: int = 100,
    batch_size: int | Literal["auto"] = 32,
    lr: float | Literal["auto"] | None = None,
    optimizer: torch.optim.Optimizer | Callable[..., torch.optim.Optimizer] | None = None,
    scheduler: Any = "auto",
    anneal: Schedule | Mapping[str, Schedule] | None = None,
    gamma: Literal["auto"] | None = None,
    warm_start: Loss | Literal["two-stage"] | None = None,
    patience: int | Literal["auto"] | None = "auto",
    monitor: Monitor | None = None,
    clip: float | None = None,
    device: torch.device | str | None = None,
    seed: Seed = 0,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    progress: bool | Callable[[History], Any] | None = None,
    on_failure: Failure = "raise",
) -> History:
    r"""Train a model, in place, to minimize the mean of a loss; or fit a baseline.

    Parameters
    ----------
    model: any module from features to `theta`; those of `foresolve.models` take the units of features and targets from
        `train`, once, unless they were made with `standardize=False` or their weights have been changed since.
        `Standardized(module)` gives them to any other, `Correction(forecaster, network)` learns what a forecaster gets
        wrong. Or a `Baseline`, which is fitted in one go by its own rule: then `loss` is `None` or one of prediction
        (and not used), and of the keyword arguments only `progress` has a meaning; any other that is not at its default
        is refused by name. A regressor or pipeline of scikit-learn is fitted as one.
    loss: a `Loss`, or its name: "spo+", "decision", "fenchel_young", "mse", ... (a wrong one gets the list). Its layers
        and generators are part of what a checkpoint remembers. Only the model is trained.
    train: with the best decisions under the truth, which are worked out first where the loss needs them; or a `Subset`
        of a data set.
    valid: scored before training and after each epoch, by `monitor`. The model ends with the weights that scored best:
        those that it came with, and a `NoImprovementWarning`, where no epoch was better. Where a baseline, or a model
        trained on a loss of prediction, then decides worse than the mean of the training parameters (by more than
        three standard errors), a `WeakReferenceWarning` says that it is no reference to compare with.
    epochs, batch_size: `batch_size` is that of each process, where there are several. "auto" tries 8, 32 and 128.
    lr, optimizer: by default Adam, with the learning rate of the loss, `loss.lr`: 0.01 for predictions, 0.001 for
        decisions. An optimizer is an instance, a class (made with `lr`), or a function of the parameters.
        It trains the parameters of the model, and those of the loss, such as a `gamma` that is an `nn.Parameter`, of
        which no step takes more than half. An instance trains what it was made for. `lr="auto"`
        tries 0.0001, 0.0003, ..., 0.1. What is "auto" is chosen by short trainings of copies, which cost about half of
        a whole one, by what `monitor` says on `valid`; `History.chosen` has the numbers.
    scheduler: an instance, or a function of the optimizer; one step an epoch. By default half a cosine from `lr` to 0
        over `epochs`, where no `optimizer` is given; `None` for a constant rate.
    anneal: a function from progress (0 in the first epoch, 1 in the last) to the `gamma` of the layers in the loss, for
        example `schedules.geometric(10, 0.1)` or `lambda p: RelativeGamma(1 - 0.9 * p)`; or a dict of such functions by
        attribute, `{"sigma": ...}`. The layers keep the last value.
    gamma: "auto" tries 0.1, 0.3, 1 and 3 times what the smoothed layers of the loss smooth by; they keep the best.
    warm_start: "two-stage" learns predictions first, by `MSE` (`CrossEntropy` for a model whose head is "probability"),
        and continues with `loss` from there: the same as two calls of `fit` with these arguments, where the first takes
        no `anneal` and `gamma`. Or a loss of prediction of your own, such as `LogMSE()`. `History.warm_start` is the
        first stage, whose checkpoint is a file of its own beside the other, "warm_start-...".
    patience: stop after this many epochs without a better validation. By default half of `epochs` (at least 5)
        where there is validation data; `None` for never.
    monitor: "regret" (normalized, of exact decisions), the default where the truth is known; "agreement", the default
        where only decisions are: the mean distance of their entries to those on record, each in units of its range
        over `valid`, so the share that differs (Hamming) where entries are 0 or 1, the smaller the better; or "loss",
        the default where `theta` makes constraints and the loss has no `repair`.
        Where `valid` has weights, all three are weighted.
    clip: the largest norm of the gradient.
    device: where to train; that of the model by default. The model is moved there, and stays.
    seed: of the order of the data and of the global generators within training, from which dropout draws; an integer,
        or a generator that draws one. Each epoch starts from the seed and its number; the caller's own global
        generators are left as they were.
    checkpoint: a file or folder, written after every epoch. One that is there is refused, unless `resume` says to go
        on from it, which gives the weights of a run without a break, bit for bit. (Progress in `anneal` and in the
        default schedule is that of `epochs` in this call.)
    progress: a bar where stderr is a terminal; True or False; or a function that gets the `History` after each epoch.
    on_failure: what a `SolverError` in the loss does: "raise" it with the instance's name, or "skip" the instance, and
        count it in `History.skipped`.

    Ctrl-C ends training without an error: the checkpoint is that of the last whole epoch, `History.interrupted` is
    set, and the model has its best weights (with `valid`) or its last. Where `torch.distributed` is initialized
    (`torchrun`), each process takes its share of every epoch and gradients are averaged (DistributedDataParallel); the
    first one writes the checkpoint.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.data import DecisionDataset
    >>> from foresolve.learning import fit
    >>> from foresolve.models import MLP
    >>> from foresolve.losses import SPOPlus
    >>> g = torch.Generator().manual_seed(0)
    >>> features = torch.randn(64, 3, generator=g)
    >>> data = DecisionDataset(features, features @ torch.randn(3, 4, generator=g), foresolve.TopK(4, 2))
    >>> history = fit(MLP(3, 4, seed=g), SPOPlus(), data, epochs=5, lr=0.1)
    >>> history.train_loss[-1] < history.train_loss[0]
    True
    """
    options = Options(
        epochs, batch_size, lr, optimizer, scheduler, anneal, gamma, warm_start, patience, monitor, clip, device,
        as_seed("seed", seed), checkpoint, resume, progress, on_failure,
    )  # fmt: skip
    train = as_dataset("train", train)
    valid = None if valid is None else arranged("valid", as_dataset("valid", valid), train.feature_names)
    if is_estimator(model):
        model = _in_place(model, train)
    if isinstance(model, Baseline):
        return _fit_baseline(model, loss, train, valid, options)
    if not isinstance(model, nn.Module) or isinstance(model, Loss):
        raise checks.fail("model", "an nn.Module, a Baseline or an estimator", *_not_a_model(model))
    loss = as_loss(loss, train.problem)
    training = train_once if options.warm_start is None else train_twice
    history = training(model, loss, train, valid, options)
    if isinstance(loss, OF_PREDICTION) and len(history) and not history.interrupted:
        warn_if_weak(unwrap(model), train, valid)
    return history


def _fit_baseline(
    model: Baseline, loss: Any, train: DecisionDataset, valid: DecisionDataset | None, options: Options
) -> History:
    remedy = f"{type(model).__name__} is fitted in one go, by its own rule"
    loss = None if loss is None else as_loss(loss, train.problem)
    if loss is not None and not isinstance(loss, OF_PREDICTION):
        raise checks.fail("loss", "None for a baseline", type(loss).__name__, remedy)
    refused = {option: value for option, value in options.changed().items() if option != "progress"}
    if refused:
        values = ", ".join(f"{option}={_shown(value)}" for option, value in refused.items())
        raise checks.fail(next(iter(refused)), "left out for a baseline", values, remedy)
    if model.uses_theta and not train.has_theta:
        expected = f"with `theta` for {type(model).__name__}, which predicts what it has seen"
        raise checks.fail("train", expected, "decisions alone", f"Train a module with {FROM_DECISIONS}")
    model.check_weights(train)
    began = time.perf_counter()
    model.fit(train, valid) if model.uses_valid else model.fit(train)  # type: ignore[call-arg]
    seconds = time.perf_counter() - began
    history = History(planned=1)
    scores = {} if valid is None else _validated(model, valid)
    if valid is not None:
        history.best_epoch, history.monitor = 1, "regret" if valid.has_theta else "agreement"
    history.append(train_loss=_training_error(model, train), **scores, seconds=seconds, skipped=0)
    if model.uses_theta:
        warn_if_weak(model, train, valid)
    if callable(options.progress):
        options.progress(history)
    return history


def _training_error(model: Baseline, train: DecisionDataset) -> float:
    """The squared error of predictions, weighted as the data is; without parameters, the distance of decisions."""
    if not train.has_theta:
        return _validated(model, train)["valid_distance"]
    squares = (model(train.features).double() - train.theta.double()).square().reshape(len(train), -1).mean(-1)
    weights = torch.ones_like(squares) if train.weights is None else train.weights.to(squares)
    return float((weights * squares).sum() / weights.sum())


def _validated(model: Baseline, data: DecisionDataset) -> dict[str, float]:
    """What a `History` says of decisions: their regret, or without parameters their distance to those on record."""
    if data.has_theta:
        return {"valid_regret": evaluate(model, data, metrics=False, bootstrap=0).normalized_regret}
    metric = {"distance": functools.partial(distance, unit=ranges(data.decisions))}
    return {"valid_distance": evaluate(model, data, metric=metric, bootstrap=0).metrics["distance"]}


def _in_place(estimator: Any, train: DecisionDataset) -> ScikitLearn:
    """A regressor of scikit-learn that is fitted itself, and can be asked for predictions afterwards."""
    if not hasattr(estimator, "fit"):
        raise checks.fail("model", "an nn.Module, a Baseline or an estimator", *_not_a_model(estimator))
    layout, shape = layout_of(train.features, train.theta) if train.has_theta else ("instance", (1,))
    if layout != "instance" or len(shape) != 1:
        name = type(estimator).__name__
        remedy = f"Fit `ScikitLearn({name}())`, which remembers how the data is laid out"
        raise checks.fail("train", f"of vectors (N, d) and (N, p) for a {name} alone", f"a row per {layout}", remedy)
    return ScikitLearn(estimator, copy=False)


def _not_a_model(model: Any) -> tuple[str, str]:
    """What was given, and what was probably meant."""
    if isinstance(model, type):
        return f"the class {model.__name__}", f"Did you mean an instance, `{model.__name__}(...)`?"
    if isinstance(model, Loss):
        return f"the loss {type(model).__name__}", "Did you mean `fit(model, loss, train)`?"
    remedy = "A function without parameters has nothing to train; `evaluate` takes it" if callable(model) else ""
    return type(model).__name__, remedy


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, int | float | str | Path) else type(value).__name__

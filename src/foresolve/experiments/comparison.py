"""Decision-focused against two-stage training of the same network: candidates, choice on validation data, test scores.

What a domain has to say is in `Config.domain`: its data, problem, network and layer. All else is the same for all.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from typing import ClassVar

import torch
from torch import Tensor, nn

from foresolve import _check
from foresolve.layers.base import Layer
from foresolve.layers.smoothing import Relative
from foresolve.problems.base import Problem

TWO_STAGE, DECISION_FOCUSED = "two-stage", "decision-focused"
METHODS = (TWO_STAGE, DECISION_FOCUSED)
UNTRAINED = "untrained"
Progress = Callable[[int, int, str], None]
"""Called as `progress(epochs done, epochs in all, what is being trained)`."""


@dataclass(frozen=True)
class Instances:
    """Model input `features` `(N, ...)` and the truth `theta` `(N, ...)`."""

    features: Tensor
    theta: Tensor

    def __len__(self) -> int:
        return len(self.theta)

    def split(self, sizes: Sequence[int]) -> tuple[Instances, ...]:
        """Consecutive parts."""
        return tuple(map(Instances, self.features.split(list(sizes)), self.theta.split(list(sizes))))

    def batches(self, size: int, generator: torch.Generator) -> Iterator[Instances]:
        """One pass in random order."""
        for index in torch.randperm(len(self), generator=generator).split(size):
            yield Instances(self.features[index], self.theta[index])


@dataclass(frozen=True)
class Story:
    """What a reader is told: the domain's name, paragraphs, and what the table's first and last rows are called."""

    title: str
    data: str
    training: str
    notes: tuple[str, ...]
    random: str
    best: str


@dataclass(frozen=True)
class Domain:
    """A problem with training, validation and test instances, a network (made by a generator) and a layer."""

    story: Story
    problem: Problem
    instances: tuple[Instances, ...]
    model: Callable[[torch.Generator], nn.Module]
    layer: Callable[[Relative], Layer]


@dataclass(frozen=True)
class Config(ABC):
    """The settings of a comparison; both methods get the same network, the same data and their own candidates.

    An epoch of the two-stage method costs a fraction of a decision-focused one, so it gets `two_stage_epochs` times
    as many.
    """

    name: ClassVar[str]
    seed: int = 0
    epochs: int = 30
    two_stage_epochs: int = 3
    hidden: int = 8
    train: int = 100
    validation: int = 30
    test: int = 60
    batch: int = 10
    two_stage_rates: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3)
    decision_rates: tuple[float, ...] = (0.01, 0.03)
    gammas: tuple[float, ...] = (0.1, 0.5)
    resamples: int = 10_000

    def __post_init__(self) -> None:
        for setting in fields(self):
            value = getattr(self, setting.name)
            if isinstance(setting.default, int):
                _check.positive_int(setting.name, value, zero=setting.name == "seed")
            elif not value:
                raise _check.fail(setting.name, "at least one number", "none")

    @abstractmethod
    def domain(self, generator: torch.Generator) -> Domain:
        """What is compared on; the generator makes the data."""

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Training, validation and test instances."""
        return self.train, self.validation, self.test

    @property
    def candidates(self) -> list[tuple[str, float, float | None]]:
        """Method, learning rate and factor of the smoothing, in the order of training."""
        return [
            *((TWO_STAGE, rate, None) for rate in self.two_stage_rates),
            *((DECISION_FOCUSED, rate, gamma) for rate, gamma in product(self.decision_rates, self.gammas)),
        ]

    def epochs_of(self, method: str) -> int:
        """How many a candidate of the method is trained for."""
        return self.epochs * (self.two_stage_epochs if method == TWO_STAGE else 1)

    @property
    def total_epochs(self) -> int:
        """Those of all candidates."""
        return sum(self.epochs_of(method) for method, _, _ in self.candidates)


@dataclass(frozen=True)
class Trial:
    """One candidate's training: the weights kept are those of the epoch with the best validation value."""

    method: str
    rate: float
    gamma: float | None
    history: tuple[float, ...]
    seconds: float
    model: nn.Module = field(repr=False, compare=False)

    @property
    def best(self) -> float:
        """The best mean value of decisions on the validation instances."""
        return max(self.history)

    @property
    def epoch(self) -> int:
        """The epoch that reached it, counted from 1."""
        return self.history.index(self.best) + 1


@dataclass(frozen=True)
class Row:
    """A line of the table: decisions on the test instances, scored under the truth."""

    name: str
    value: float
    normalised_regret: float
    prediction_error: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Result:
    """What was found; `difference` is (mean, low, high) of decision-focused minus two-stage, per test instance.

    `validation_best` is the mean value of the decisions for the truth, on the validation instances.
    """

    config: Config
    story: Story
    rows: tuple[Row, ...]
    trials: tuple[Trial, ...]
    chosen: dict[str, Trial]
    difference: tuple[float, float, float]
    validation_best: float


def compare(config: Config, progress: Progress | None = None) -> Result:
    """Train all candidates of both methods, choose one of each by validation value, score both on test instances.

    The same configuration gives the same numbers (all but the seconds) on the same machine with as many threads.
    """
    domain = config.domain(_generator(config, 0))
    _, validation, test = domain.instances
    trials: list[Trial] = []
    for method, rate, gamma in config.candidates:
        done = sum(len(trial.history) for trial in trials)

        def report(epoch: int, done: int = done, method: str = method) -> None:
            if progress is not None:
                progress(done + epoch, config.total_epochs, method)

        trials.append(_train(config, domain, method, rate, gamma, report))
    chosen = {m: max((t for t in trials if t.method == m), key=lambda trial: trial.best) for m in METHODS}
    rows, difference = _score(config, domain, test, chosen, trials)
    _, best = _random_and_best(config, domain.problem, validation)
    return Result(config, domain.story, rows, tuple(trials), chosen, difference, best.mean().item())


def _train(
    config: Config, domain: Domain, method: str, rate: float, gamma: float | None, report: Callable[[int], None]
) -> Trial:
    started = time.perf_counter()
    problem, (train, validation, _) = domain.problem, domain.instances
    generator = _generator(config, 1)  # every candidate starts from the same weights and sees the same order
    model = domain.model(generator)
    optimiser = torch.optim.Adam(model.parameters(), rate)
    layer = None if gamma is None else domain.layer(Relative(gamma))
    history: list[float] = []
    best: dict[str, Tensor] = {}
    for epoch in range(1, config.epochs_of(method) + 1):
        for batch in train.batches(config.batch, generator):
            predicted = model(batch.features)
            if layer is None:
                loss = (predicted - batch.theta).square().mean()
            else:
                loss = -problem.objective(layer(predicted, problem), batch.theta).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        history.append(_values(model, problem, validation).mean().item())
        if history[-1] == max(history):
            best = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        report(epoch)
    model.load_state_dict(best)
    return Trial(method, rate, gamma, tuple(history), time.perf_counter() - started, model)


@torch.no_grad()
def _values(model: nn.Module, problem: Problem, data: Instances) -> Tensor:
    """What the discrete decisions for the predictions are worth under the truth, per instance."""
    return problem.objective(problem.solve(model(data.features)), data.theta)


def _random_and_best(config: Config, problem: Problem, data: Instances) -> tuple[Tensor, Tensor]:
    """The values of decisions for parameters that are pure noise, and of those for the truth."""
    noise = torch.rand(data.theta.shape, generator=_generator(config, 2))
    random, best = (problem.objective(problem.solve(theta), data.theta) for theta in (noise, data.theta))
    return random, best


@torch.no_grad()
def _score(
    config: Config, domain: Domain, test: Instances, chosen: dict[str, Trial], trials: Sequence[Trial]
) -> tuple[tuple[Row, ...], tuple[float, float, float]]:
    random, best = _random_and_best(config, domain.problem, test)

    def row(name: str, values: Tensor, *extra: float) -> Row:
        return Row(name, values.mean().item(), ((best - values).sum() / best.abs().sum()).item(), *extra)

    values = {method: _values(trial.model, domain.problem, test) for method, trial in chosen.items()}
    untrained = _values(domain.model(_generator(config, 1)), domain.problem, test)
    rows = [row(domain.story.random, random), row(UNTRAINED, untrained)]
    for method, trial in chosen.items():
        error = (trial.model(test.features) - test.theta).square().mean().item()
        seconds = sum(other.seconds for other in trials if other.method == method)
        rows.append(row(method, values[method], error, seconds))
    rows.append(row(domain.story.best, best))
    gap = values[DECISION_FOCUSED] - values[TWO_STAGE]
    return tuple(rows), bootstrap(gap, config.resamples, _generator(config, 3))


def bootstrap(sample: Tensor, resamples: int, generator: torch.Generator) -> tuple[float, float, float]:
    """The mean of a sample with its 95 % percentile interval over resamples of the same size."""
    index = torch.randint(len(sample), (resamples, len(sample)), generator=generator)
    means = sample[index].double().mean(-1)
    low, high = torch.quantile(means, torch.tensor([0.025, 0.975], dtype=means.dtype)).tolist()
    return sample.double().mean().item(), low, high


def _generator(config: Config, stream: int) -> torch.Generator:
    """An independent stream of random numbers: 0 data, 1 training, 2 random decisions, 3 the bootstrap."""
    return torch.Generator().manual_seed(10 * config.seed + stream)
